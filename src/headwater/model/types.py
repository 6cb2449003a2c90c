"""Column types: one immutable class each, and their JSON form.

>>> to_json(Decimal(10, 2))
'decimal(10,2)'
>>> from_json("array<bigint>")
List(element=Long(signed=True), nullable=True)
>>> to_json(from_json("array<bigint>"))
{'type': 'list', 'containsNull': True, 'elementType': 'long'}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn

MAX_DEPTH = 64
"""How deep types may be nested."""

_MAX_LENGTH = 2**31 - 1
_WORD = re.compile(r"[\w./+-]+(:[\w./+-]+)*")


class Value:
    """An immutable object that is equal to, hashed and shown by what it holds."""

    # Not a dataclass: msgspec would then encode it by itself and never ask our hooks.

    def _hold(self, **parts: object) -> None:
        self.__dict__.update(parts)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} can't be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} can't be changed")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


class Type(Value):
    """Base of all types. `str` gives a short readable form, for simple types the wire form.

    >>> str(Map(String(), List(Integer())))
    'map<string,list<integer>>'
    """

    name: ClassVar[str]

    def __str__(self) -> str:
        return self.name

    def json(self) -> str | dict[str, Any]:
        """The wire form."""
        return str(self)


class _WholeNumber(Type):
    signed: bool

    def __init__(self, signed: bool = True) -> None:
        self._hold(signed=signed)

    def __str__(self) -> str:
        return self.name if self.signed else f"{self.name} unsigned"


class _Sized(Type):
    length: int

    def __init__(self, length: int) -> None:
        _check(f"the length of {self.name}", length, 1, _MAX_LENGTH)
        self._hold(length=length)

    def __str__(self) -> str:
        return f"{self.name}({self.length})"


class Boolean(Type):
    """True or false."""

    name = "boolean"


class Byte(_WholeNumber):
    """8 bits."""

    name = "byte"


class Short(_WholeNumber):
    """16 bits."""

    name = "short"


class Integer(_WholeNumber):
    """32 bits."""

    name = "integer"


class Long(_WholeNumber):
    """64 bits."""

    name = "long"


class Float(Type):
    """Floating point, 32 bits."""

    name = "float"


class Double(Type):
    """Floating point, 64 bits."""

    name = "double"


class Decimal(Type):
    """`precision` digits, `scale` of them behind the point."""

    name = "decimal"
    precision: int
    scale: int

    def __init__(self, precision: int, scale: int) -> None:
        _check("the precision of decimal", precision, 1, 38)
        _check("the scale of decimal", scale, 0, precision)
        self._hold(precision=precision, scale=scale)

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


class Date(Type):
    """A calendar day."""

    name = "date"


class Time(Type):
    """A time of day with `precision` digits of a second's fraction (None: the source's own)."""

    name = "time"
    precision: int | None

    def __init__(self, precision: int | None = None) -> None:
        _check_fraction(self.name, precision)
        self._hold(precision=precision)

    def __str__(self) -> str:
        return _with_fraction(self.name, self.precision)


class Timestamp(Type):
    """A point in time: on somebody's wall clock, or, `with_time_zone`, on everybody's."""

    name = "timestamp"
    precision: int | None
    with_time_zone: bool

    def __init__(self, precision: int | None = None, with_time_zone: bool = False) -> None:
        _check_fraction(self.name, precision)
        self._hold(precision=precision, with_time_zone=with_time_zone)

    def __str__(self) -> str:
        return _with_fraction("timestamp_tz" if self.with_time_zone else "timestamp", self.precision)


class String(Type):
    """Text of any length."""

    name = "string"


class Char(_Sized):
    """Text of exactly this length."""

    name = "char"


class VarChar(_Sized):
    """Text up to this length."""

    name = "varchar"


class Fixed(_Sized):
    """Exactly this many bytes."""

    name = "fixed"


class Binary(Type):
    """Bytes, any number."""

    name = "binary"


class Uuid(Type):
    """A UUID."""

    name = "uuid"


class IntervalYear(Type):
    """Years and months."""

    name = "interval_year"


class IntervalDay(Type):
    """Days, hours, minutes and seconds."""

    name = "interval_day"


class Null(Type):
    """The type of NULL; a column's type is not known yet."""

    name = "null"


class Variant(Type):
    """Semi-structured data."""

    name = "variant"


class Geometry(Type):
    """Shapes on a plane."""

    name = "geometry"
    DEFAULT_CRS: ClassVar[str] = "OGC:CRS84"
    crs: str

    def __init__(self, crs: str = DEFAULT_CRS) -> None:
        _check_word("the coordinate system of geometry", crs)
        self._hold(crs=crs)

    def __str__(self) -> str:
        return self.name if self == Geometry() else f"geometry({self.crs})"


