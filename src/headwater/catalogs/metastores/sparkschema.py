"""The schema that Spark keeps in a table's parameters beside Hive's columns, in Spark's own JSON form.

For a table of one of Spark's data sources it is the truth, and Hive's columns may be a mere stand-in; for a Hive table
it repeats the columns with their case and nullability, and Spark drops it with a warning when the two disagree.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

from headwater.catalogs.metastores.entries import Entry
from headwater.model import types as t
from headwater.model.errors import IllegalArgumentError
from headwater.model.tables import Column

PREFIX = "spark.sql.sources."
PROVIDER = f"{PREFIX}provider"
SCHEMA = f"{PREFIX}schema"
_PARTS = f"{SCHEMA}.numParts"
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
_LONGEST = 4000
"""Characters of a parameter's value that every metastore's database takes."""

Fields = list[dict[str, Any]]

_PLAIN: dict[str, t.Type] = {
    "boolean": t.Boolean(),
    "byte": t.Byte(),
    "short": t.Short(),
    "integer": t.Integer(),
    "long": t.Long(),
    "float": t.Float(),
    "double": t.Double(),
    "string": t.String(),
    "binary": t.Binary(),
    "date": t.Date(),
    "timestamp": t.Timestamp(with_time_zone=True),
    "timestamp_ntz": t.Timestamp(),
    "interval year to month": t.IntervalYear(),
    "interval day to second": t.IntervalDay(),
    "void": t.Null(),
    "variant": t.Variant(),
}
_WRITTEN: dict[t.Type, str] = {**{known: name for name, known in _PLAIN.items()}, t.Timestamp(): "timestamp_ntz"}


def is_data_source(entry: Entry) -> bool:
    """Whether the table belongs to one of Spark's data sources, so that Spark reads it by this schema alone."""
    provider = entry.parameter(PROVIDER)
    return provider is not None and provider.lower() != "hive"


def read_fields(parameters: Mapping[str, str]) -> Fields | None:
    """The fields of the schema in a table's parameters; None if there is none or it can't be read."""
    text = parameters.get(SCHEMA)
    if text is None:
        parts = _numbered(parameters, f"{SCHEMA}.part")
        if not parts or str(len(parts)) != parameters.get(_PARTS):
            return None
        text = "".join(parts)
    try:
        fields = json.loads(text)["fields"]
        return fields if all(isinstance(f["name"], str) and "type" in f for f in fields) else None
    except (ValueError, LookupError, TypeError):
        return None


def write_fields(parameters: Mapping[str, str], fields: Fields) -> dict[str, str]:
    """The parameters with another schema in them, in one piece or in parts as it was."""
    text = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"), ensure_ascii=False)
    rest = {k: v for k, v in parameters.items() if k not in (SCHEMA, _PARTS) and not k.startswith(f"{SCHEMA}.part.")}
    if len(text) <= _LONGEST and _PARTS not in parameters:
        return {**rest, SCHEMA: text}
    parts = [text[i : i + _LONGEST] for i in range(0, len(text), _LONGEST)]
    numbered = {f"{SCHEMA}.part.{n}": part for n, part in enumerate(parts)}
    return {**rest, _PARTS: str(len(parts)), **numbered}


def listed(parameters: Mapping[str, str], count_key: str, key: str) -> list[str]:
    """Names that Spark numbers: `spark.sql.sources.schema.partCol.0`, ..., as many as `numPartCols` says."""
    found = _numbered(parameters, f"{SCHEMA}.{key}")
    return found if str(len(found)) == parameters.get(f"{SCHEMA}.{count_key}") else []


def _numbered(parameters: Mapping[str, str], prefix: str) -> list[str]:
    """The values of `prefix.0`, `prefix.1`, ...: those that are there, whatever count an entry claims."""
    numbered = (parameters.get(f"{prefix}.{n}") for n in itertools.count())
    return list(itertools.takewhile(lambda value: value is not None, numbered))  # type: ignore[arg-type]


