"""Glue's answers to entries, and entries over Glue's answers: what an entry does not model stays as Glue has it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from typing import Any

from headwater.catalogs.metastores.entries import (
    Database,
    Entry,
    Field,
    PartitionEntry,
    Serde,
    SortColumn,
    Storage,
)

Raw = dict[str, Any]

_NO_ENTRY = Entry("", "", storage=Storage(buckets=0), kind="")
"""What a new entry is laid over: the number of buckets is written, even if there are none."""

# --- Glue's answers to entries ---


def database(raw: Raw) -> Database:
    """A database."""
    return Database(
        name=raw["Name"],
        comment=raw.get("Description"),
        location=raw.get("LocationUri"),
        parameters=dict(raw.get("Parameters") or {}),
        created=_seconds(raw.get("CreateTime")),
        raw=raw,
    )


def entry(database_name: str, raw: Raw) -> Entry:
    """A table or view. Behind a link to another account's database a table names that one, so ours is given."""
    return Entry(
        database=database_name,
        name=raw["Name"],
        storage=storage(raw.get("StorageDescriptor") or {}),
        partition_keys=fields(raw.get("PartitionKeys")),
        parameters=dict(raw.get("Parameters") or {}),
        kind=raw.get("TableType") or "",
        comment=raw.get("Description"),
        owner=raw.get("Owner"),
        created=_seconds(raw.get("CreateTime")),
        accessed=_seconds(raw.get("LastAccessTime")),
        changed=_seconds(raw.get("UpdateTime")),
        view_original_text=raw.get("ViewOriginalText"),
        view_expanded_text=raw.get("ViewExpandedText"),
        version=raw.get("VersionId"),
        raw=raw,
    )


def partition(raw: Raw) -> PartitionEntry:
    """A partition."""
    described = raw.get("StorageDescriptor")
    return PartitionEntry(
        values=list(raw.get("Values") or ()),
        storage=None if described is None else storage(described),
        parameters=dict(raw.get("Parameters") or {}),
        created=_seconds(raw.get("CreationTime")),
        raw=raw,
    )


def storage(raw: Raw) -> Storage:
    """A StorageDescriptor."""
    serde = raw.get("SerdeInfo") or {}
    return Storage(
        columns=fields(raw.get("Columns")),
        location=raw.get("Location"),
        input_format=raw.get("InputFormat"),
        output_format=raw.get("OutputFormat"),
        compressed=bool(raw.get("Compressed")),
        buckets=raw.get("NumberOfBuckets", Storage().buckets),
        serde=Serde(serde.get("SerializationLibrary"), serde.get("Name"), dict(serde.get("Parameters") or {})),
        bucket_columns=list(raw.get("BucketColumns") or ()),
        sort_columns=[SortColumn(s["Column"], s["SortOrder"] == 1) for s in raw.get("SortColumns") or ()],
        parameters=dict(raw.get("Parameters") or {}),
    )


def fields(raw: Sequence[Raw] | None) -> list[Field]:
    """Columns."""
    return [Field(c["Name"], c.get("Type") or "", c.get("Comment")) for c in raw or ()]


def _seconds(when: datetime | None) -> float | None:
    return None if when is None else when.timestamp()


# --- entries over Glue's answers ---


def over_database(raw: Raw, after: Database) -> Raw:
    """A database as it is to be; `raw` is empty for a new one."""
    out = dict(raw)
    before = database({"Name": "", **raw})
    _put(out, "Name", before.name, after.name)
    _put(out, "Description", before.comment, after.comment)
    _put(out, "LocationUri", before.location, after.location)
    _put(out, "Parameters", before.parameters, after.parameters)
    return out


def new_entry(after: Entry) -> Raw:
    """A table that is not there yet. Engines stumble over a table without partition keys or parameters."""
    return _over({"PartitionKeys": [], "Parameters": {}}, _NO_ENTRY, after)


