"""Table changes as one Iceberg transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headwater.catalogs.iceberg import layout, types
from headwater.catalogs.iceberg.metadata import MODE
from headwater.catalogs.iceberg.properties import TABLE, TYPE_NOTE
from headwater.catalogs.iceberg.specs import respec
from headwater.model import changes as c
from headwater.model import types as t
from headwater.model.errors import IllegalArgumentError, UnsupportedOperationError
from headwater.model.properties import Kind

if TYPE_CHECKING:
    from pyiceberg.table import Transaction
    from pyiceberg.table.update.schema import UpdateSchema

_UNSUPPORTED = {
    c.UpdateColumnDefaultValue: "default values of columns",
    c.UpdateColumnAutoIncrement: "auto-increment",
    c.AddTableIndex: "indexes",
    c.DeleteTableIndex: "indexes",
}


@contextlib.contextmanager
def _naming(where: str) -> Iterator[None]:
    """What pyiceberg refuses is told with the place in the request."""
    from pyiceberg.exceptions import ResolveError, ValidationError

    try:
        yield
    except (ValueError, ValidationError, ResolveError) as e:
        text = str(e).strip().split("\n")[0]
        raise IllegalArgumentError(f"{where}: {text}") from None


class Changer:
    """Applies changes in order to one transaction; nothing is written before the transaction commits."""

    def __init__(self, transaction: Transaction, normalised: Callable[[str, str], str]) -> None:
        self._transaction, self._normalised = transaction, normalised
        self._pending: UpdateSchema | None = None
        self._touched: set[str] = set()
        self._known: tuple[Any, frozenset[str]] | None = None
        self._notes: list[tuple[tuple[str, ...], str | None]] = []

    def apply(self, updates: Sequence[c.TableChange]) -> None:
        """All of them; renaming the table itself is not among them."""
        for index, update in enumerate(updates):
            where = f"updates[{index}]"
            with _naming(where):
                column = _COLUMN_CHANGES.get(type(update))
                if column is not None:
                    column(self, where, update)
                else:
                    self._flush()
                    self._apply_other(where, update)
        with _naming("updates"):
            self._flush()
        _require_fields(self._transaction.table_metadata.schema().as_struct(), "a table keeps at least one column")

    def _apply_other(self, where: str, update: c.TableChange) -> None:
        tx = self._transaction
        match update:
            case c.UpdateComment():
                if update.new_comment is None:
                    if "comment" in tx.table_metadata.properties:
                        tx.remove_properties("comment")
                else:
                    tx.set_properties({"comment": update.new_comment})
            case c.SetTableProperty():
                declared = TABLE.get(update.property)
                is_folder = declared is not None and declared.kind is Kind.LOCATION
                value = self._normalised(f"{where} ({update.property})", update.value) if is_folder else update.value
                tx.set_properties({update.property: value})
            case c.RemoveProperty():
                if update.property in tx.table_metadata.properties:
                    tx.remove_properties(update.property)
            case c.ReplacePartitioning():
                self._repartition(where, update)
            case c.ReplaceSortOrders():
                self._reorder(where, update)
            case c.ReplaceDistribution():
                mode = layout.distribution_mode(update.distribution)
                tx.set_properties({MODE: mode or "none"})
            case _:
                what = _UNSUPPORTED.get(type(update), type(update).__name__)
                raise UnsupportedOperationError(f"{where}: Iceberg tables do not have {what}")

    # --- columns -------------------------------------------------------------------------------------------------

    def _schema(self, *paths: Sequence[str]) -> UpdateSchema:
        """The schema update in progress; a new one if a column is touched again, which pyiceberg does not merge."""
        tops = {".".join(p).lower() for p in paths}
        if self._pending is not None and any(_related(a, b) for a in tops for b in self._touched):
            self._flush()
        if self._pending is None:
            self._pending = self._transaction.update_schema()
        self._touched |= tops
        return self._pending

    def _flush(self) -> None:
        if self._pending is not None:
            self._pending.commit()
            self._pending = self._known = None
            self._touched = set()
            self._write_notes()

    def _current(self) -> tuple[Any, frozenset[str]]:
        """The schema without what is pending, and its names in lower case: made anew only after a flush."""
        if self._known is None:
            schema = self._transaction.table_metadata.schema()
            self._known = (schema, frozenset(n.lower() for n in schema.column_names))
        return self._known

    def _find(self, where: str, path: Sequence[str], field: str = "fieldName") -> Any:
        """The field at a path in the schema as it is now, or an error that says which there are."""
        from pyiceberg.types import StructType

        name = ".".join(path)
        current, _ = self._current()
        try:
            return current.find_field(name)
        except ValueError:
            pass
        parent: Any = current.as_struct()
        if len(path) > 1:
            parent = self._find(where, path[:-1], field).field_type
        known = [f.name for f in parent.fields] if isinstance(parent, StructType) else []
        raise IllegalArgumentError(f"{where}.{field}: there is no column {name!r}; there are {', '.join(known)}")

    def add(self, where: str, u: c.AddColumn) -> None:
        """A new column, or a new field of a struct."""
        if u.default_value is not None:
            raise IllegalArgumentError(f"{where}.defaultValue: Iceberg tables do not have default values here")
        if u.auto_increment:
            raise IllegalArgumentError(f"{where}.autoIncrement: Iceberg tables do not have auto-increment")
        path = tuple(u.field_name)
        if not u.nullable:
            raise IllegalArgumentError(f"{where}.nullable: a column added to an Iceberg table must be nullable")
        if len(path) > 1:
            self._flush()
            self._find(where, path[:-1])
        self._settle(where, path, u.position)
        update = self._schema(path)
        self._refuse_taken(where, path, "fieldName")
        update.add_column(path, _iceberg_type(u.type, where), doc=u.comment, required=False)
        if u.position is not None:
            self._place(where, update, path, u.position)
        self._note(path, u.type)

    def rename(self, where: str, u: c.RenameColumn) -> None:
        """A new name; the field keeps its id, so data written before stays readable."""
        old = tuple(u.old_field_name)
        new = (*old[:-1], u.new_field_name)
        update = self._schema(old, new)
        self._find(where, old, "oldFieldName")
        if ".".join(new).lower() != ".".join(old).lower():
            self._refuse_taken(where, new, "newFieldName")
        update.rename_column(old, u.new_field_name)

    def _refuse_taken(self, where: str, path: tuple[str, ...], field: str) -> None:
        if ".".join(path).lower() in self._current()[1]:
            raise IllegalArgumentError(f"{where}.{field}: there is a column {'.'.join(path)!r} already")

    def retype(self, where: str, u: c.UpdateColumnType) -> None:
        """A wider type."""
        path = tuple(u.field_name)
        update = self._schema(path)
        self._find(where, path)
        update.update_column(path, field_type=_iceberg_type(u.new_type, where))
        self._note(path, u.new_type)

    def comment(self, where: str, u: c.UpdateColumnComment) -> None:
        """Another comment."""
        path = tuple(u.field_name)
        update = self._schema(path)
        self._find(where, path)
        update.update_column(path, doc=u.new_comment)

    def nullability(self, where: str, u: c.UpdateColumnNullability) -> None:
        """NULL allowed; the other way is impossible, since NULLs may be there already."""
        path = tuple(u.field_name)
        update = self._schema(path)
        field = self._find(where, path)
        if not u.nullable and field.optional:
            raise IllegalArgumentError(f"{where}.nullable: an Iceberg column that may be NULL can't be made NOT NULL")
        update.update_column(path, required=not u.nullable)

    def move(self, where: str, u: c.UpdateColumnPosition) -> None:
        """Another place."""
        path = tuple(u.field_name)
        self._settle(where, path, u.new_position)
        update = self._schema(path)
        self._find(where, path)
        self._place(where, update, path, u.new_position)

    def _settle(self, where: str, path: tuple[str, ...], position: c.ColumnPosition | None) -> None:
        """Make pending changes of the neighbour that a column is to stand after, so that it is found as it is then."""
        wanted = position.json() if position is not None else None
        if isinstance(wanted, dict) and wanted["after"] == path[-1]:
            raise IllegalArgumentError(f"{where}.position: can't move {path[-1]} after itself")
        if isinstance(wanted, dict) and ".".join((*path[:-1], wanted["after"])).lower() in self._touched:
            self._flush()

    def _place(self, where: str, update: UpdateSchema, path: tuple[str, ...], position: c.ColumnPosition) -> None:
        wanted = position.json()
        if wanted == "first":
            update.move_first(path)
        elif isinstance(wanted, dict):
            other = (*path[:-1], wanted["after"])
            self._find(where, other, "position.after")
            update.move_after(path, other)

    def delete(self, where: str, u: c.DeleteColumn) -> None:
        """A column less; its data stays in the files and is not read any more."""
        path = tuple(u.field_name)
        update = self._schema(path)
        try:
            field = self._find(where, path)
        except IllegalArgumentError:
            if u.if_exists:
                return
            raise
        metadata = self._transaction.table_metadata
        used = {f.source_id for f in metadata.spec().fields} | {f.source_id for f in metadata.sort_order().fields}
        if field.field_id in used:
            raise IllegalArgumentError(
                f"{where}.fieldName: {'.'.join(path)!r} is part of the partitioning or sort order"
            )
        update.delete_column(path)

    # --- notes of declared types -----------------------------------------------------------------------------------

    def _note(self, path: tuple[str, ...], type_: t.Type) -> None:
        declared = str(t.to_json(type_)) if isinstance(type_, t.VarChar | t.Char) else None
        self._notes.append((path, declared))

    def _write_notes(self) -> None:
        if not self._notes:
            return
        metadata = self._transaction.table_metadata  # worked out anew at each look, so one look is enough
        schema, notes = metadata.schema(), self._notes
        keyed = {f"{TYPE_NOTE}{schema.find_field('.'.join(path)).field_id}": declared for path, declared in notes}
        if declared_now := {k: v for k, v in keyed.items() if v is not None}:
            self._transaction.set_properties(declared_now)
        if gone := [k for k, v in keyed.items() if v is None and k in metadata.properties]:
            self._transaction.remove_properties(*gone)
        self._notes = []

    # --- partitioning and order -------------------------------------------------------------------------------------

    def _repartition(self, where: str, u: c.ReplacePartitioning) -> None:
        """Another partition spec; data written before keeps its own."""
        terms = []
        for i, partition in enumerate(u.partitioning):
            place = f"{where}.partitioning[{i}]"
            term = layout.partition_term(place, partition)
            source = self._find(place, term.column.split("."))
            terms.append((source.field_id, layout.checked_transform(place, term, source.field_type), term))
        if self._transaction.table_metadata.format_version == 1:
            raise UnsupportedOperationError(f"{where}: a table of format version 1 can't change its partitioning here")
        layout.check_spec(f"{where}.partitioning", [(source_id, term) for source_id, _, term in terms])
        respec(self._transaction, terms)

    def _reorder(self, where: str, u: c.ReplaceSortOrders) -> None:
        """Another sort order for data written from now on."""
        from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, NullOrder
        from pyiceberg.table.update import AddSortOrderUpdate, SetDefaultSortOrderUpdate

        if not u.sort_orders and self._transaction.table_metadata.sort_order_by_id(0) is None:
            # A table that was made sorted does not know the order 0 yet, and pyiceberg does not add it by itself.
            added = AddSortOrderUpdate.model_validate({"sort-order": UNSORTED_SORT_ORDER})
            self._transaction._stage((added, SetDefaultSortOrderUpdate.model_validate({"sort-order-id": 0})))
            return
        with self._transaction.update_sort_order() as order:
            for i, wanted in enumerate(u.sort_orders):
                term = layout.sort_term(f"{where}.sortOrders[{i}].sortTerm", wanted.sort_term)
                place = f"{where}.sortOrders[{i}].sortTerm"
                transform = layout.checked_transform(place, term, self._find(place, term.column.split(".")).field_type)
                nulls = NullOrder.NULLS_FIRST if wanted.null_ordering.value == "nulls_first" else NullOrder.NULLS_LAST
                add = order.asc if wanted.direction.value == "asc" else order.desc
                add(term.column, transform, nulls)


def _require_fields(type_: Any, why: str) -> None:
    """Nothing without fields may be left: no reader could make sense of it."""
    from pyiceberg.types import ListType, MapType, StructType

    if isinstance(type_, StructType):
        if not type_.fields:
            raise IllegalArgumentError(f"updates: {why}")
        for field in type_.fields:
            _require_fields(field.field_type, f"the struct {field.name!r} keeps at least one field")
    elif isinstance(type_, ListType):
        _require_fields(type_.element_type, why)
    elif isinstance(type_, MapType):
        _require_fields(type_.value_type, why)


def _related(one: str, other: str) -> bool:
    """The same column, or one inside the other."""
    return one == other or one.startswith(other + ".") or other.startswith(one + ".")


def _iceberg_type(type_: t.Type, where: str) -> Any:
    """pyiceberg's type for ours; it numbers the fields itself."""
    from pyiceberg.types import NestedField

    counter = iter(range(1, 100_000))
    writer = types.Writer(lambda: next(counter))
    raw = writer.field("x", type_, True, None, f"{where}.type", 0)
    if any(key != f"{TYPE_NOTE}0" for key in writer.notes):
        raise IllegalArgumentError(
            f"{where}.type: varchar and char inside of other types can only be declared at creation"
        )
    return NestedField.model_validate(raw).field_type


_COLUMN_CHANGES: dict[type, Callable[..., None]] = {
    c.AddColumn: Changer.add,
    c.RenameColumn: Changer.rename,
    c.UpdateColumnType: Changer.retype,
    c.UpdateColumnComment: Changer.comment,
    c.UpdateColumnNullability: Changer.nullability,
    c.UpdateColumnPosition: Changer.move,
    c.DeleteColumn: Changer.delete,
}