class Geography(Type):
    """Shapes on the globe, whose edges are computed by `algorithm`."""

    name = "geography"
    crs: str
    algorithm: str

    def __init__(self, crs: str = Geometry.DEFAULT_CRS, algorithm: str = "spherical") -> None:
        _check_word("the coordinate system of geography", crs)
        _check_word("the algorithm of geography", algorithm)
        self._hold(crs=crs, algorithm=algorithm)

    def __str__(self) -> str:
        return self.name if self == Geography() else f"geography({self.crs},{self.algorithm})"


class StructField(Value):
    """One field of a `Struct`."""

    name: str
    type: Type
    nullable: bool
    comment: str | None

    def __init__(self, name: str, type: Type, nullable: bool = True, comment: str | None = None) -> None:  # noqa: A002
        if not name:
            raise ValueError("a struct's field must have a name")
        self._hold(name=name, type=type, nullable=nullable, comment=comment)

    def json(self) -> dict[str, Any]:
        """The wire form."""
        shown = {"name": self.name, "type": self.type.json(), "nullable": self.nullable}
        return shown if self.comment is None else {**shown, "comment": self.comment}


class Struct(Type):
    """Named fields, at least one."""

    name = "struct"
    fields: tuple[StructField, ...]

    def __init__(self, fields: Iterable[StructField]) -> None:
        fields = tuple(fields)
        if not fields:
            raise ValueError("a struct must have at least one field")
        self._hold(fields=fields)

    def __str__(self) -> str:
        return f"struct<{','.join(f'{f.name}:{f.type}' for f in self.fields)}>"

    def json(self) -> dict[str, Any]:
        return {"type": self.name, "fields": [f.json() for f in self.fields]}


class List(Type):
    """Any number of elements of one type."""

    name = "list"
    element: Type
    nullable: bool

    def __init__(self, element: Type, nullable: bool = True) -> None:
        self._hold(element=element, nullable=nullable)

    def __str__(self) -> str:
        return f"list<{self.element}>"

    def json(self) -> dict[str, Any]:
        return {"type": self.name, "containsNull": self.nullable, "elementType": self.element.json()}


class Map(Type):
    """Keys, each with a value."""

    name = "map"
    key: Type
    value: Type
    value_nullable: bool

    def __init__(self, key: Type, value: Type, value_nullable: bool = True) -> None:
        self._hold(key=key, value=value, value_nullable=value_nullable)

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"

    def json(self) -> dict[str, Any]:
        types = {"keyType": self.key.json(), "valueType": self.value.json()}
        return {"type": self.name, "valueContainsNull": self.value_nullable, **types}


class Union(Type):
    """A value of one of these types, at least one (Hive's `uniontype`)."""

    name = "union"
    types: tuple[Type, ...]

    def __init__(self, types: Iterable[Type]) -> None:
        types = tuple(types)
        if not types:
            raise ValueError("a union must have at least one type")
        self._hold(types=types)

    def __str__(self) -> str:
        return f"union<{','.join(map(str, self.types))}>"

    def json(self) -> dict[str, Any]:
        return {"type": self.name, "types": [t.json() for t in self.types]}


class External(Type):
    """A type that only its own catalog knows, in that catalog's words."""

    name = "external"
    catalog_string: str

    def __init__(self, catalog_string: str) -> None:
        self._hold(catalog_string=catalog_string)

    def __str__(self) -> str:
        return self.catalog_string

    def json(self) -> dict[str, Any]:
        return {"type": self.name, "catalogString": self.catalog_string}


class Unparsed(Type):
    """A type that the one who wrote it could not parse."""

    name = "unparsed"
    text: str

    def __init__(self, text: str) -> None:
        self._hold(text=text)

    def __str__(self) -> str:
        return self.text

    def json(self) -> dict[str, Any]:
        return {"type": self.name, "unparsedType": self.text}


def to_json(type_: Type) -> str | dict[str, Any]:
    """The wire form of a type."""
    return type_.json()


def from_json(value: object) -> Type:
    """The type with this wire form or SQL name, in any case; ValueError says what is wrong with it.

    >>> from_json("TIMESTAMP(3) WITH TIME ZONE")
    Timestamp(precision=3, with_time_zone=True)
    """
    # Reading builds on the classes above.
    from headwater.model.typejson import read_type

    return read_type(value)


def _check(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{what} must be from {low} to {high}, not {value}")


def _check_fraction(name: str, precision: int | None) -> None:
    if precision is not None:
        _check(f"the precision of {name}", precision, 0, 12)


def _with_fraction(name: str, precision: int | None) -> str:
    return name if precision is None else f"{name}({precision})"


def _check_word(what: str, word: str) -> None:
    if _WORD.fullmatch(word) is None:
        raise ValueError(f"{what} must be made of letters, digits and _ . / + - (and : between them), not {word!r}")