def over_entry(raw: Raw, after: Entry) -> Raw:
    """A table as it is to be, changed in what differs only."""
    return _over(raw, entry(after.database, raw), after)


def _over(raw: Raw, before: Entry, after: Entry) -> Raw:
    out = dict(raw)
    described = over_storage(out.get("StorageDescriptor") or {}, before.storage, after.storage)
    if described or "StorageDescriptor" in out:
        out["StorageDescriptor"] = described
    _put(out, "Name", before.name, after.name)
    _put(out, "Description", before.comment, after.comment)
    _put(out, "Owner", before.owner, after.owner)
    _put(out, "TableType", before.kind, after.kind or None)
    _put(out, "Parameters", before.parameters, after.parameters)
    _put(out, "ViewOriginalText", before.view_original_text, after.view_original_text)
    _put(out, "ViewExpandedText", before.view_expanded_text, after.view_expanded_text)
    if before.accessed != after.accessed:
        when = None if after.accessed is None else datetime.fromtimestamp(after.accessed, UTC)
        _put(out, "LastAccessTime", None, when)
    if before.partition_keys != after.partition_keys:
        out["PartitionKeys"] = _over_columns(out.get("PartitionKeys") or [], after.partition_keys)
    return out


def over_storage(raw: Raw, before: Storage, after: Storage) -> Raw:
    """A StorageDescriptor as it is to be, changed in what differs only."""
    out = dict(raw)
    if before.columns != after.columns:
        out["Columns"] = _over_columns(out.get("Columns") or [], after.columns)
    _put(out, "Location", before.location, after.location)
    _put(out, "InputFormat", before.input_format, after.input_format)
    _put(out, "OutputFormat", before.output_format, after.output_format)
    _put(out, "Compressed", before.compressed, after.compressed)
    _put(out, "NumberOfBuckets", before.buckets, after.buckets)
    _put(out, "BucketColumns", before.bucket_columns, after.bucket_columns)
    _put(out, "Parameters", before.parameters, after.parameters)
    if before.sort_columns != after.sort_columns:
        out["SortColumns"] = [{"Column": s.name, "SortOrder": int(s.ascending)} for s in after.sort_columns]
    if before.serde != after.serde:
        serde = dict(out.get("SerdeInfo") or {})
        _put(serde, "SerializationLibrary", before.serde.library, after.serde.library)
        _put(serde, "Name", before.serde.name, after.serde.name)
        _put(serde, "Parameters", before.serde.parameters, after.serde.parameters)
        out["SerdeInfo"] = serde
    return out


def _put(raw: Raw, key: str, before: object, after: object) -> None:
    if before == after:
        return
    if after is None:
        raw.pop(key, None)
    else:
        raw[key] = after


def _over_columns(raw: list[Raw], after: list[Field]) -> list[Raw]:
    """Columns with the parameters that Glue keeps for each: they stay with a column that is moved or renamed."""
    before = fields(raw)
    made = []
    for origin, field in zip(_origins(before, after), after, strict=True):
        column = {} if origin is None else dict(raw[origin])
        old = Field("", "") if origin is None else before[origin]
        _put(column, "Name", old.name, field.name)
        _put(column, "Type", old.type, field.type)
        _put(column, "Comment", old.comment, field.comment)
        made.append(column)
    return made


def _origins(before: list[Field], after: list[Field]) -> list[int | None]:
    """Which column each one was: that of its name, else one that went away in the same place and was of its type."""
    old, new = ([f.name.lower() for f in columns] for columns in (before, after))
    found: list[int | None] = [old.index(name) if name in old else None for name in new]
    for kind, a, a_end, b, b_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "replace" or a_end - a != b_end - b:
            continue
        for i, j in zip(range(a, a_end), range(b, b_end), strict=True):
            if found[j] is None and old[i] not in new and before[i].type == after[j].type:
                found[j] = i
    return found
