"""Changes of a table applied to a Hive-style entry: in order, all or none, and nothing else moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from headwater.catalogs.metastores import formats, sparkschema
from headwater.catalogs.metastores.entries import Entry, Field
from headwater.catalogs.metastores.reading import SERDE_PARAMETER
from headwater.catalogs.metastores.types import write
from headwater.model import changes as c
from headwater.model import types as t
from headwater.model.errors import IllegalArgumentError, UnsupportedOperationError

COLUMN_CHANGES = (
    c.AddColumn,
    c.RenameColumn,
    c.UpdateColumnType,
    c.UpdateColumnComment,
    c.UpdateColumnPosition,
    c.UpdateColumnNullability,
    c.DeleteColumn,
    c.UpdateColumnDefaultValue,
    c.UpdateColumnAutoIncrement,
)


def changed(entry: Entry, updates: Sequence[c.TableChange]) -> Entry:
    """The entry after the changes; the one given stays as it is."""
    after = msgspec.structs.replace(
        entry,
        storage=deepcopy(entry.storage),
        parameters=dict(entry.parameters),
        partition_keys=[*entry.partition_keys],
    )
    columns = _Columns(after)
    for n, update in enumerate(updates):
        where = f"updates[{n}]"
        if isinstance(update, COLUMN_CHANGES):
            columns.apply(where, update)
        else:
            _change_rest(after, where, update)
    columns.write_back()
    return after


def _change_rest(entry: Entry, where: str, update: c.TableChange) -> None:
    match update:
        case c.UpdateComment():
            entry.comment = update.new_comment
        case c.SetTableProperty():
            parameters, key = _home(entry, update.property)
            parameters[key] = update.value
        case c.RemoveProperty():
            parameters, key = _home(entry, update.property)
            parameters.pop(key, None)
        case c.RenameTable():
            raise AssertionError("a rename is the provider's to make")
        case _:
            what = type(update).__name__
            raise UnsupportedOperationError(f"{where}: Hive-style tables can't do {what[:1].lower()}{what[1:]}")


def _home(entry: Entry, key: str) -> tuple[dict[str, str], str]:
    """Where a property lives: `serde.parameter.x` is the SerDe's, unless a parameter has that very name."""
    if key.startswith(SERDE_PARAMETER) and key not in entry.parameters:
        return entry.storage.serde.parameters, key.removeprefix(SERDE_PARAMETER)
    return entry.parameters, key


class _Column(msgspec.Struct):
    """A column as Hive has it, as Spark has it, or as both do."""

    hive: Field | None = None
    spark: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        return str(self.spark["name"]) if self.spark is not None else self.hive.name if self.hive is not None else ""


