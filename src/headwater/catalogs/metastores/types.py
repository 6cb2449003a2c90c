"""Hive's type strings to our types and back.

>>> str(read("map<string,struct<a:int,b:array<decimal(10,2)>>>"))
'map<string,struct<a:integer,b:list<decimal(10,2)>>>'
>>> write(read("uniontype<int,varchar(20)>"), "columns[0].type")
'uniontype<int,varchar(20)>'
"""

from __future__ import annotations

import functools
import re

from headwater.model import sqltypes
from headwater.model import types as t
from headwater.model.errors import IllegalArgumentError

_PLAIN: dict[t.Type, str] = {
    t.Boolean(): "boolean",
    t.Byte(): "tinyint",
    t.Short(): "smallint",
    t.Integer(): "int",
    t.Long(): "bigint",
    t.Float(): "float",
    t.Double(): "double",
    t.String(): "string",
    t.Binary(): "binary",
    t.Date(): "date",
    t.IntervalYear(): "interval_year_month",
    t.IntervalDay(): "interval_day_time",
    t.Null(): "void",
}
_ONLY_HIVE = {
    "interval_year_month": t.IntervalYear(),
    "interval_day_time": t.IntervalDay(),
    "timestamplocaltz": t.Timestamp(with_time_zone=True),
}
_INSTEAD = {t.Time: "string", t.Uuid: "string", t.Fixed: "binary", t.Variant: "string"}
_FIELD_NAME = re.compile(r"[\w .$]+")
"""What Hive's own parser takes for the name of a struct's field."""


@functools.lru_cache(maxsize=4096)
def read(text: str) -> t.Type:
    """Our type for Hive's; one that we don't know is served as it is."""
    known = _ONLY_HIVE.get(text.strip().lower())
    if known is not None:
        return known
    try:
        return sqltypes.parse(text)
    except ValueError:
        return t.External(text)


def write(type_: t.Type, where: str) -> str:
    """Hive's type string for ours, or an error that names the field and what to use instead."""
    match type_:
        case t.Struct():
            return f"struct<{','.join(_field(f, where) for f in type_.fields)}>"
        case t.List():
            return f"array<{write(type_.element, f'{where}.element')}>"
        case t.Map():
            return f"map<{write(type_.key, f'{where}.key')},{write(type_.value, f'{where}.value')}>"
        case t.Union():
            return f"uniontype<{','.join(write(one, where) for one in type_.types)}>"
        case t.External():
            return type_.catalog_string
        case t.Unparsed():
            return _unparsed(type_, where)
    name = _plain(type_)
    if name is None:
        hint = f"; use {_INSTEAD[type(type_)]}" if type(type_) in _INSTEAD else ""
        raise IllegalArgumentError(f"{where}: Hive-style tables have no type {type_}{hint}")
    return name


def _plain(type_: t.Type) -> str | None:
    match type_:
        case t.Decimal() | t.Char() | t.VarChar():
            return str(type_)
        case t.Timestamp() if type_.precision is None or type_.precision <= 9:
            return "timestamp with local time zone" if type_.with_time_zone else "timestamp"
    return _PLAIN.get(type_)


def _field(field: t.StructField, where: str) -> str:
    inner = f"{where}.{field.name}"
    if _FIELD_NAME.fullmatch(field.name) is None:
        raise IllegalArgumentError(f"{inner}: a struct's field may have letters, digits, '_', '.', '$' and blanks only")
    if field.comment is not None:
        raise IllegalArgumentError(f"{inner}: Hive-style tables keep no comments of a struct's fields")
    return f"{field.name}:{write(field.type, inner)}"


def _unparsed(type_: t.Unparsed, where: str) -> str:
    """Older clients send back what they could not read: it may well be a type that we know."""
    try:
        return write(t.from_json(type_.text), where)
    except ValueError as e:
        raise IllegalArgumentError(f"{where}: {e}") from None
