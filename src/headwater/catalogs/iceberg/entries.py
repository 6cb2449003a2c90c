"""How Iceberg's own HiveCatalog and GlueCatalog write a table into a metastore: engines of all kinds read that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.catalogs.metastores.entries import EXTERNAL_TABLE, Entry, Field, Serde, Storage
from headwater.model.errors import IllegalArgumentError

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

    Style = Callable[[Entry, TableMetadata | None, TableMetadata, str], Entry]
    """`(before, base, metadata, location)`: the entry for metadata that was written to a location.

    `base` is the metadata so far, or None for a new table, whose `before` has a name, a kind and nothing else. All that
    the style does not write itself is kept.
    """

TYPE, LOCATION, PREVIOUS = "table_type", "metadata_location", "previous_metadata_location"

_MARKS = frozenset(
    {
        *(TYPE, LOCATION, PREVIOUS, "external", "external.table.purge", "storage_handler", "uuid"),
        *("transient_lastddltime", "numfiles", "numrows", "totalsize"),
        *("current-schema", "snapshot-count", "default-partition-spec", "default-sort-order"),
    }
)
"""Parameters by which an entry says what it is, and what readers of it are told of the metadata; in lower case."""
_SNAPSHOT = "current-snapshot-"
"""Begins further ones."""

_OWNER = "hive.metastore.table.owner"
_RENAMED = {"gc.enabled": "external.table.purge"}
"""Iceberg's properties that Hive knows by another name."""
_LONGEST = 32672
"""HMS refuses longer values of parameters; Iceberg leaves those out that it adds."""
_LONGEST_COMMENT = 255
_LONGEST_DESCRIPTION = 2048
"""What Glue takes; the whole text is in the metadata."""

_STATISTICS = {"numFiles": "total-data-files", "numRows": "total-records", "totalSize": "total-files-size"}

_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_MAPRED = "org.apache.hadoop.mapred"
_HIVE = "org.apache.iceberg.mr.hive"
_HANDLER, _ENABLED = "storage_handler", "engine.hive.enabled"

_COMMON = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "time": "string",
    "string": "string",
    "uuid": "string",
    "binary": "binary",
    "fixed": "binary",
    "timestamp": "timestamp",
    "timestamp_ns": "timestamp",
}
_HIVE_TYPES = _COMMON | {
    "timestamptz": "timestamp with local time zone",
    "timestamptz_ns": "timestamp with local time zone",
    "unknown": "void",
    "variant": "binary",
    "geometry": "binary",
    "geography": "binary",
}
_GLUE_TYPES = _COMMON | {"timestamptz": "timestamp", "timestamptz_ns": "timestamp"}


def is_iceberg(entry: Entry) -> bool:
    """Whether an entry is an Iceberg table; views of Iceberg have a mark of their own."""
    return not entry.is_view and (entry.parameter(TYPE) or "").lower() == "iceberg"


def is_mark(key: str) -> bool:
    """Whether a name, in any case, is that of a parameter that entries have for themselves."""
    return key.lower() in _MARKS or key.lower().startswith(_SNAPSHOT)


def refuse_marks(keys: Iterable[str]) -> None:
    """Refuse properties of an Iceberg table that would be taken for what its entry says of itself."""
    for key in keys:
        if is_mark(key):
            raise IllegalArgumentError(
                f"properties.{key}: it can't be set; the table's entry in the metastore has one of its own"
            )


def hive_style(before: Entry, base: TableMetadata | None, metadata: TableMetadata, location: str) -> Entry:
    """As Iceberg's HiveCatalog writes it: the table's properties are parameters too, and statistics beside them.

    A property that an engine gave the name of a mark stays in the metadata: EXTERNAL=FALSE, for one, would make the
    files the Metastore's own, to be deleted with the table.
    """
    properties = metadata.properties
    parameters = dict(before.parameters)
    if base is not None:
        for key in base.properties.keys() - properties.keys():
            parameters.pop(_RENAMED.get(key, key), None)
    parameters |= {_RENAMED.get(k, k): v for k, v in properties.items() if k != _OWNER and not is_mark(k)}
    if before.kind == EXTERNAL_TABLE:
        parameters["EXTERNAL"] = "TRUE"
    parameters["uuid"] = str(metadata.table_uuid)
    _point(parameters, before, location)
    _describe(parameters, metadata)
    return msgspec.structs.replace(
        before,
        parameters=parameters,
        storage=_hive_storage(before, base, metadata, parameters),
        owner=properties.get(_OWNER, before.owner),
        comment=parameters.get("comment"),
    )


