"""An entry of a metastore to the lake's table."""

from __future__ import annotations

from datetime import UTC, datetime

from headwater.catalogs.metastores import formats, sparkschema
from headwater.catalogs.metastores.entries import EXTERNAL_TABLE, IDENTITY, MANAGED_TABLE, Database, Entry, Field
from headwater.catalogs.metastores.types import read
from headwater.model.expressions import FieldReference
from headwater.model.nouns import Audit, Schema
from headwater.model.tables import (
    Column,
    Distribution,
    DistributionStrategy,
    Identity,
    SortDirection,
    SortOrder,
    Table,
)

SERDE_PARAMETER = "serde.parameter."
SOURCE = "schema-source"
"""Says where the columns of a table come from whose truth lies elsewhere than in its entry."""
_STAND_IN = ("col", "array<string>")
_END = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
KINDS = {EXTERNAL_TABLE: "external-table", MANAGED_TABLE: "managed-table"}


def to_schema(database: Database) -> Schema:
    """The schema that a database is."""
    shown = {k: v for k, v in database.parameters.items() if k != IDENTITY}
    _add(shown, "location", database.location)
    audit = Audit(creator=database.owner, create_time=moment(database.created))
    return Schema(name=database.name, comment=database.comment or None, properties=shown, audit=audit)


def to_table(entry: Entry) -> Table:
    """The table that an entry describes, by what the metastore itself knows of it."""
    return Table(
        name=entry.name,
        comment=entry.comment,
        columns=columns(entry),
        properties=properties(entry),
        audit=audit(entry),
        distribution=_distribution(entry),
        sort_orders=_sort_orders(entry),
        partitioning=[Identity([key]) for key in partition_columns(entry)],
    )


def identity(created: float | None, parameters: dict[str, str]) -> str:
    """What tells an object from another one of its name: when it was made, and our own mark where we made it."""
    return "/".join(part for part in (f"{created or 0:.3f}", parameters.get(IDENTITY)) if part)


def columns(entry: Entry) -> list[Column]:
    """The columns, those that the table is partitioned by included."""
    if not has_columns(entry):
        return []
    fields = sparkschema.read_fields(entry.parameters) if sparkschema.is_data_source(entry) else None
    if fields is not None:
        return [sparkschema.column(f) for f in fields]
    return [_column(f) for f in (*entry.storage.columns, *entry.partition_keys)]


def has_columns(entry: Entry) -> bool:
    """Whether the entry knows the table's columns, and has no mere stand-in for those in the table's own log."""
    fields = sparkschema.read_fields(entry.parameters)
    if not sparkschema.is_data_source(entry) or fields:
        return True
    return [(f.name, f.type) for f in entry.storage.columns] != [_STAND_IN]


def partition_columns(entry: Entry) -> list[str]:
    """The names of the columns that the table is partitioned by."""
    if entry.partition_keys or not sparkschema.is_data_source(entry):
        return [f.name for f in entry.partition_keys]
    return sparkschema.listed(entry.parameters, "numPartCols", "partCol")


def _column(field: Field) -> Column:
    return Column(field.name, read(field.type), field.comment)


def properties(entry: Entry) -> dict[str, str]:
    """All parameters as they are, and what the metastore keeps elsewhere under the keys that are known for it.

    Where a parameter has such a key, the parameter wins and the other value is served as `storage-<key>`.
    """
    shown = {k: v for k, v in entry.parameters.items() if k != IDENTITY}
    storage, found = entry.storage, formats.table_format(entry)
    _add(shown, "location", storage.location)
    _add(shown, "input-format", storage.input_format)
    _add(shown, "output-format", storage.output_format)
    _add(shown, "serde-lib", storage.serde.library)
    _add(shown, "serde-name", storage.serde.name)
    for key, value in storage.serde.parameters.items():
        _add(shown, f"{SERDE_PARAMETER}{key}", value)
    _add(shown, "table-format", found)
    if found == formats.HIVE:
        _add(shown, "format", formats.storage_format(storage))
    if not has_columns(entry):
        _add(shown, SOURCE, "none: the entry has a stand-in only, the table's own log has the columns")
    if entry.kind:
        _add(shown, "table-type", entry.kind)
        if entry.kind in KINDS:
            _add(shown, KINDS[entry.kind], "true")
    return shown


def _add(shown: dict[str, str], key: str, value: str | None) -> None:
    if value is None or value == "":
        return
    if key not in shown:
        shown[key] = value
    elif shown[key] != value:
        shown[f"storage-{key}"] = value


def audit(entry: Entry) -> Audit:
    """Who made the table and when, as the metastore knows it."""
    made = Audit(creator=entry.owner or None, create_time=moment(entry.created))
    if entry.changed is not None and entry.changed != entry.created:
        made.last_modified_time = moment(entry.changed)
    return made


def whole(text: str | None) -> int | None:
    """The whole number that a parameter holds, if it does."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 19 else None


def moment(seconds: float | None) -> str | None:
    """A time of the metastore's on the wire."""
    if not seconds or not 0 < seconds < _END:
        return None  # an entry may hold anything there, milliseconds for one
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _distribution(entry: Entry) -> Distribution:
    columns, number = entry.storage.bucket_columns, entry.storage.buckets
    if sparkschema.is_data_source(entry):
        columns = sparkschema.listed(entry.parameters, "numBucketCols", "bucketCol")
        number = whole(entry.parameters.get(f"{sparkschema.SCHEMA}.numBuckets")) or 0
    if not columns or number <= 0:
        return Distribution.none()
    arguments = [FieldReference([name]) for name in columns]
    return Distribution(strategy=DistributionStrategy.HASH, number=number, func_args=list(arguments))


def _sort_orders(entry: Entry) -> list[SortOrder]:
    if sparkschema.is_data_source(entry):
        names = sparkschema.listed(entry.parameters, "numSortCols", "sortCol")
        return [SortOrder(FieldReference([name])) for name in names]
    return [
        SortOrder(FieldReference([s.name]), SortDirection.ASC if s.ascending else SortDirection.DESC)
        for s in entry.storage.sort_columns
    ]
