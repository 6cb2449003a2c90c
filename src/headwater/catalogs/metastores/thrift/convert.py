"""Thrift's structures to entries and back."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
from hive_metastore import ttypes

from headwater.catalogs.metastores.entries import (
    EXTERNAL_TABLE,
    Database,
    Entry,
    Field,
    PartitionEntry,
    Serde,
    SortColumn,
    Storage,
)
from headwater.catalogs.metastores.reading import whole

COMMENT = "comment"
"""Hive keeps a table's comment among its parameters."""


def database(raw: Any) -> Database:
    """A database as the Metastore has it."""
    return Database(
        name=raw.name,
        comment=raw.description,
        location=raw.locationUri,
        parameters=dict(raw.parameters or {}),
        owner=raw.ownerName,
        created=raw.createTime or None,
        raw=raw,
    )


def raw_database(found: Database, catalog: str, base: Any = None) -> Any:
    """A database for the Metastore; what is not modelled comes from `base`."""
    raw = copy.deepcopy(base) if base is not None else ttypes.Database(catalogName=catalog)
    raw.name, raw.description, raw.locationUri = found.name, found.comment, found.location
    raw.parameters = dict(found.parameters)
    if found.owner is not None:
        raw.ownerName, raw.ownerType = found.owner, raw.ownerType or ttypes.PrincipalType.USER
    return raw


def entry(raw: Any) -> Entry:
    """A table as the Metastore has it."""
    parameters = dict(raw.parameters or {})
    changed = whole(parameters.get("transient_lastDdlTime"))
    return Entry(
        database=raw.dbName,
        name=raw.tableName,
        storage=storage(raw.sd),
        partition_keys=[_field(f) for f in raw.partitionKeys or []],
        parameters=parameters,
        kind=raw.tableType or "",
        comment=parameters.get(COMMENT),
        owner=raw.owner,
        created=raw.createTime or None,
        accessed=raw.lastAccessTime or None,
        changed=None if changed is None else float(changed),
        view_original_text=raw.viewOriginalText,
        view_expanded_text=raw.viewExpandedText,
        raw=raw,
    )


def storage(sd: Any) -> Storage:
    """A storage descriptor; views may have none."""
    if sd is None:
        return Storage()
    serde = sd.serdeInfo or ttypes.SerDeInfo()
    return Storage(
        columns=[_field(f) for f in sd.cols or []],
        location=sd.location,
        input_format=sd.inputFormat,
        output_format=sd.outputFormat,
        compressed=bool(sd.compressed),
        buckets=-1 if sd.numBuckets is None else sd.numBuckets,
        serde=Serde(serde.serializationLib, serde.name, dict(serde.parameters or {})),
        bucket_columns=list(sd.bucketCols or []),
        sort_columns=[SortColumn(o.col, o.order == 1) for o in sd.sortCols or []],
        parameters=dict(sd.parameters or {}),
    )


def _field(raw: Any) -> Field:
    return Field(raw.name, raw.type, raw.comment)


def raw_entry(after: Entry, catalog: str, before: Entry | None = None) -> Any:
    """A table for the Metastore: `before`'s own structure with the fields that differ, or a new one."""
    if before is None:
        raw = ttypes.Table(catName=catalog, sd=raw_storage(after.storage), ownerType=ttypes.PrincipalType.USER)
        before = Entry("", "", kind="")
    else:
        raw = copy.deepcopy(before.raw)
        raw.sd = raw_storage(after.storage, before.storage, raw.sd)
    raw.dbName, raw.tableName, raw.tableType = after.database, after.name, after.kind
    raw.parameters = _parameters(after, before)
    raw.partitionKeys = [_raw_field(f) for f in after.partition_keys]
    for ours, theirs in (
        ("owner", "owner"),
        ("view_original_text", "viewOriginalText"),
        ("view_expanded_text", "viewExpandedText"),
    ):
        if getattr(after, ours) != getattr(before, ours):
            setattr(raw, theirs, getattr(after, ours))
    return raw


def _parameters(after: Entry, before: Entry) -> dict[str, str]:
    parameters = dict(after.parameters)
    if after.comment != before.comment:
        parameters.pop(COMMENT, None)
        if after.comment is not None:
            parameters[COMMENT] = after.comment
    if after.kind == EXTERNAL_TABLE and before.kind != EXTERNAL_TABLE:
        parameters.setdefault("EXTERNAL", "TRUE")
    return parameters


def raw_storage(after: Storage, before: Storage | None = None, base: Any = None) -> Any:
    """A storage descriptor for the Metastore; what is not modelled comes from `base`."""
    raw = copy.deepcopy(base) if base is not None else ttypes.StorageDescriptor(skewedInfo=_NO_SKEW)
    if before is not None and base is not None and msgspec.to_builtins(after) == msgspec.to_builtins(before):
        return raw
    raw.cols = [_raw_field(f) for f in after.columns]
    raw.location, raw.inputFormat, raw.outputFormat = after.location, after.input_format, after.output_format
    raw.compressed, raw.numBuckets = after.compressed, after.buckets
    raw.bucketCols, raw.parameters = list(after.bucket_columns), dict(after.parameters)
    raw.sortCols = [ttypes.Order(col=s.name, order=1 if s.ascending else 0) for s in after.sort_columns]
    raw.serdeInfo = raw.serdeInfo or ttypes.SerDeInfo()
    raw.serdeInfo.serializationLib, raw.serdeInfo.name = after.serde.library, after.serde.name
    raw.serdeInfo.parameters = dict(after.serde.parameters)
    return raw


_NO_SKEW = ttypes.SkewedInfo(skewedColNames=[], skewedColValues=[], skewedColValueLocationMaps={})


def _raw_field(field: Field) -> Any:
    return ttypes.FieldSchema(name=field.name, type=field.type, comment=field.comment)


def partition(raw: Any) -> PartitionEntry:
    """A partition as the Metastore has it."""
    return PartitionEntry(
        values=list(raw.values),
        storage=storage(raw.sd),
        parameters=dict(raw.parameters or {}),
        created=raw.createTime or None,
        raw=raw,
    )


def raw_partition(table: Entry, found: PartitionEntry, name: str, catalog: str) -> Any:
    """A partition for the Metastore; without a storage of its own it lies below its table's folder."""
    if found.storage is None:
        sd = copy.deepcopy(table.raw.sd)
        sd.location = f"{(table.storage.location or '').rstrip('/')}/{name}" if table.storage.location else None
    else:
        sd = raw_storage(found.storage, base=table.raw.sd)
    return ttypes.Partition(
        values=list(found.values),
        dbName=table.database,
        tableName=table.name,
        sd=sd,
        parameters=dict(found.parameters),
        catName=catalog,
    )
