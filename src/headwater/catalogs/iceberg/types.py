"""Iceberg's types to ours and back, on Iceberg's own JSON form: no library of its is needed to read.

Iceberg has no varchar and no char. A field declared so becomes a string, and a note in the table's properties keeps
the declared type; it counts as long as the field is a string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from headwater.catalogs.iceberg.properties import TYPE_NOTE
from headwater.model import types as t
from headwater.model.errors import IllegalArgumentError

_PLAIN: dict[str, t.Type] = {
    "boolean": t.Boolean(),
    "int": t.Integer(),
    "long": t.Long(),
    "float": t.Float(),
    "double": t.Double(),
    "date": t.Date(),
    "time": t.Time(6),
    "timestamp": t.Timestamp(6),
    "timestamptz": t.Timestamp(6, with_time_zone=True),
    "timestamp_ns": t.Timestamp(9),
    "timestamptz_ns": t.Timestamp(9, with_time_zone=True),
    "string": t.String(),
    "uuid": t.Uuid(),
    "binary": t.Binary(),
    "unknown": t.Null(),
    "variant": t.Variant(),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_FIXED = re.compile(r"fixed\[(\d+)\]")
_GEO = re.compile(r"(geometry|geography)(?:\(([^,)]*)(?:,\s*([^)]*))?\))?")

Notes = Mapping[str, str]


def read(raw: Any, field_id: int, notes: Notes) -> t.Type:
    """Our type for Iceberg's; one that we don't know is served as it is."""
    if isinstance(raw, str):
        return _read_plain(raw, field_id, notes)
    kind = raw.get("type")
    if kind == "struct" and raw["fields"]:
        return t.Struct([read_field(f, notes) for f in raw["fields"]])
    if kind == "list":
        return t.List(read(raw["element"], raw["element-id"], notes), not raw["element-required"])
    if kind == "map":
        key, value = read(raw["key"], raw["key-id"], notes), read(raw["value"], raw["value-id"], notes)
        return t.Map(key, value, not raw["value-required"])
    return t.External(json.dumps(raw))


def read_field(raw: Mapping[str, Any], notes: Notes) -> t.StructField:
    """Our field for Iceberg's."""
    type_ = read(raw["type"], raw["id"], notes)
    return t.StructField(raw["name"], type_, not raw.get("required", False), raw.get("doc"))


def _read_plain(raw: str, field_id: int, notes: Notes) -> t.Type:
    if raw == "string" and (note := notes.get(f"{TYPE_NOTE}{field_id}")) is not None:
        return _declared(note)
    known = _PLAIN.get(raw)
    if known is not None:
        return known
    if match := _DECIMAL.fullmatch(raw):
        return t.Decimal(int(match[1]), int(match[2]))
    if match := _FIXED.fullmatch(raw):
        return t.Fixed(int(match[1]))
    if match := _GEO.fullmatch(raw):
        if match[1] == "geometry":
            return t.Geometry(match[2]) if match[2] else t.Geometry()
        return t.Geography(match[2], match[3] or "spherical") if match[2] else t.Geography()
    return t.External(raw)


def _declared(note: str) -> t.Type:
    try:
        found = t.from_json(note)
    except ValueError:
        return t.String()
    return found if isinstance(found, t.VarChar | t.Char) else t.String()


class Writer:
    """Makes Iceberg's JSON form of our types, numbers the fields, and collects the notes."""

    def __init__(self, next_id: Callable[[], int]) -> None:
        self._next_id = next_id
        self.notes: dict[str, str] = {}

    def write(self, type_: t.Type, where: str, field_id: int) -> Any:
        """Iceberg's type for ours, or an error that names the field and what to use instead."""
        match type_:
            case t.Struct():
                return {"type": "struct", "fields": self._fields(type_, where)}
            case t.List():
                inner = self._next_id()
                element = self.write(type_.element, f"{where}.element", inner)
                return {"type": "list", "element-id": inner, "element": element, "element-required": not type_.nullable}
            case t.Map():
                key_id, value_id = self._next_id(), self._next_id()
                return {
                    "type": "map",
                    "key-id": key_id,
                    "key": self.write(type_.key, f"{where}.key", key_id),
                    "value-id": value_id,
                    "value": self.write(type_.value, f"{where}.value", value_id),
                    "value-required": not type_.value_nullable,
                }
            case t.VarChar() | t.Char():
                self.notes[f"{TYPE_NOTE}{field_id}"] = str(t.to_json(type_))
                return "string"
        return write_plain(type_, where)

    def _fields(self, struct: t.Struct, where: str) -> list[dict[str, Any]]:
        seen: set[str] = set()
        for field in struct.fields:
            if field.name.lower() in seen:
                raise IllegalArgumentError(f"{where}: the field {field.name!r} is there twice")
            seen.add(field.name.lower())
        # All fields of a struct are numbered before what is inside of them, as Iceberg itself does it.
        numbered = [(self._next_id(), f) for f in struct.fields]
        return [self.field(f.name, f.type, f.nullable, f.comment, f"{where}.{f.name}", i) for i, f in numbered]

    def field(
        self, name: str, type_: t.Type, nullable: bool, comment: str | None, where: str, field_id: int
    ) -> dict[str, Any]:
        """Iceberg's field for ours."""
        raw = {"id": field_id, "name": name, "required": not nullable, "type": self.write(type_, where, field_id)}
        return raw if comment is None else {**raw, "doc": comment}


_INSTEAD = {t.Byte: "integer", t.Short: "integer", t.IntervalYear: "string", t.IntervalDay: "string"}


def write_plain(type_: t.Type, where: str) -> str:
    """Iceberg's name of a type without parts."""
    if isinstance(type_, t.Unparsed):
        return write_plain(_reparsed(type_, where), where)
    name = _plain_name(type_)
    if name is None:
        hint = f"; use {_INSTEAD[type(type_)]}" if type(type_) in _INSTEAD else ""
        raise IllegalArgumentError(f"{where}: Iceberg has no type {t.to_json(type_)}{hint}")
    return name


def _plain_name(type_: t.Type) -> str | None:
    match type_:
        case t.Integer() | t.Long():
            return ("int" if isinstance(type_, t.Integer) else "long") if type_.signed else None
        case t.Decimal():
            return f"decimal({type_.precision}, {type_.scale})"
        case t.Fixed():
            return f"fixed[{type_.length}]"
        case t.Time():
            return "time" if type_.precision in (None, 6) else None
        case t.Timestamp():
            zone = "tz" if type_.with_time_zone else ""
            # Iceberg keeps microseconds: a coarser precision fits in, as in every engine.
            if type_.precision is None or type_.precision <= 6:
                return f"timestamp{zone}"
            return f"timestamp{zone}_ns" if type_.precision <= 9 else None
        case t.Geometry() | t.Geography():
            return str(t.to_json(type_))
        case t.External():
            return type_.catalog_string
    return next((name for name, known in _PLAIN.items() if known == type_), None)


def _reparsed(type_: t.Unparsed, where: str) -> t.Type:
    """Older clients send back what they could not read: it may well be a type that we know."""
    try:
        return t.from_json(type_.text)
    except ValueError as e:
        raise IllegalArgumentError(f"{where}: {e}") from None