def glue_style(before: Entry, base: TableMetadata | None, metadata: TableMetadata, location: str) -> Entry:
    """As Iceberg's GlueCatalog writes it: its properties stay in the metadata."""
    parameters = dict(before.parameters)
    _point(parameters, before, location)
    columns = _columns(metadata, _GLUE_TYPES)
    storage = msgspec.structs.replace(before.storage, columns=columns, location=metadata.location)
    had_comment = base is not None and "comment" in base.properties
    comment = metadata.properties.get("comment", None if had_comment else before.comment)
    shown = comment[:_LONGEST_DESCRIPTION] if comment is not None else None
    return msgspec.structs.replace(before, parameters=parameters, storage=storage, comment=shown)


def _point(parameters: dict[str, str], before: Entry, location: str) -> None:
    if (previous := before.parameter(LOCATION)) is not None:
        parameters[PREVIOUS] = previous
    parameters[TYPE], parameters[LOCATION] = "ICEBERG", location


def _describe(parameters: dict[str, str], metadata: TableMetadata) -> None:
    """What those see who read the entry only."""
    snapshot = metadata.current_snapshot()
    summary = dict(snapshot.summary.additional_properties) if snapshot and snapshot.summary else {}
    parameters |= {ours: summary[theirs] for ours, theirs in _STATISTICS.items() if theirs in summary}
    spec, order = metadata.spec(), metadata.sort_order()
    told = {
        "snapshot-count": str(len(metadata.snapshots)),
        "current-snapshot-id": str(snapshot.snapshot_id) if snapshot else None,
        "current-snapshot-timestamp-ms": str(snapshot.timestamp_ms) if snapshot else None,
        "current-snapshot-summary": msgspec.json.encode(summary).decode() if snapshot else None,
        "current-schema": metadata.schema().model_dump_json(exclude_defaults=False),
        "default-partition-spec": None if spec.is_unpartitioned() else spec.model_dump_json(),
        "default-sort-order": None if order.is_unsorted else order.model_dump_json(),
    }
    for key, value in told.items():
        parameters.pop(key, None)
        if value is not None and len(value) <= _LONGEST:
            parameters[key] = value


def _hive_storage(
    before: Entry, base: TableMetadata | None, metadata: TableMetadata, parameters: dict[str, str]
) -> Storage:
    """The columns as Hive sees them; and the classes by which Hive itself reads the table, where that is wanted.

    Where the table does not say whether Hive is to read it, one that Hive made stays as it is.
    """
    storage = msgspec.structs.replace(
        before.storage, columns=_columns(metadata, _HIVE_TYPES), location=metadata.location
    )
    by_hive = metadata.properties.get(_ENABLED)
    if by_hive is None and base is not None and _ENABLED not in base.properties:
        if (handler := before.parameters.get(_HANDLER)) is not None:
            parameters[_HANDLER] = handler
        return storage
    if (by_hive or "").lower() == "true":
        parameters[_HANDLER] = f"{_HIVE}.HiveIcebergStorageHandler"
        formats = (f"{_HIVE}.HiveIcebergInputFormat", f"{_HIVE}.HiveIcebergOutputFormat", f"{_HIVE}.HiveIcebergSerDe")
    else:
        parameters.pop(_HANDLER, None)
        formats = (f"{_MAPRED}.FileInputFormat", f"{_MAPRED}.FileOutputFormat", _LAZY)
    storage.input_format, storage.output_format = formats[:2]
    storage.serde = (
        msgspec.structs.replace(storage.serde, library=formats[2]) if base is not None else Serde(formats[2])
    )
    return storage


def _columns(metadata: TableMetadata, names: Mapping[str, str]) -> list[Field]:
    fields = metadata.schema().fields
    return [Field(f.name, _type(f.field_type, names), f.doc[:_LONGEST_COMMENT] if f.doc else None) for f in fields]


def _type(type_: Any, names: Mapping[str, str]) -> str:
    """Hive's type string for pyiceberg's type; nobody reads data by it."""
    from pyiceberg.types import DecimalType, ListType, MapType, StructType

    match type_:
        case StructType():
            return f"struct<{','.join(f'{f.name}:{_type(f.field_type, names)}' for f in type_.fields)}>"
        case ListType():
            return f"array<{_type(type_.element_type, names)}>"
        case MapType():
            return f"map<{_type(type_.key_type, names)},{_type(type_.value_type, names)}>"
        case DecimalType():
            return f"decimal({type_.precision},{type_.scale})"
    name = str(type_).partition("[")[0].partition("(")[0]
    return names.get(name, name)
