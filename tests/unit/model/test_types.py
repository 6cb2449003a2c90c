"""Every name of a type, its limits, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.model import types as t
from headwater.model.types import from_json, to_json

S = t.String()
I = t.Integer()  # noqa: E741

WIRE: dict[str, t.Type] = {
    "boolean": t.Boolean(),
    "byte": t.Byte(),
    "byte unsigned": t.Byte(signed=False),
    "short": t.Short(),
    "short unsigned": t.Short(signed=False),
    "integer": I,
    "integer unsigned": t.Integer(signed=False),
    "long": t.Long(),
    "long unsigned": t.Long(signed=False),
    "float": t.Float(),
    "double": t.Double(),
    "decimal(10,2)": t.Decimal(10, 2),
    "date": t.Date(),
    "time": t.Time(),
    "time(6)": t.Time(6),
    "timestamp": t.Timestamp(),
    "timestamp(0)": t.Timestamp(0),
    "timestamp_tz": t.Timestamp(with_time_zone=True),
    "timestamp_tz(12)": t.Timestamp(12, with_time_zone=True),
    "string": S,
    "char(3)": t.Char(3),
    "varchar(20)": t.VarChar(20),
    "fixed(16)": t.Fixed(16),
    "binary": t.Binary(),
    "uuid": t.Uuid(),
    "interval_year": t.IntervalYear(),
    "interval_day": t.IntervalDay(),
    "null": t.Null(),
    "variant": t.Variant(),
    "geometry": t.Geometry(),
    "geometry(EPSG:4326)": t.Geometry("EPSG:4326"),
    "geography": t.Geography(),
    "geography(srid:4326,karney)": t.Geography("srid:4326", "karney"),
}

SQL: dict[str, t.Type] = {
    "bool": t.Boolean(),
    "tinyint": t.Byte(),
    "tinyint unsigned": t.Byte(signed=False),
    "smallint": t.Short(),
    "int2": t.Short(),
    "smallint unsigned": t.Short(signed=False),
    "int": I,
    "mediumint": I,
    "int4": I,
    "int unsigned": t.Integer(signed=False),
    "bigint": t.Long(),
    "int8": t.Long(),
    "bigint  unsigned": t.Long(signed=False),
    "real": t.Float(),
    "float4": t.Float(),
    "double precision": t.Double(),
    "float8": t.Double(),
    "decimal": t.Decimal(10, 0),
    "decimal(5)": t.Decimal(5, 0),
    "decimal( 18 , 2 )": t.Decimal(18, 2),
    "numeric": t.Decimal(10, 0),
    "numeric(38,38)": t.Decimal(38, 38),
    "dec(4,1)": t.Decimal(4, 1),
    "time without time zone": t.Time(),
    "time(3) without time zone": t.Time(3),
    "timestamp(3)": t.Timestamp(3),
    "timestamp_ntz": t.Timestamp(),
    "timestamp without time zone": t.Timestamp(),
    "datetime": t.Timestamp(),
    "timestamptz": t.Timestamp(with_time_zone=True),
    "timestamptz(6)": t.Timestamp(6, with_time_zone=True),
    "timestamp_ltz": t.Timestamp(with_time_zone=True),
    "timestamp with time zone": t.Timestamp(with_time_zone=True),
    "timestamp(6) with time zone": t.Timestamp(6, with_time_zone=True),
    "timestamp with local time zone": t.Timestamp(with_time_zone=True),
    "text": S,
    "longtext": S,
    "clob": S,
    "varchar": S,
    "character varying": S,
    "char": t.Char(1),
    "character(2)": t.Char(2),
    "nchar(2)": t.Char(2),
    "character varying(20)": t.VarChar(20),
    "char varying(20)": t.VarChar(20),
    "nvarchar(20)": t.VarChar(20),
    "bytea": t.Binary(),
    "blob": t.Binary(),
    "bytes": t.Binary(),
    "varbinary": t.Binary(),
    "binary varying": t.Binary(),
    "binary(4)": t.Fixed(4),
    "interval year": t.IntervalYear(),
    "interval year to month": t.IntervalYear(),
    "interval day": t.IntervalDay(),
    "interval day to second": t.IntervalDay(),
    "void": t.Null(),
    "unknown": t.Null(),
    "array<int>": t.List(I),
    "array(int)": t.List(I),
    "list<int not null>": t.List(I, nullable=False),
    "map<string,int>": t.Map(S, I),
    "map(varchar, array(int))": t.Map(S, t.List(I)),
    "map<string,int not null>": t.Map(S, I, value_nullable=False),
    "struct<a:int,b:array<string>>": t.Struct([t.StructField("a", I), t.StructField("b", t.List(S))]),
    "row(a int, b varchar)": t.Struct([t.StructField("a", I), t.StructField("b", S)]),
    "struct<a: decimal(4,2) NOT NULL COMMENT 'it''s'>": t.Struct(
        [t.StructField("a", t.Decimal(4, 2), nullable=False, comment="it's")]
    ),
    'struct<`a b`:int, "c:d":int, e-f:int>': t.Struct([t.StructField(n, I) for n in ("a b", "c:d", "e-f")]),
    "struct<timestamp:timestamp with time zone>": t.Struct(
        [t.StructField("timestamp", t.Timestamp(with_time_zone=True))]
    ),
    "uniontype<int,string>": t.Union([I, S]),
    "array<geometry(OGC:CRS84)>": t.List(t.Geometry()),
    "geography(OGC:CRS83)": t.Geography("OGC:CRS83"),
}

NAMES = WIRE | SQL


@pytest.mark.parametrize("text", WIRE)
def test_wire_names(text: str) -> None:
    assert from_json(text) == WIRE[text]
    assert to_json(WIRE[text]) == text


@pytest.mark.parametrize("text", NAMES)
def test_names_in_any_case_and_place(text: str) -> None:
    type_ = NAMES[text]
    assert from_json(text) == type_
    assert from_json(f"ARRAY < {text} >") == t.List(type_)
    assert from_json({"type": "LIST", "elementType": text}) == t.List(type_)
    if not any(word in text for word in ("struct", "row", "geo")):  # names of fields and the like keep theirs
        assert from_json(text.upper().replace(" ", "\t ")) == type_


def test_case_is_kept_where_it_matters() -> None:
    assert from_json("STRUCT<Ab:INT>") == t.Struct([t.StructField("Ab", I)])
    assert from_json("GEOMETRY(Epsg:1)") == t.Geometry("Epsg:1")


def test_objects_are_written_in_order_with_all_flags() -> None:
    type_ = t.Struct([t.StructField("a", t.Map(S, t.Union([I])), comment="c"), t.StructField("b", t.List(S), False)])
    assert repr(to_json(type_)) == repr(
        {
            "type": "struct",
            "fields": [
                {
                    "name": "a",
                    "type": {
                        "type": "map",
                        "valueContainsNull": True,
                        "keyType": "string",
                        "valueType": {"type": "union", "types": ["integer"]},
                    },
                    "nullable": True,
                    "comment": "c",
                },
                {
                    "name": "b",
                    "type": {"type": "list", "containsNull": True, "elementType": "string"},
                    "nullable": False,
                },
            ],
        }
    )
    assert to_json(t.External("inet")) == {"type": "external", "catalogString": "inet"}
    assert to_json(t.Unparsed("x")) == {"type": "unparsed", "unparsedType": "x"}


REFUSED: list[tuple[Any, str]] = [
    ("bigin", "'bigin' is not a type; did you mean 'bigint'"),
    ("", "'' is not a type"),
    ("json", "'json' is not a type; allowed are"),
    ("int foo", "'int foo' is not a type: it should end before 'foo'"),
    ("int(11)", "int takes no arguments, not 1"),
    ("fixed", "fixed takes 1 argument, not 0"),
    ("decimal(1,2,3)", "decimal takes 0 to 2 arguments, not 3"),
    ("decimal(39,0)", "precision of decimal must be from 1 to 38, not 39"),
    ("decimal(0)", "precision of decimal must be from 1 to 38, not 0"),
    ("decimal(3,4)", "scale of decimal must be from 0 to 3, not 4"),
    ("decimal(a)", "must be a whole number, not 'a'"),
    ("decimal(10,-2)", "must be a whole number, not '-2'"),
    ("decimal()", "'decimal()' is not a type: ')' is missing before its end"),
    ("decimal(1 8)", "')' is missing before '8'"),
    ("decimal(10", "')' is missing before its end"),
    ("time(13)", "precision of time must be from 0 to 12"),
    ("timestamp_tz(13)", "precision of timestamp must be from 0 to 12"),
    ("timestamp with", "'timestamp with' is not a type"),
    ("char(0)", "length of char must be from 1"),
    ("varchar(2147483648)", "length of varchar must be from 1 to 2147483647"),
    ("varchar(٣)", "must be a whole number"),
    ("array", "'<' is missing before its end"),
    ("array<int", "'>' is missing before its end"),
    ("array<int)", "'>' is missing before ')'"),
    ("array<foo>", "'foo' is not a type"),
    ("map<int>", "',' is missing before '>'"),
    ("struct<>", "a struct's field has no name"),
    ("struct<a>", "'>' is not a type"),
    ("struct<a:int not>", "'null' is missing before '>'"),
    ("struct<``:int>", "must have a name"),
    ("geometry('x')", "coordinate system of geometry must be made of"),
    ("array<" * 100 + "int" + ">" * 100, "64 levels deep at most"),
    (" " * 300_000, "'' is not a type"),
    ("array<" * 100_000, "64 levels deep at most"),
    (None, "a type is a name or an object"),
    (5, "a type is a name or an object"),
    ([], "a type is a name or an object"),
    ({}, "`type`: None can't be written as an object; allowed are external, list"),
    ({"type": "long"}, "`type`: 'long' can't be written as an object"),
    ({"type": "lst", "elementType": "int"}, "did you mean 'list'"),
    ({"type": "list"}, "`elementType`: missing"),
    ({"type": "list", "elementTyp": "int"}, "`elementTyp`: unknown field; did you mean 'elementType'"),
    ({"type": "list", "elementType": "int", "containsNull": 1}, "`containsNull`: must be true or false"),
    (
        {"type": "map", "keyType": "int", "valueType": {"type": "list", "elementType": "x"}},
        "`valueType.elementType`: 'x'",
    ),
    ({"type": "struct", "fields": []}, "at least one field"),
    ({"type": "struct", "fields": {}}, "`fields`: must be an array"),
    ({"type": "struct", "fields": ["int"]}, "`fields[0]`: a struct's field is an object"),
    ({"type": "struct", "fields": [{"name": "a", "type": "x"}]}, "`fields[0].type`: 'x' is not a type"),
    ({"type": "struct", "fields": [{"name": 1, "type": "int"}]}, "`fields[0].name`: must be a string"),
    ({"type": "union", "types": []}, "at least one type"),
    ({"type": "union", "types": ["int", "x"]}, "`types[1]`: 'x'"),
    ({"type": "external"}, "`catalogString`: missing"),
    ({"type": "unparsed", "unparsedType": None}, "`unparsedType`: must be a string"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=lambda v: str(v)[:40])
def test_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_json(value)
    assert message in str(caught.value)


@pytest.mark.parametrize("extra", [0, 1])
def test_depth_counts_through_objects_and_text(extra: int) -> None:
    value: Any = "array<" * (33 + extra) + "int" + ">" * (33 + extra)
    for _ in range(30):
        value = {"type": "list", "elementType": value}
    if extra:
        with pytest.raises(ValueError, match="64 levels deep"):
            from_json(value)
    else:
        assert from_json(value)
