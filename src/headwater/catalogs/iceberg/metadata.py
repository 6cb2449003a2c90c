"""An Iceberg metadata file to our table, without pyiceberg: a load costs the parse of what is served and no more."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.catalogs.base import Found
from headwater.catalogs.iceberg import types
from headwater.catalogs.iceberg.properties import TABLE
from headwater.model import tables as m
from headwater.model.expressions import Expression, FieldReference, FunctionExpression, Literal
from headwater.model.nouns import Audit
from headwater.model.types import Integer

MODE = "write.distribution-mode"

_GZIP = b"\x1f\x8b"

Path = tuple[str, ...]
Names = Mapping[int, Path]


class _Kebab(msgspec.Struct, rename="kebab"):
    pass


class _Schema(_Kebab):
    fields: list[dict[str, Any]]
    schema_id: int = 0
    identifier_field_ids: list[int] = []


class _Field(_Kebab):
    transform: str
    source_id: int = 0
    source_ids: list[int] = []
    direction: str = "asc"
    null_order: str = "nulls-first"

    @property
    def source(self) -> int:
        return self.source_ids[0] if self.source_ids else self.source_id


class _Spec(_Kebab):
    fields: list[_Field]
    spec_id: int = 0


class _Order(_Kebab):
    fields: list[_Field]
    order_id: int = 0


class _LogEntry(_Kebab):
    timestamp_ms: int


class Metadata(_Kebab):
    """The parts of a table's metadata that are served."""

    format_version: int
    location: str
    last_updated_ms: int
    table_uuid: str = ""
    current_schema_id: int = 0
    schemas: list[_Schema] = []
    schema: _Schema | None = None
    default_spec_id: int = 0
    partition_specs: list[_Spec] = []
    partition_spec: list[_Field] = []
    default_sort_order_id: int = 0
    sort_orders: list[_Order] = []
    properties: dict[str, str] = {}
    current_snapshot_id: int | None = None
    metadata_log: list[_LogEntry] = []


decode: Callable[[bytes], Metadata] = msgspec.json.Decoder(Metadata).decode


def unzipped(content: bytes) -> bytes:
    """What is in a metadata file: engines gzip some, and name those in several ways."""
    return gzip.decompress(content) if content.startswith(_GZIP) else content


def to_table(name: str, metadata: Metadata) -> Found[m.Table]:
    """The table as it is served, and its identity."""
    schema = _current_schema(metadata)
    names = dict(_paths(schema.fields, ()))
    notes = metadata.properties
    partitioning = [p for f in _current_spec(metadata) if (p := _partition(f, names)) is not None]
    orders = _current_order(metadata)
    table = m.Table(
        name=name,
        comment=metadata.properties.get("comment"),
        columns=[_column(f, notes) for f in schema.fields],
        properties=_properties(metadata, schema, orders, names),
        audit=_audit(metadata),
        distribution=_distribution(metadata, partitioning, orders),
        sort_orders=[_sort_order(f, names) for f in orders],
        partitioning=partitioning,
    )
    return Found(table, metadata.table_uuid)


def _paths(fields: Sequence[dict[str, Any]], above: Path) -> Iterator[tuple[int, Path]]:
    """The path of every field, by id."""
    for field in fields:
        path = (*above, field["name"])
        yield field["id"], path
        yield from _inside(field["type"], path)


def _inside(raw: Any, path: Path) -> Iterator[tuple[int, Path]]:
    if not isinstance(raw, dict):
        return
    if raw.get("type") == "struct":
        yield from _paths(raw["fields"], path)
    for part in ("element", "key", "value"):
        if part in raw:
            yield raw[f"{part}-id"], (*path, part)
            yield from _inside(raw[part], (*path, part))


def _path(source: int, names: Names) -> list[str]:
    return list(names.get(source, (f"field-{source}",)))


def _current_schema(metadata: Metadata) -> _Schema:
    found = next((s for s in metadata.schemas if s.schema_id == metadata.current_schema_id), metadata.schema)
    return found or _Schema([])


def _current_spec(metadata: Metadata) -> Sequence[_Field]:
    specs = metadata.partition_specs
    return next((s.fields for s in specs if s.spec_id == metadata.default_spec_id), metadata.partition_spec)


