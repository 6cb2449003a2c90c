"""Tables: columns, partitioning, distribution, sort orders and indexes."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias, TypeVar, cast

import msgspec

from headwater.model.errors import IllegalArgumentError
from headwater.model.expressions import Expression, FieldName, FieldReference, FunctionExpression, Literal
from headwater.model.nouns import Audit
from headwater.model.sqltypes import nearest
from headwater.model.types import Integer, Long, Type
from headwater.model.wire import Wire, always

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
FieldNames: TypeAlias = Annotated[list[FieldName], msgspec.Meta(min_length=1)]
_E = TypeVar("_E", bound=enum.Enum)


class _Word(enum.Enum):
    """Read in any case, by the member's name."""

    @classmethod
    def _missing_(cls: type[_E], value: object) -> _E | None:
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


class Column(Wire):
    """A column of a table."""

    name: str
    type: Type
    comment: str | None = None
    nullable: bool = always(lambda: True)
    auto_increment: bool = always(bool)
    default_value: Expression | None = None


class IdentityPartition(Wire, tag_field="type", tag="identity"):
    """The partition of one value per partition column: `dt=2024/hr=1`."""

    field_names: FieldNames
    values: list[Literal]
    name: str | None = None
    properties: dict[str, str] = always(dict)


class ListPartition(Wire, tag_field="type", tag="list"):
    """The partition of the listed values."""

    name: str
    lists: list[list[Literal]]
    properties: dict[str, str] = always(dict)


class RangePartition(Wire, tag_field="type", tag="range"):
    """The partition of the values from `lower` to below `upper`."""

    name: str
    upper: Literal
    lower: Literal
    properties: dict[str, str] = always(dict)


Partition: TypeAlias = IdentityPartition | ListPartition | RangePartition


class Identity(Wire, tag_field="strategy", tag="identity"):
    """One partition per value."""

    field_name: FieldName


class Year(Wire, tag_field="strategy", tag="year"):
    """One partition per year."""

    field_name: FieldName


class Month(Wire, tag_field="strategy", tag="month"):
    """One partition per month."""

    field_name: FieldName


class Day(Wire, tag_field="strategy", tag="day"):
    """One partition per day."""

    field_name: FieldName


class Hour(Wire, tag_field="strategy", tag="hour"):
    """One partition per hour."""

    field_name: FieldName


class Bucket(Wire, tag_field="strategy", tag="bucket"):
    """A fixed number of partitions, by hash."""

    num_buckets: Count
    field_names: FieldNames


class Truncate(Wire, tag_field="strategy", tag="truncate"):
    """One partition per beginning of this width, or per multiple of it."""

    width: Count
    field_name: FieldName


class ListPartitioning(Wire, tag_field="strategy", tag="list"):
    """One partition per list of values."""

    field_names: FieldNames
    assignments: list[ListPartition] | None = None


class RangePartitioning(Wire, tag_field="strategy", tag="range"):
    """One partition per range of values."""

    field_name: FieldName
    assignments: list[RangePartition] | None = None


class FunctionTransform(Wire, tag_field="strategy", tag="function"):
    """One partition per result of a function that the catalog knows."""

    func_name: str
    func_args: list[Expression] = always(list)


Partitioning: TypeAlias = (
    Identity | Year | Month | Day | Hour | Bucket | Truncate | ListPartitioning | RangePartitioning | FunctionTransform
)


class DistributionStrategy(_Word):
    """How rows find their bucket."""

    NONE = "none"
    HASH = "hash"
    RANGE = "range"
    EVEN = "even"

    @classmethod
    def _missing_(cls, value: object) -> DistributionStrategy | None:
        return cls.EVEN if isinstance(value, str) and value.lower() == "random" else super()._missing_(value)


class Distribution(Wire, kw_only=True):
    """How rows are spread over files; `number` -1 leaves the count to the catalog."""

    strategy: DistributionStrategy = always(lambda: DistributionStrategy.HASH)
    number: Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
    func_args: list[Expression]

    @classmethod
    def none(cls) -> Distribution:
        """Rows are not spread."""
        return cls(strategy=DistributionStrategy.NONE, number=0, func_args=[])


class NullOrdering(_Word):
    """Where NULLs stand."""

    NULLS_FIRST = "nulls_first"
    NULLS_LAST = "nulls_last"


class SortDirection(_Word):
    """Which end comes first."""

    ASC = "asc"
    DESC = "desc"

    @property
    def null_ordering(self) -> NullOrdering:
        """Where NULLs stand unless it is said."""
        return NullOrdering.NULLS_FIRST if self is SortDirection.ASC else NullOrdering.NULLS_LAST


class SortOrder(Wire):
    """How rows are sorted inside of files.

    >>> SortOrder(FieldReference(["id"]), SortDirection.DESC).null_ordering
    <NullOrdering.NULLS_LAST: 'nulls_last'>
    """

    sort_term: Expression
    direction: SortDirection = always(lambda: SortDirection.ASC)
    null_ordering: NullOrdering = always(lambda: None)

    def __post_init__(self) -> None:
        # None only until here, so that nobody else has to ask for it.
        self.null_ordering = cast("NullOrdering | None", self.null_ordering) or self.direction.null_ordering


