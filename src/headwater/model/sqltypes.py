"""Reads types from text: the wire's names of simple types and SQL's names of all, in any case.

A small recursive descent parser:

    type   = nested | name [ "(" argument { "," argument } ")" ] [ rest of name ]
    nested = ("array" | "list") "<" part ">"  |  "map" "<" part "," part ">"
           | ("struct" | "row") "<" field { "," field } ">"  |  ("union" | "uniontype") "<" type { "," type } ">"
             (parentheses do as well as angle brackets)
    field  = name [ ":" ] part [ "comment" string ]
    part   = type [ "not" "null" ]

>>> parse("struct<id: bigint NOT NULL, tags: array<varchar(20)>>").json()["fields"][0]
{'name': 'id', 'type': 'long', 'nullable': False}
>>> parse("bigin")
Traceback (most recent call last):
    ...
ValueError: 'bigin' is not a type; did you mean 'bigint'?
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from headwater.model import types as t

# A quoted name or string; or a word: whatever stands between delimiters; or one delimiter.
_TOKEN = re.compile(r"""`(?:[^`]|``)*`|'(?:[^']|'')*'|"(?:[^"]|"")*"|[^\s<>(),:"'`]+|\S""")
_QUOTES = ("'", '"', "`")
_Part = TypeVar("_Part")


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: what was meant, or all that is known.

    >>> nearest("nwName", ["newName", "property"])
    "did you mean 'newName'?"
    >>> nearest("x", ["newName", "property"])
    'allowed are newName, property'
    """
    names = sorted(set(known))
    close = difflib.get_close_matches(word[:64], names, n=2)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"allowed are {', '.join(names)}" if names else "none is allowed"


def check_depth(depth: int) -> None:
    """Refuse types nested deeper than `MAX_DEPTH`."""
    if depth > t.MAX_DEPTH:
        raise ValueError(f"types may be nested {t.MAX_DEPTH} levels deep at most")


def parse(text: str, depth: int = 1) -> t.Type:
    """The type of this name, itself `depth` levels deep; ValueError if there is none."""
    reader = _Reader(text)
    result = reader.type(depth)
    if reader.peek():
        raise ValueError(f"{_short(text)} is not a type: it should end before {_short(reader.peek())}")
    return result


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise ValueError(f"a type's argument must be a whole number, not {_short(text)}")
    return int(text)


def _optional(text: str | None) -> int | None:
    return None if text is None else _number(text)


def _decimal(precision: str = "10", scale: str = "0") -> t.Type:
    return t.Decimal(_number(precision), _number(scale))


def _time(precision: str | None = None) -> t.Type:
    return t.Time(_optional(precision))


def _timestamp(precision: str | None = None) -> t.Type:
    return t.Timestamp(_optional(precision))


def _timestamp_tz(precision: str | None = None) -> t.Type:
    return t.Timestamp(_optional(precision), with_time_zone=True)


def _char(length: str = "1") -> t.Type:
    return t.Char(_number(length))


def _varchar(length: str | None = None) -> t.Type:
    return t.String() if length is None else t.VarChar(_number(length))


def _fixed(length: str) -> t.Type:
    return t.Fixed(_number(length))


def _binary(length: str | None = None) -> t.Type:
    return t.Binary() if length is None else _fixed(length)


_PLAIN: dict[t.Type, str] = {
    t.Boolean(): "boolean, bool",
    t.Byte(): "byte, tinyint",
    t.Byte(signed=False): "byte unsigned, tinyint unsigned",
    t.Short(): "short, smallint, int2",
    t.Short(signed=False): "short unsigned, smallint unsigned",
    t.Integer(): "integer, int, mediumint, int4",
    t.Integer(signed=False): "integer unsigned, int unsigned, mediumint unsigned",
    t.Long(): "long, bigint, int8",
    t.Long(signed=False): "long unsigned, bigint unsigned",
    t.Float(): "float, real, float4",
    t.Double(): "double, double precision, float8",
    t.Date(): "date",
    t.String(): "string, text, tinytext, mediumtext, longtext, clob",
    t.Binary(): "varbinary, binary varying, bytes, bytea, blob, tinyblob, mediumblob, longblob",
    t.Uuid(): "uuid",
    t.IntervalYear(): "interval_year, interval year, interval month, interval year to month",
    t.IntervalDay(): "interval_day, interval day, interval day to second",
    t.Null(): "null, void, unknown",
    t.Variant(): "variant",
}
# What makes the type, and from how many arguments: at least, at most.
_Rule = tuple[Callable[..., t.Type], int, int]
_WITH_ARGUMENTS: dict[str, _Rule] = {
    "decimal, numeric, dec": (_decimal, 0, 2),
    "time, time without time zone": (_time, 0, 1),
    "timestamp, timestamp_ntz, timestamp without time zone, datetime": (_timestamp, 0, 1),
    "timestamp_tz, timestamptz, timestamp_ltz": (_timestamp_tz, 0, 1),
    "timestamp with time zone, timestamp with local time zone": (_timestamp_tz, 0, 1),
    "char, character, nchar": (_char, 0, 1),
    "varchar, nvarchar, char varying, character varying": (_varchar, 0, 1),
    "fixed": (_fixed, 1, 1),
    "binary": (_binary, 0, 1),
    "geometry": (t.Geometry, 0, 1),
    "geography": (t.Geography, 0, 2),
}


