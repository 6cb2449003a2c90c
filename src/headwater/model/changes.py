"""Changes that an alter request lists; they are applied in their order."""

from __future__ import annotations

from typing import Literal, TypeAlias

from headwater.model.expressions import Expression, FieldName
from headwater.model.sqltypes import nearest
from headwater.model.tables import Distribution, Index, Partitioning, SortOrder
from headwater.model.types import Type, Value
from headwater.model.wire import Wire, always


class ColumnPosition(Value):
    """Where a column goes: first, after another one, or where the catalog likes it.

    >>> ColumnPosition.after("id").json()
    {'after': 'id'}
    >>> ColumnPosition.from_json("FIRST") == ColumnPosition.first()
    True
    """

    kind: Literal["first", "default", "after"]
    column: str | None

    def __init__(self, kind: Literal["first", "default", "after"], column: str | None = None) -> None:
        if (kind == "after") != bool(column):
            raise ValueError("a position is first or default, or after a column that is named")
        self._hold(kind=kind, column=column)

    @classmethod
    def first(cls) -> ColumnPosition:
        """Before all others."""
        return cls("first")

    @classmethod
    def default(cls) -> ColumnPosition:
        """Where the catalog puts new columns, usually last."""
        return cls("default")

    @classmethod
    def after(cls, column: str) -> ColumnPosition:
        """Right behind `column`."""
        return cls("after", column)

    @classmethod
    def from_json(cls, value: object) -> ColumnPosition:
        """The position of this JSON; ValueError says what is wrong with it."""
        match value:
            case str() if value.lower() == "first":
                return cls.first()
            case str() if value.lower() == "default":
                return cls.default()
            case str():
                raise ValueError(f"{value!r} is no position; {nearest(value, ('first', 'default', 'after'))}")
            case {"after": str(column), **others} if column and not others:
                return cls.after(column)
        raise ValueError('a position is "first", "default" or {"after": "the name of a column"}')

    def json(self) -> str | dict[str, str]:
        """The wire form."""
        return self.kind if self.column is None else {"after": self.column}


def _tag(class_name: str) -> str:
    return class_name[0].lower() + class_name[1:]


def _require(**texts: str) -> None:
    """Refuse blank texts; `codec` joins the name in backticks to the path of the change."""
    for name, text in texts.items():
        if not text.strip():
            raise ValueError(f"`{name}`: may not be blank")


class Change(Wire, tag_field="@type", tag=_tag):
    """Base of all changes; `@type` is the class's name unless it says otherwise."""


class Rename(Change):
    """Give the object another name."""

    new_name: str

    def __post_init__(self) -> None:
        _require(newName=self.new_name)


class UpdateComment(Change):
    """Change the comment; None removes it."""

    new_comment: str | None = None


class RemoveComment(Change):
    """Remove the comment."""


class SetProperty(Change):
    """Set one property; the value may not be blank."""

    property: str
    value: str

    def __post_init__(self) -> None:
        _require(property=self.property, value=self.value)


class RemoveProperty(Change):
    """Remove one property."""

    property: str

    def __post_init__(self) -> None:
        _require(property=self.property)


class RenameTable(Change, tag="rename"):
    """Give a table another name and perhaps move it to another schema."""

    new_name: str
    new_schema_name: str | None = None

    def __post_init__(self) -> None:
        _require(newName=self.new_name)
        if self.new_schema_name is not None:
            _require(newSchemaName=self.new_schema_name)


class SetTableProperty(Change, tag="setProperty"):
    """Set one property of a table; the value may be empty."""

    property: str
    value: str

    def __post_init__(self) -> None:
        _require(property=self.property)


class AddColumn(Change):
    """Add a column, or a field to a column that is a struct."""

    field_name: FieldName
    type: Type
    comment: str | None = None
    position: ColumnPosition | None = None
    nullable: bool = always(lambda: True)
    auto_increment: bool = always(bool)
    default_value: Expression | None = None

    def __post_init__(self) -> None:
        _require(fieldName=self.field_name[-1])


class RenameColumn(Change):
    """Give a column another name."""

    old_field_name: FieldName
    new_field_name: str

    def __post_init__(self) -> None:
        _require(newFieldName=self.new_field_name)


class UpdateColumnDefaultValue(Change):
    """Change the value that rows get which name none."""

    field_name: FieldName
    new_default_value: Expression


class UpdateColumnType(Change):
    """Change a column's type."""

    field_name: FieldName
    new_type: Type


class UpdateColumnComment(Change):
    """Change a column's comment."""

    field_name: FieldName
    new_comment: str


class UpdateColumnPosition(Change):
    """Move a column."""

    field_name: FieldName
    new_position: ColumnPosition


class UpdateColumnNullability(Change):
    """Allow or forbid NULL in a column."""

    field_name: FieldName
    nullable: bool


class DeleteColumn(Change):
    """Remove a column."""

    field_name: FieldName
    if_exists: bool = always(bool)


class AddTableIndex(Change):
    """Add an index."""

    index: Index


class DeleteTableIndex(Change):
    """Remove an index."""

    name: str
    if_exists: bool = always(bool)

    def __post_init__(self) -> None:
        _require(name=self.name)


class UpdateColumnAutoIncrement(Change):
    """Start or stop numbering rows by a column."""

    field_name: FieldName
    auto_increment: bool


class ReplacePartitioning(Change):
    """Partition what is written from now on in another way (an extension of Gravitino's changes)."""

    partitioning: list[Partitioning]


class ReplaceSortOrders(Change):
    """Sort what is written from now on in another way (an extension of Gravitino's changes)."""

    sort_orders: list[SortOrder]


class ReplaceDistribution(Change):
    """Distribute what is written from now on in another way (an extension of Gravitino's changes)."""

    distribution: Distribution


MetalakeChange: TypeAlias = Rename | UpdateComment | SetProperty | RemoveProperty
CatalogChange: TypeAlias = Rename | UpdateComment | SetProperty | RemoveProperty
SchemaChange: TypeAlias = SetProperty | RemoveProperty
FilesetChange: TypeAlias = Rename | UpdateComment | RemoveComment | SetProperty | RemoveProperty
TableChange: TypeAlias = (
    RenameTable
    | UpdateComment
    | SetTableProperty
    | RemoveProperty
    | AddColumn
    | RenameColumn
    | UpdateColumnDefaultValue
    | UpdateColumnType
    | UpdateColumnComment
    | UpdateColumnPosition
    | UpdateColumnNullability
    | DeleteColumn
    | AddTableIndex
    | DeleteTableIndex
    | UpdateColumnAutoIncrement
    | ReplacePartitioning
    | ReplaceSortOrders
    | ReplaceDistribution
)