class IndexType(_Word):
    """What an index is good for."""

    PRIMARY_KEY = "PRIMARY_KEY"
    UNIQUE_KEY = "UNIQUE_KEY"
    SCALAR = "SCALAR"
    BTREE = "BTREE"
    BITMAP = "BITMAP"
    LABEL_LIST = "LABEL_LIST"
    INVERTED = "INVERTED"
    VECTOR = "VECTOR"
    IVF_FLAT = "IVF_FLAT"
    IVF_SQ = "IVF_SQ"
    IVF_PQ = "IVF_PQ"
    IVF_HNSW_SQ = "IVF_HNSW_SQ"
    IVF_HNSW_PQ = "IVF_HNSW_PQ"
    DATA_SKIPPING_MINMAX = "DATA_SKIPPING_MINMAX"
    DATA_SKIPPING_BLOOM_FILTER = "DATA_SKIPPING_BLOOM_FILTER"
    DATA_SKIPPING_SET = "DATA_SKIPPING_SET"


class Index(Wire, kw_only=True):
    """A key or an index."""

    index_type: IndexType
    name: str | None = None
    field_names: FieldNames
    properties: dict[str, str] = always(dict)


class Table(Wire):
    """A table as it is shown."""

    name: str
    comment: str | None = None
    columns: list[Column] = always(list)
    properties: dict[str, str] = always(dict)
    audit: Audit = always(Audit)
    distribution: Distribution = always(Distribution.none)
    sort_orders: list[SortOrder] = always(list)
    partitioning: list[Partitioning] = always(list)
    indexes: list[Index] = always(list)


def check_table(
    columns: Sequence[Column],
    partitioning: Sequence[Partitioning] = (),
    distribution: Distribution | None = None,
    sort_orders: Sequence[SortOrder] = (),
    indexes: Sequence[Index] = (),
) -> None:
    """Refuse a new table whose parts contradict each other; the message starts with the field at fault."""
    _check_columns(columns)
    known = {column.name.lower() for column in columns}
    for path, name in _references(partitioning, distribution, sort_orders, indexes):
        if not name or name[0].lower() not in known:
            hint = nearest(name[0] if name else "", [column.name for column in columns])
            raise IllegalArgumentError(f"{path}: there is no column {'.'.join(name)!r}; {hint}")


def _check_columns(columns: Sequence[Column]) -> None:
    places: dict[str, int] = {}
    numbered: str | None = None
    for place, column in enumerate(columns):
        path = f"columns[{place}]"
        if not column.name.strip():
            raise IllegalArgumentError(f"{path}.name: may not be blank")
        first = places.setdefault(column.name.lower(), place)
        if first != place:
            raise IllegalArgumentError(f"{path}.name: {column.name!r} is the name of columns[{first}] already")
        _check_column(path, column)
        if column.auto_increment:
            if numbered:
                raise IllegalArgumentError(f"{path}.autoIncrement: {numbered} has it already, only one column may")
            numbered = path


def _check_column(path: str, column: Column) -> None:
    if column.auto_increment and not isinstance(column.type, Integer | Long):
        raise IllegalArgumentError(f"{path}.autoIncrement: the type must be integer or long, not {column.type}")
    default = column.default_value
    if not column.nullable and isinstance(default, Literal) and default.is_null:
        raise IllegalArgumentError(f"{path}.defaultValue: may not be NULL, for the column is not nullable")


def _references(
    partitioning: Sequence[Partitioning],
    distribution: Distribution | None,
    sort_orders: Sequence[SortOrder],
    indexes: Sequence[Index],
) -> Iterator[tuple[str, list[str]]]:
    """Every column that the parts of a table name, with the path of where they do."""
    for n, partition in enumerate(partitioning):
        yield from _partition_fields(f"partitioning[{n}]", partition)
    if distribution is not None:
        yield from _fields("distribution.funcArgs", distribution.func_args)
    for n, order in enumerate(sort_orders):
        yield from _expression_fields(f"sortOrders[{n}].sortTerm", order.sort_term)
    for n, index in enumerate(indexes):
        if not index.field_names:
            raise IllegalArgumentError(f"indexes[{n}].fieldNames: at least one column is needed")
        yield from _numbered(f"indexes[{n}].fieldNames", index.field_names)


def _partition_fields(path: str, partition: Partitioning) -> Iterator[tuple[str, list[str]]]:
    match partition:
        case Bucket(field_names=names) | ListPartitioning(field_names=names):
            yield from _numbered(f"{path}.fieldNames", names)
        case FunctionTransform(func_args=arguments):
            yield from _fields(f"{path}.funcArgs", arguments)
        case _:
            yield f"{path}.fieldName", partition.field_name


def _numbered(path: str, names: Sequence[list[str]]) -> Iterator[tuple[str, list[str]]]:
    return ((f"{path}[{n}]", name) for n, name in enumerate(names))


def _fields(path: str, expressions: Sequence[Expression]) -> Iterator[tuple[str, list[str]]]:
    for n, expression in enumerate(expressions):
        yield from _expression_fields(f"{path}[{n}]", expression)


def _expression_fields(path: str, expression: Expression) -> Iterator[tuple[str, list[str]]]:
    if isinstance(expression, FieldReference):
        yield f"{path}.fieldName", expression.field_name
    elif isinstance(expression, FunctionExpression):
        yield from _fields(f"{path}.funcArgs", expression.func_args)
