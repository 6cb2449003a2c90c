"""Tables as text: what the command line reads, and that what it shows can be read again."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Callable
from typing import Any

import pytest

from headwater.cli import columns as c
from headwater.cli import describe
from headwater.client._decode import decode
from headwater.model import Column, Distribution, SortOrder, Table


@pytest.mark.parametrize("name", ["columns", "describe", "options", "output"])
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"headwater.cli.{name}"))
    assert result.attempted and not result.failed


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("a", ["a"]),
        (" a , b ,, ", ["a", "b"]),
        ("f(a,b),c<d,e<f,g>>", ["f(a,b)", "c<d,e<f,g>>"]),
        ("'a,b','it''s, so',\"x,y\",`p,q`", ["'a,b'", "'it''s, so'", '"x,y"', "`p,q`"]),
        ("'(', a", ["'('", "a"]),
    ],
)
def test_split(text: str, parts: list[str]) -> None:
    assert c.split(text) == parts


STRUCT = "struct<a: int not null, b: string comment 'x, y'>"


@pytest.mark.parametrize(
    ("text", "type_", "rest"),
    [
        ("x bigint", "bigint", {}),
        ("x  bigint\n NOT  NULL", "bigint", {"nullable": False}),
        ("x bigint null", "bigint", {"nullable": True}),
        ("x null", "null", {}),
        ("x decimal (10, 2)", "decimal (10, 2)", {}),
        ("x timestamp (3) with time zone not null", "timestamp (3) with time zone", {"nullable": False}),
        ("x double precision comment word", "double precision", {"comment": "word"}),
        (f"x {STRUCT}", STRUCT, {}),
        ("x int comment 'it''s; (fine'", "int", {"comment": "it's; (fine"}),
        ("x int auto_increment", "int", {"autoIncrement": True}),
        ("x int first", "int", {"position": "first"}),
        ("x int not null after `y z`", "int", {"nullable": False, "position": {"after": "y z"}}),
    ],
)
def test_column(text: str, type_: str, rest: dict[str, Any]) -> None:
    assert c.parse_column(text) == {"name": "x", "type": type_, **rest}


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ("int default 5", {"type": "literal", "dataType": "int", "value": "5"}),
        ("string default 'a b' not null", {"type": "literal", "dataType": "string", "value": "a b"}),
        ("int default NULL", {"type": "literal", "dataType": "null", "value": "NULL"}),
        ("date default today()", {"type": "function", "funcName": "today", "funcArgs": []}),
    ],
)
def test_default_values(text: str, default: dict[str, Any]) -> None:
    assert c.parse_column(f"x {text}")["defaultValue"] == default


@pytest.mark.parametrize(("text", "name"), [("`a b` int", "a b"), ('"a.b" int', "a.b"), ("comment int", "comment")])
def test_names_of_columns(text: str, name: str) -> None:
    assert c.parse_column(text) == {"name": name, "type": "int"}


def test_columns() -> None:
    assert [x["name"] for x in c.parse_columns("id bigint, m map<string,array<int>> not null, `a,b` int")] == [
        "id",
        "m",
        "a,b",
    ]


CSV = """Name, Datatype, Comment, Nullable, AutoIncrement, DefaultValue, DefaultType
id,bigint,the key,false,true,,
"price","decimal(10,2)","net, of tax",TRUE,,1.50,
at,timestamp,,,,now(),
"""


def test_columns_of_a_csv_file() -> None:
    found = c.parse_columns_file(CSV)
    assert found[0] == {"name": "id", "type": "bigint", "comment": "the key", "nullable": False, "autoIncrement": True}
    literal = {"type": "literal", "dataType": "decimal(10,2)", "value": "1.50"}
    assert found[1] == {
        "name": "price", "type": "decimal(10,2)", "comment": "net, of tax", "nullable": True, "defaultValue": literal,
    }  # fmt: skip
    assert found[2]["defaultValue"]["funcName"] == "now" and "nullable" not in found[2]


def test_columns_of_a_json_file() -> None:
    assert c.parse_columns_file(' [{"name": "id", "type": "long"}]') == [{"name": "id", "type": "long"}]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("region", {"strategy": "identity", "fieldName": ["region"]}),
        ("address.city", {"strategy": "identity", "fieldName": ["address", "city"]}),
        ("`a.b`", {"strategy": "identity", "fieldName": ["a.b"]}),
        ("DAY( ts )", {"strategy": "day", "fieldName": ["ts"]}),
        ("bucket(16, id, region)", {"strategy": "bucket", "numBuckets": 16, "fieldNames": [["id"], ["region"]]}),
        ("truncate(10,name)", {"strategy": "truncate", "width": 10, "fieldName": ["name"]}),
        ("list(a, b)", {"strategy": "list", "fieldNames": [["a"], ["b"]]}),
        ("range(a)", {"strategy": "range", "fieldName": ["a"]}),
    ],
)
def test_partitioning(text: str, found: dict[str, Any]) -> None:
    assert c.parse_partitioning(text) == [found]


def test_sort_orders() -> None:
    found = c.parse_sort_orders("id DESC nulls first, bucket(4, a.b), `x y` asc")
    bucket = [{"type": "literal", "dataType": "integer", "value": "4"}, {"type": "field", "fieldName": ["a", "b"]}]
    assert found == [
        {"sortTerm": {"type": "field", "fieldName": ["id"]}, "direction": "desc", "nullOrdering": "nulls_first"},
        {"sortTerm": {"type": "function", "funcName": "bucket", "funcArgs": bucket}},
        {"sortTerm": {"type": "field", "fieldName": ["x y"]}, "direction": "asc"},
    ]


@pytest.mark.parametrize("text", ["none", "range", "even"])
def test_distribution_without_columns(text: str) -> None:
    assert c.parse_distribution(text) == {"strategy": text, "number": 0, "funcArgs": []}


REFUSED: list[tuple[Callable[[str], Any], str, str]] = [
    (c.parse_columns, "id", "write it like 'id bigint not null'"),
    (c.parse_columns, "id bigint not", "'not' must be followed by 'null'"),
    (c.parse_columns, "id bigint not here", "'not' must be followed by 'null'"),
    (c.parse_columns, "id bigint comment", "'comment' must be followed by a value"),
    (c.parse_columns, "id bigint not null unique", "'unique' is not expected; after the type come not, null"),
    (c.parse_columns, "id bigint, (x", "a bracket is not closed"),
    (c.parse_columns, "id bigint)", "closes nothing"),
    (c.parse_columns, "id bigint comment 'x", "a quote is not closed"),
    (c.parse_columns, "id bigint first", "columns come in the order in which they are written"),
    (c.parse_columns_file, "[{]", "not JSON"),
    (c.parse_columns_file, "", "the first line must name the fields"),
    (c.parse_columns_file, "Name,Comment\nid,x", "at least Name and Datatype"),
    (c.parse_columns_file, "Name,Datatyp\nid,int", "did you mean 'datatype'"),
    (c.parse_columns_file, "Name,Datatype,Colour\nid,int,red", "allowed are Name, Datatype"),
    (c.parse_columns_file, "Name,Datatype,Nullable\nid,int,perhaps", "neither true nor false"),
    (c.parse_partitioning, "dya(ts)", "did you mean 'day'"),
    (c.parse_partitioning, "xyz(ts)", "allowed are year, month"),
    (c.parse_partitioning, "day(a, b)", r"write it like day\(column\)"),
    (c.parse_partitioning, "bucket(id)", r"write it like bucket\(16, id\)"),
    (c.parse_partitioning, "bucket(id, 16)", "'id' is not a whole number"),
    (c.parse_sort_orders, "id down", "write it like 'id desc nulls last'"),
    (c.parse_distribution, "hash(id)", "'id' is not a whole number"),
    (c.parse_pair, "name", "not of the form column=value"),
    (c.parse_pair, "=x", "not of the form column=value"),
]


@pytest.mark.parametrize(("parse", "text", "message"), REFUSED)
def test_refused(parse: Callable[[str], Any], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text)


@pytest.mark.parametrize(
    "text", ["day(ts)", "region", "a.b", "bucket(16, id, x)", "truncate(10, name)", "list(a, b)", "range(a)", "hour(t)"]
)
def test_partitioning_is_shown_as_it_is_written(text: str) -> None:
    wire = {"name": "t", "partitioning": c.parse_partitioning(text)}
    assert describe.transform(decode(wire, Table).partitioning[0]) == text


@pytest.mark.parametrize("text", ["id desc", "id asc nulls last", "bucket(4, id) desc nulls first"])
def test_sort_orders_are_shown_as_they_are_written(text: str) -> None:
    assert describe.sort_order(decode(c.parse_sort_orders(text)[0], SortOrder)) == text


@pytest.mark.parametrize("text", ["hash(16, id)", "range", "even(4)"])
def test_a_distribution_is_shown_as_it_is_written(text: str) -> None:
    assert describe.distribution(decode(c.parse_distribution(text), Distribution)) == text


@pytest.mark.parametrize(
    "text",
    [
        "long not null",
        "decimal(10,2) comment 'it''s net'",
        "integer auto_increment",
        "string default 'x' comment 'y'",
        "integer default 5",
        "integer default null",
        "date default today()",
    ],
)
def test_a_column_is_shown_as_it_is_written(text: str) -> None:
    assert describe.column(decode(c.parse_column(f"x {text}"), Column)) == text


def test_a_whole_table() -> None:
    table = {
        "name": "t",
        "columns": [{"name": "id", "type": "long", "nullable": False}],
        "properties": {"location": "s3://b/t"},
        "audit": {"creator": "ann", "createTime": "2024-01-01T00:00:00Z"},
        "distribution": {"strategy": "hash", "number": 4, "funcArgs": [{"type": "field", "fieldName": ["id"]}]},
        "sortOrders": c.parse_sort_orders("id, f(id) desc"),
        "partitioning": c.parse_partitioning("bucket(4, id)"),
        "indexes": [{"indexType": "PRIMARY_KEY", "name": "pk", "fieldNames": [["id"]]}],
    }
    assert list(describe.lines(decode(table, Table))) == [
        ("name", "t"),
        ("columns.id", "long not null"),
        ("properties.location", "s3://b/t"),
        ("audit.creator", "ann"),
        ("audit.create-time", "2024-01-01T00:00:00Z"),
        ("distribution", "hash(4, id)"),
        ("sort-orders", "id asc, f(id) desc"),
        ("partitioning", "bucket(4, id)"),
        ("indexes.pk", "primary_key(id)"),
    ]