def column(field: Mapping[str, Any]) -> Column:
    """The column that a field stands for."""
    metadata = field.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    declared = metadata.get(_DECLARED)
    type_ = _read(declared if isinstance(declared, str) else field["type"])
    return Column(field["name"], type_, metadata.get("comment"), field.get("nullable", True))


def field_of(name: str, type_: t.Type, comment: str | None, nullable: bool, where: str) -> dict[str, Any]:
    """The field that stands for a column."""
    metadata: dict[str, Any] = {} if comment is None else {"comment": comment}
    if isinstance(type_, t.Char | t.VarChar):
        metadata[_DECLARED] = str(type_)
    return {"name": name, "type": write_type(type_, where), "nullable": nullable, "metadata": metadata}


def retyped(field: Mapping[str, Any], type_: t.Type, where: str) -> dict[str, Any]:
    """The field with another type."""
    made = field_of(field["name"], type_, None, field.get("nullable", True), where)
    kept = {k: v for k, v in (field.get("metadata") or {}).items() if k != _DECLARED}
    return {**field, "type": made["type"], "metadata": {**kept, **made["metadata"]}}


def commented(field: Mapping[str, Any], comment: str) -> dict[str, Any]:
    """The field with another comment."""
    return {**field, "metadata": {**(field.get("metadata") or {}), "comment": comment}}


def _read(raw: Any) -> t.Type:
    """Our type for Spark's; one that we don't know, or can't make sense of, is served as it is."""
    try:
        return _known(raw)
    except (LookupError, TypeError, AttributeError, ValueError):
        return t.External(raw if isinstance(raw, str) else json.dumps(raw))


def _known(raw: Any) -> t.Type:
    if isinstance(raw, str):
        known = _PLAIN.get(raw)
        if known is not None:
            return known
        name, _, rest = raw.partition("(")
        return t.from_json(f"{name}({rest}") if name in ("decimal", "char", "varchar") else t.External(raw)
    kind = raw.get("type")
    if kind == "struct" and raw["fields"]:
        return t.Struct(_struct_field(f) for f in raw["fields"])
    if kind == "array":
        return t.List(_read(raw["elementType"]), raw.get("containsNull", True))
    if kind == "map":
        return t.Map(_read(raw["keyType"]), _read(raw["valueType"]), raw.get("valueContainsNull", True))
    return t.External(json.dumps(raw))


def _struct_field(raw: Mapping[str, Any]) -> t.StructField:
    found = column(raw)
    return t.StructField(found.name, found.type, found.nullable, found.comment)


def write_type(type_: t.Type, where: str) -> Any:
    """Spark's JSON form of a type."""
    match type_:
        case t.Struct():
            return {
                "type": "struct",
                "fields": [field_of(f.name, f.type, f.comment, f.nullable, f"{where}.{f.name}") for f in type_.fields],
            }
        case t.List():
            element = write_type(type_.element, f"{where}.element")
            return {"type": "array", "elementType": element, "containsNull": type_.nullable}
        case t.Map():
            key, value = write_type(type_.key, f"{where}.key"), write_type(type_.value, f"{where}.value")
            return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": type_.value_nullable}
        case t.Decimal():
            return str(type_)
        case t.Char() | t.VarChar():
            return "string"
        case t.Timestamp():
            return "timestamp" if type_.with_time_zone else "timestamp_ntz"
        case t.External():
            return _external(type_, where)
    name = _WRITTEN.get(type_)
    if name is None:
        raise IllegalArgumentError(f"{where}: Spark's tables have no type {type_}")
    return name


def _external(type_: t.External, where: str) -> Any:
    """A type that we read as Spark wrote it goes back as it was."""
    text = type_.catalog_string
    try:
        return json.loads(text) if text.startswith("{") else text
    except ValueError:
        raise IllegalArgumentError(f"{where}: Spark's tables have no type {text}") from None