def _rules() -> Iterator[tuple[str, _Rule]]:
    for type_, names in _PLAIN.items():
        for name in names.split(", "):
            yield name, (lambda same=type_: same, 0, 0)
    for names, rule in _WITH_ARGUMENTS.items():
        for name in names.split(", "):
            yield name, rule


_RULES = dict(_rules())
# Every beginning of a name of several words, so that the reader knows whether the next word belongs to it.
_BEGINNINGS = {" ".join(words[:n]) for words in map(str.split, _RULES) for n in range(2, len(words) + 1)}


class _Reader:
    """The tokens of a text and how far they have been read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._next = 0

    def peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self._next += 1
        return token

    def skip(self, token: str) -> bool:
        found = self.peek().lower() == token
        self._next += found
        return found

    def need(self, token: str) -> None:
        if not self.skip(token):
            found = _short(self.peek()) if self.peek() else "its end"
            raise ValueError(f"{_short(self._text)} is not a type: {token!r} is missing before {found}")

    def type(self, depth: int) -> t.Type:
        check_depth(depth)
        name = self._name(self.take().lower())
        nested = _NESTED.get(name)
        if nested is None:
            arguments = self._arguments()
            return self._make(self._name(name), arguments)
        close = ")" if self.skip("(") else ">"
        if close == ">":
            self.need("<")
        result = nested(self, depth + 1)
        self.need(close)
        return result

    def _name(self, name: str) -> str:
        while (longer := f"{name} {self.peek().lower()}") in _BEGINNINGS:
            name = longer
            self.take()
        return name

    def _arguments(self) -> list[str]:
        if not self.skip("("):
            return []
        arguments = [self._argument()]
        while self.skip(","):
            arguments.append(self._argument())
        self.need(")")
        return arguments

    def _argument(self) -> str:
        argument = self.take()
        while self.skip(":"):  # coordinate systems have colons: `OGC:CRS84`
            argument += f":{self.take()}"
        return argument

    def _make(self, name: str, arguments: list[str]) -> t.Type:
        if name not in _RULES:
            raise ValueError(f"{_short(name)} is not a type; {nearest(name, (*_RULES, *_NESTED))}")
        make, least, most = _RULES[name]
        if not least <= len(arguments) <= most:
            allowed = str(most or "no") if least == most else f"{least} to {most}"
            raise ValueError(f"{name} takes {allowed} argument{'s' * (most != 1)}, not {len(arguments)}")
        return make(*arguments)

    def list(self, depth: int) -> t.Type:
        return t.List(self.type(depth), self._nullable())

    def map(self, depth: int) -> t.Type:
        key = self.type(depth)
        self.need(",")
        return t.Map(key, self.type(depth), self._nullable())

    def struct(self, depth: int) -> t.Type:
        return t.Struct(self._several(self._field, depth))

    def union(self, depth: int) -> t.Type:
        return t.Union(self._several(self.type, depth))

    def _several(self, one: Callable[[int], _Part], depth: int) -> Iterator[_Part]:
        yield one(depth)
        while self.skip(","):
            yield one(depth)

    def _field(self, depth: int) -> t.StructField:
        name = self.take()
        if name in ("", *"<>(),:"):
            raise ValueError(f"{_short(self._text)} is not a type: a struct's field has no name")
        self.skip(":")
        type_, nullable = self.type(depth), self._nullable()
        comment = _unquote(self.take()) if self.skip("comment") else None
        return t.StructField(_unquote(name), type_, nullable, comment)

    def _nullable(self) -> bool:
        if not self.skip("not"):
            return True
        self.need("null")
        return False


_NESTED: dict[str, Callable[[_Reader, int], t.Type]] = {
    "array": _Reader.list,
    "list": _Reader.list,
    "map": _Reader.map,
    "struct": _Reader.struct,
    "row": _Reader.struct,
    "union": _Reader.union,
    "uniontype": _Reader.union,
}


def _unquote(token: str) -> str:
    quote = token[:1]
    return token[1:-1].replace(quote * 2, quote) if quote in _QUOTES and len(token) > 1 else token


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