class _Columns:
    """An entry's columns without those that it is partitioned by, which no change may touch.

    A table of one of Spark's data sources is what its schema in the parameters says. Hive's columns follow where they
    are the same ones; where they are a mere stand-in (`col array<string>`), they stay as they are.
    """

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._spark = sparkschema.read_fields(entry.parameters)
        self._source = sparkschema.is_data_source(entry)
        self._keys = [k.name.lower() for k in entry.partition_keys]
        if not self._keys and self._source:
            self._keys = [k.lower() for k in sparkschema.listed(entry.parameters, "numPartCols", "partCol")]
        self._buckets = {name.lower() for name in entry.storage.bucket_columns} | {
            s.name.lower() for s in entry.storage.sort_columns
        }
        for count, key in (("numBucketCols", "bucketCol"), ("numSortCols", "sortCol")):
            self._buckets |= {name.lower() for name in sparkschema.listed(entry.parameters, count, key)}
        self._touched = False
        self._columns = self._paired()

    def _paired(self) -> list[_Column]:
        hive = {f.name.lower(): f for f in self._entry.storage.columns}
        plain = [f for f in self._spark or [] if f["name"].lower() not in self._keys]
        self._in_step = [f["name"].lower() for f in plain] == [
            f.name.lower() for f in self._entry.storage.columns if f.name.lower() not in self._keys
        ]
        if self._spark is not None and (self._source or self._in_step):
            return [_Column(hive.get(f["name"].lower()) if self._in_step else None, f) for f in plain]
        self._spark = None
        return [_Column(f) for f in self._entry.storage.columns]

    def apply(self, where: str, update: Any) -> None:
        """One change."""
        self._touched = True
        _ACTIONS[type(update)](self, where, update)

    def write_back(self) -> None:
        """Put the columns into the entry, if any was changed."""
        if not self._touched:
            return
        if self._spark is not None:
            keys = [f for f in self._spark if f["name"].lower() in self._keys]
            fields = [c.spark for c in self._columns if c.spark is not None]
            self._entry.parameters = sparkschema.write_fields(self._entry.parameters, [*fields, *keys])
        if self._spark is None or self._in_step:
            self._entry.storage.columns = [c.hive for c in self._columns if c.hive is not None]

    # --- the changes -----------------------------------------------------------------------------------------------

    def add(self, where: str, u: c.AddColumn) -> None:
        """A column at the end, or where it is wanted."""
        name = _top(where, "fieldName", u.field_name)
        if u.auto_increment or u.default_value is not None:
            what = "autoIncrement" if u.auto_increment else "defaultValue"
            raise IllegalArgumentError(f"{where}.{what}: Hive-style tables have none")
        if not u.nullable:
            raise IllegalArgumentError(f"{where}.nullable: a new column can't be NOT NULL in a Hive-style table")
        self._refuse_taken(f"{where}.fieldName", name)
        self._columns.insert(self._place(where, "position", u.position), self._made(where, name, u.type, u.comment))

    def rename(self, where: str, u: c.RenameColumn) -> None:
        """Another name; Hive finds data by position or by name as the format does."""
        found = self._find(where, "oldFieldName", u.old_field_name)
        if found.name.lower() in self._buckets:
            raise IllegalArgumentError(f"{where}.oldFieldName: the table is bucketed or sorted by {found.name!r}")
        if u.new_field_name.lower() != found.name.lower():
            self._refuse_taken(f"{where}.newFieldName", u.new_field_name)
        if found.hive is not None:
            found.hive = Field(u.new_field_name.lower(), found.hive.type, found.hive.comment)
        if found.spark is not None:
            found.spark = {**found.spark, "name": u.new_field_name}

    def retype(self, where: str, u: c.UpdateColumnType) -> None:
        """Another type."""
        found = self._find(where, "fieldName", u.field_name)
        if found.hive is not None:
            found.hive = Field(found.hive.name, write(u.new_type, f"{where}.newType"), found.hive.comment)
        if found.spark is not None:
            found.spark = sparkschema.retyped(found.spark, self._as_spark(u.new_type), f"{where}.newType")

    def comment(self, where: str, u: c.UpdateColumnComment) -> None:
        """Another comment."""
        found = self._find(where, "fieldName", u.field_name)
        if found.hive is not None:
            found.hive = Field(found.hive.name, found.hive.type, u.new_comment)
        if found.spark is not None:
            found.spark = sparkschema.commented(found.spark, u.new_comment)

    def move(self, where: str, u: c.UpdateColumnPosition) -> None:
        """Another place."""
        found = self._find(where, "fieldName", u.field_name)
        self._columns.remove(found)
        self._columns.insert(self._place(where, "newPosition", u.new_position), found)

    def nullability(self, where: str, u: c.UpdateColumnNullability) -> None:
        """Spark's own tables know it; Hive's don't."""
        found = self._find(where, "fieldName", u.field_name)
        if not u.nullable and not (self._source and found.spark is not None and found.spark.get("nullable") is False):
            raise IllegalArgumentError(f"{where}.nullable: Hive-style tables know no NOT NULL")
        if found.spark is not None:
            found.spark = {**found.spark, "nullable": u.nullable}

    def delete(self, where: str, u: c.DeleteColumn) -> None:
        """A column that is there, or one that may be missing."""
        name = _top(where, "fieldName", u.field_name)
        if u.if_exists and not self._is_there(name) and name.lower() not in self._keys:
            return
        found = self._find(where, "fieldName", u.field_name)
        if found.name.lower() in self._buckets:
            raise IllegalArgumentError(f"{where}.fieldName: the table is bucketed or sorted by {found.name!r}")
        if len(self._columns) == 1:
            raise IllegalArgumentError(f"{where}.fieldName: {found.name!r} is the table's last column")
        self._columns.remove(found)

    def refuse(self, where: str, u: Any) -> None:
        """What Hive's columns don't have."""
        what = "default values" if isinstance(u, c.UpdateColumnDefaultValue) else "numbered rows"
        raise UnsupportedOperationError(f"{where}: Hive-style tables have no {what}")

    # --- finding ---------------------------------------------------------------------------------------------------

    def _made(self, where: str, name: str, type_: t.Type, comment: str | None) -> _Column:
        made = _Column()
        if self._spark is None or self._in_step:
            made.hive = Field(name.lower(), write(type_, f"{where}.type"), comment)
        if self._spark is not None:
            made.spark = sparkschema.field_of(name, self._as_spark(type_), comment, True, f"{where}.type")
        return made

    def _as_spark(self, type_: t.Type) -> t.Type:
        """A Hive table's timestamp is Spark's `timestamp`, whatever it is called there."""
        if isinstance(type_, t.Timestamp) and not self._source:
            return t.Timestamp(with_time_zone=True)
        return type_

    def _is_there(self, name: str) -> bool:
        return any(column.name.lower() == name.lower() for column in self._columns)

    def _find(self, where: str, field: str, path: list[str]) -> _Column:
        name = _top(where, field, path)
        if name.lower() in self._keys:
            raise IllegalArgumentError(f"{where}.{field}: the table is partitioned by {name!r}, so it can't be changed")
        found = next((column for column in self._columns if column.name.lower() == name.lower()), None)
        if found is None:
            raise IllegalArgumentError(f"{where}.{field}: there is no column {name!r}")
        return found

    def _refuse_taken(self, where: str, name: str) -> None:
        if not name.strip() or "," in name:
            raise IllegalArgumentError(f"{where}: {name!r} can't be the name of a column: it is blank or has a comma")
        if self._is_there(name) or name.lower() in self._keys:
            raise IllegalArgumentError(f"{where}: there is a column {name!r} already")

    def _place(self, where: str, field: str, position: c.ColumnPosition | None) -> int:
        if position is None or position.kind == "default":
            return len(self._columns)
        if position.kind == "first":
            return 0
        after = str(position.column).lower()
        names = [column.name.lower() for column in self._columns]
        if after not in names:
            raise IllegalArgumentError(f"{where}.{field}.after: there is no column {position.column!r} to put it after")
        return names.index(after) + 1


def _top(where: str, field: str, path: list[str]) -> str:
    if len(path) > 1:
        raise IllegalArgumentError(
            f"{where}.{field}: {'.'.join(path)} lies inside of a column; in Hive-style tables change the column's type"
        )
    return path[0]


_ACTIONS: dict[type, Callable[..., None]] = {
    c.AddColumn: _Columns.add,
    c.RenameColumn: _Columns.rename,
    c.UpdateColumnType: _Columns.retype,
    c.UpdateColumnComment: _Columns.comment,
    c.UpdateColumnPosition: _Columns.move,
    c.UpdateColumnNullability: _Columns.nullability,
    c.DeleteColumn: _Columns.delete,
    c.UpdateColumnDefaultValue: _Columns.refuse,
    c.UpdateColumnAutoIncrement: _Columns.refuse,
}


def refuse_for_format(entry: Entry, updates: Sequence[c.TableChange]) -> None:
    """Delta, Hudi and Paimon own their schema: a column changed here only would be a lie."""
    found = formats.table_format(entry)
    for n, update in enumerate(updates):
        if isinstance(update, COLUMN_CHANGES):
            raise UnsupportedOperationError(
                f"updates[{n}]: the columns of a {found} table are owned by its own log; change them with an engine"
            )