def _current_order(metadata: Metadata) -> Sequence[_Field]:
    wanted = metadata.default_sort_order_id
    return next((o.fields for o in metadata.sort_orders if o.order_id == wanted), ())


def _column(raw: dict[str, Any], notes: dict[str, str]) -> m.Column:
    field = types.read_field(raw, notes)
    return m.Column(field.name, field.type, comment=field.comment, nullable=field.nullable)


_ARGUMENT = re.compile(r"(bucket|truncate)\[(\d+)\]")
_TIMES: dict[str, type[m.Year | m.Month | m.Day | m.Hour]] = {
    "year": m.Year,
    "month": m.Month,
    "day": m.Day,
    "hour": m.Hour,
}


def _partition(field: _Field, names: Names) -> m.Partitioning | None:
    """One partition field; None for one that was dropped from a version 1 table and left as void."""
    path = _path(field.source, names)
    if field.transform == "void":
        return None
    if field.transform == "identity":
        return m.Identity(path)
    if field.transform in _TIMES:
        return _TIMES[field.transform](path)
    if match := _ARGUMENT.fullmatch(field.transform):
        if match[1] == "bucket":
            return m.Bucket(int(match[2]), [path])
        return m.Truncate(int(match[2]), path)
    return m.FunctionTransform(field.transform, [FieldReference(path)])


def _term(field: _Field, names: Names) -> Expression:
    reference = FieldReference(_path(field.source, names))
    if field.transform == "identity":
        return reference
    if match := _ARGUMENT.fullmatch(field.transform):
        return FunctionExpression(match[1], [Literal(Integer(), match[2]), reference])
    return FunctionExpression(field.transform, [reference])


def _sort_order(field: _Field, names: Names) -> m.SortOrder:
    nulls = m.NullOrdering.NULLS_FIRST if field.null_order == "nulls-first" else m.NullOrdering.NULLS_LAST
    direction = m.SortDirection.ASC if field.direction == "asc" else m.SortDirection.DESC
    return m.SortOrder(sort_term=_term(field, names), direction=direction, null_ordering=nulls)


def _distribution(
    metadata: Metadata, partitioning: Sequence[m.Partitioning], orders: Sequence[_Field]
) -> m.Distribution:
    """What the table says, else what Iceberg's writers do when it says nothing."""
    mode = metadata.properties.get(MODE) or ("range" if orders else "hash" if partitioning else "none")
    strategies = {"hash": m.DistributionStrategy.HASH, "range": m.DistributionStrategy.RANGE}
    if mode not in strategies:
        return m.Distribution.none()
    return m.Distribution(strategy=strategies[mode], number=0, func_args=[])


def _properties(metadata: Metadata, schema: _Schema, orders: Sequence[_Field], names: Names) -> dict[str, str]:
    """The table's own properties, and what Iceberg keeps elsewhere under the keys that are known for it."""
    shown = {k: v for k, v in metadata.properties.items() if (p := TABLE.get(k)) is None or not p.hidden}
    data_format = metadata.properties.get("write.format.default", "parquet")
    current = metadata.current_snapshot_id
    mapped = {
        "provider": "iceberg",
        "format": f"iceberg/{data_format}",
        "format-version": str(metadata.format_version),
        "location": metadata.location,
        "current-snapshot-id": "none" if current in (None, -1) else str(current),
    }
    if orders:
        mapped["sort-order"] = ", ".join(_order_text(f, names) for f in orders)
    if schema.identifier_field_ids:
        mapped["identifier-fields"] = f"[{','.join('.'.join(_path(i, names)) for i in schema.identifier_field_ids)}]"
    for key, value in mapped.items():
        # A parameter of the table's own wins over ours of the same name.
        shown[f"storage-{key}" if key in shown else key] = value
    return shown


def _order_text(field: _Field, names: Names) -> str:
    column = ".".join(_path(field.source, names))
    term = column if field.transform == "identity" else f"{field.transform}({column})"
    return f"{term} {field.direction.upper()} {field.null_order.replace('-', ' ').upper()}"


def _audit(metadata: Metadata) -> Audit:
    first = metadata.metadata_log[0].timestamp_ms if metadata.metadata_log else metadata.last_updated_ms
    changed = _stamp(metadata.last_updated_ms) if metadata.metadata_log else None
    return Audit(create_time=_stamp(first), last_modified_time=changed)


def _stamp(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
