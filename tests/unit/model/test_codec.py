"""What `decode_body` says about bodies that don't fit, and tables that contradict themselves."""

from __future__ import annotations

import doctest
import importlib
from typing import Any

import msgspec
import pytest

from headwater import model as m
from headwater.model.errors import IllegalArgumentError


class Body(m.Wire):
    updates: list[m.TableChange] = m.always(list)
    properties: dict[str, str] = m.always(dict)
    columns: list[m.Column] = m.always(list)
    partitioning: list[m.Partitioning] = m.always(list)
    distribution: m.Distribution | None = None


def _list(text: str) -> bytes:
    return f'{{"updates":[{text}]}}'.encode()


NESTED_FUNCTION = '{"type":"function","funcName":"f","funcArgs":[' * 65 + "]}" * 65

REFUSED: list[tuple[bytes, str]] = [
    (b"", "the body is empty"),
    (b" \n", "the body is empty"),
    (b"{", "the body is not JSON: Input data was truncated"),
    (b'{"updates":[] x', "the body is not JSON: expected ',' or '}' (byte 14)"),
    (b'{"properties":{"a":"\xff"}}', "the body is not UTF-8"),
    (b'{"\xff":1}', "the body is not UTF-8"),
    (b'{"properties":{"a":"\xed\xa0\x80"}}', "the body is not UTF-8"),
    (b'{"properties":{"a":"\\ud800"}}', "the body holds half a surrogate pair, which is not a character"),
    (b'{"properties":{"a":"\\udc00x"}}', "the body holds half a surrogate pair, which is not a character"),
    (b'{"properties":{"a":"\\u0000"}}', "properties.a: may not hold the character NUL"),
    (b'{"properties":{"\\u0000":""}}', "properties.\\x00: may not hold the character NUL"),
    (b"[]", "the body: expected object, got array"),
    (b"null", "the body: expected object, got null"),
    (b'{"properties":{"a":1}}', "properties[...]: expected str, got int"),
    (b'{"property":{}}', "property: unknown field; did you mean 'properties'?"),
    (
        b'{"x - at `$.y`":1}',
        "x - at `$.y`: unknown field; allowed are columns, distribution, partitioning, properties, updates",
    ),
    (_list("5"), "updates[0]: expected object, got int"),
    (_list("[" * 100), "updates[0]: expected object, got array"),
    (_list('{"@type":"renme"}'), "updates[0].@type: 'renme' is unknown; did you mean 'rename'?"),
    (_list('{"@type":5}'), "updates[0].@type: expected str"),
    (_list('{"@type":"rename"}'), "updates[0].newName: missing"),
    (_list('{"@type":"rename","newName":" "}'), "updates[0].newName: may not be blank"),
    (
        _list('{"@type":"removeProperty","property":"a"},{"@type":"rename","nwName":"x"}'),
        "updates[1].nwName: unknown field; did you mean 'newName' or 'newSchemaName'?",
    ),
    (_list('{"@type":"rename","newName":' + "9" * 400 + "}"), "updates[0].newName: Number out of range"),
    (_list('{"@type":"addColumn","fieldName":[],"type":"int"}'), "updates[0].fieldName: expected array of length >= 1"),
    (
        _list('{"@type":"addColumn","fieldName":["a"],"type":"bigin"}'),
        "updates[0].type: 'bigin' is not a type; did you mean 'bigint'?",
    ),
    (
        _list('{"@type":"addColumn","fieldName":["a"],"type":{"type":"struct","fields":[{"name":"a","typ":"int"}]}}'),
        "updates[0].type.fields[0].typ: unknown field; did you mean 'type'?",
    ),
    (
        _list('{"@type":"addColumn","fieldName":["a"],"type":"int","position":{"before":"b"}}'),
        'updates[0].position: a position is "first", "default" or {"after": "the name of a column"}',
    ),
    (
        _list('{"@type":"updateColumnPosition","fieldName":["a"],"newPosition":"frst"}'),
        "updates[0].newPosition: 'frst' is no position; did you mean 'first'?",
    ),
    (
        _list('{"@type":"addTableIndex","index":{"indexType":"PRIMARY","fieldNames":[["a"]]}}'),
        "updates[0].index.indexType: 'PRIMARY' is unknown; did you mean 'PRIMARY_KEY'?",
    ),
    (
        _list(f'{{"@type":"updateColumnDefaultValue","fieldName":["a"],"newDefaultValue":{NESTED_FUNCTION}}}'),
        "updates[0].newDefaultValue: expressions may be nested 64 levels deep at most",
    ),
    (_list('{"@type":"addColumn","fieldName":["a"],"type":' + "[" * 100_000), "the body is nested too deep"),
    (
        b'{"columns":[{"name":"a","type":"int","nulable":true}]}',
        "columns[0].nulable: unknown field; did you mean 'nullable'?",
    ),
    (
        b'{"partitioning":[{"strategy":"idenity"}]}',
        "partitioning[0].strategy: 'idenity' is unknown; did you mean 'identity'?",
    ),
    (
        b'{"partitioning":[{"strategy":"bucket","numBuckets":0,"fieldNames":[["a"]]}]}',
        "partitioning[0].numBuckets: expected int >= 1",
    ),
    (
        b'{"partitioning":[{"strategy":"truncate","width":99999999999999999999999,"fieldName":["a"]}]}',
        "partitioning[0].width: expected int <= 2147483647",
    ),
    (
        b'{"partitioning":[{"strategy":"truncate","width":1.5,"fieldName":["a"]}]}',
        "partitioning[0].width: expected int, got float",
    ),
    (
        b'{"distribution":{"strategy":"x","number":1,"funcArgs":[]}}',
        "distribution.strategy: 'x' is unknown; allowed are even, hash, none, range",
    ),
    (b'{"distribution":{"number":-2,"funcArgs":[]}}', "distribution.number: expected int >= -1"),
    (b'{"nested":1} ' + b"x" * 300, "nested: unknown field"),
    (b'{"' + b"x" * 300 + b'":1}', "x" * 197 + "...: unknown field; allowed are"),
]


@pytest.mark.parametrize(("raw", "message"), REFUSED, ids=lambda v: repr(v)[:60])
def test_refused_bodies(raw: bytes, message: str) -> None:
    with pytest.raises(IllegalArgumentError) as caught:
        m.decode_body(raw, Body)
    assert str(caught.value).startswith(message)
    assert str(caught.value).isprintable()


def test_a_missing_tag_names_the_allowed_ones() -> None:
    with pytest.raises(IllegalArgumentError, match=r"^partitioning\[0\]\.strategy: missing; allowed are bucket, day,"):
        m.decode_body(b'{"partitioning":[{}]}', Body)


def test_an_escaped_backslash_is_not_nul() -> None:
    assert m.decode_body(rb'{"properties":{"a":"\\u0000"}}', Body).properties == {"a": r"\u0000"}


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"number":1,"funcArgs":[]}', m.DistributionStrategy.HASH),
        (b'{"strategy":"Random","number":-1,"funcArgs":[]}', m.DistributionStrategy.EVEN),
        (b'{"strategy":"RANGE","number":1,"funcArgs":[]}', m.DistributionStrategy.RANGE),
    ],
)
def test_distribution_strategies(raw: bytes, value: m.DistributionStrategy) -> None:
    assert m.decode_body(raw, m.Distribution).strategy is value


def test_what_is_always_written() -> None:
    assert m.encode(m.Column("a", m.Long())) == b'{"name":"a","type":"long","nullable":true,"autoIncrement":false}'
    assert msgspec.json.decode(m.encode(m.Table("t"))) == {
        "name": "t",
        "columns": [],
        "properties": {},
        "audit": {},
        "distribution": {"strategy": "none", "number": 0, "funcArgs": []},
        "sortOrders": [],
        "partitioning": [],
        "indexes": [],
    }
    assert m.encode(m.Literal.null()) == b'{"type":"literal","dataType":"null","value":"NULL"}'
    assert m.encode(m.SortOrder(m.FieldReference(["a"]))) == (
        b'{"sortTerm":{"type":"field","fieldName":["a"]},"direction":"asc","nullOrdering":"nulls_first"}'
    )
    index = m.decode_body(b'{"indexType":"primary_key","fieldNames":[["a"]]}', m.Index)
    assert m.encode(index) == b'{"indexType":"PRIMARY_KEY","fieldNames":[["a"]],"properties":{}}'


def test_sort_orders_put_nulls_where_the_direction_says() -> None:
    raw = b'{"sortTerm":{"type":"field","fieldName":["a"]},"direction":"DESC"}'
    assert m.decode_body(raw, m.SortOrder).null_ordering is m.NullOrdering.NULLS_LAST


CHANGES = [
    (m.SetProperty, ("", "a"), "property"),
    (m.SetProperty, ("a", " "), "value"),
    (m.SetTableProperty, (" ", ""), "property"),
    (m.RemoveProperty, ("",), "property"),
    (m.Rename, ("",), "newName"),
    (m.RenameTable, ("a", ""), "newSchemaName"),
    (m.RenameColumn, (["a"], ""), "newFieldName"),
    (m.DeleteTableIndex, ("",), "name"),
]


@pytest.mark.parametrize(("change", "values", "field"), CHANGES)
def test_blank_texts_of_changes(change: Any, values: tuple[Any, ...], field: str) -> None:
    with pytest.raises(ValueError, match=f"`{field}`: may not be blank"):
        change(*values)


def test_a_table_property_may_be_empty() -> None:
    assert m.SetTableProperty("a", "").value == ""


def test_positions() -> None:
    with pytest.raises(ValueError, match="after a column that is named"):
        m.ColumnPosition.after("")
    assert m.ColumnPosition.from_json("Default") == m.ColumnPosition.default()


def _column(name: str = "a", type_: m.Type | None = None, **options: Any) -> m.Column:
    return m.Column(name, type_ or m.Long(), **options)


A = [_column("a"), _column("B")]
X = m.FieldReference(["x", "y"])
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"columns": [_column("a"), _column(" ")]}, "columns[1].name: may not be blank"),
    ({"columns": [_column("a"), _column("A")]}, "columns[1].name: 'A' is the name of columns[0] already"),
    (
        {"columns": [_column("a", auto_increment=True), _column("b", auto_increment=True)]},
        "columns[1].autoIncrement: columns[0] has it already",
    ),
    (
        {"columns": [_column("a", m.String(), auto_increment=True)]},
        "columns[0].autoIncrement: the type must be integer or long, not string",
    ),
    (
        {"columns": [_column("a", nullable=False, default_value=m.Literal.null())]},
        "columns[0].defaultValue: may not be NULL",
    ),
    ({"columns": A, "partitioning": [m.Identity(["x"])]}, "partitioning[0].fieldName: there is no column 'x'"),
    (
        {"columns": A, "partitioning": [m.Day(["a"]), m.Bucket(4, [["b"], ["x"]])]},
        "partitioning[1].fieldNames[1]: there is no column 'x'; allowed are B, a",
    ),
    (
        {"columns": A, "partitioning": [m.FunctionTransform("f", [X])]},
        "partitioning[0].funcArgs[0].fieldName: there is no column 'x.y'",
    ),
    (
        {"columns": A, "distribution": m.Distribution(number=1, func_args=[m.FunctionExpression("f", [X])])},
        "distribution.funcArgs[0].funcArgs[0].fieldName: there is no column 'x.y'",
    ),
    ({"columns": A, "sort_orders": [m.SortOrder(X)]}, "sortOrders[0].sortTerm.fieldName: there is no column 'x.y'"),
    (
        {"columns": A, "indexes": [m.Index(index_type=m.IndexType.PRIMARY_KEY, field_names=[])]},
        "indexes[0].fieldNames: at least one column",
    ),
    (
        {"columns": A, "indexes": [m.Index(index_type=m.IndexType.PRIMARY_KEY, field_names=[["x"]])]},
        "indexes[0].fieldNames[0]: there is no column 'x'",
    ),
]


@pytest.mark.parametrize(("parts", "message"), CONTRADICTIONS, ids=lambda v: v if isinstance(v, str) else "")
def test_contradictions(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(IllegalArgumentError) as caught:
        m.check_table(**parts)
    assert str(caught.value).startswith(message)


def test_a_sound_table() -> None:
    m.check_table(
        [_column("a", auto_increment=True), _column("B", m.Integer(signed=False), default_value=m.Literal.null())],
        [m.Identity(["A"]), m.Truncate(4, ["b", "inner"])],
        m.Distribution(number=4, func_args=[m.FieldReference(["a"])]),
        [m.SortOrder(m.FunctionExpression("f", [m.FieldReference(["b"]), m.Literal(m.Integer(), "1")]))],
        [m.Index(index_type=m.IndexType.PRIMARY_KEY, field_names=[["a"], ["b"]])],
    )


def test_schemas_of_our_own_types() -> None:
    _, components = msgspec.json.schema_components([m.Column, m.UpdateColumnPosition], schema_hook=m.schema_hook)
    assert [s["type"] for s in components["Column"]["properties"]["type"]["anyOf"]] == ["string", "object"]
    assert components["UpdateColumnPosition"]["properties"]["newPosition"]["anyOf"][1]["required"] == ["after"]


@pytest.mark.parametrize(
    "hook", [m.schema_hook, lambda _: m.encode(object()), lambda _: m.decoder(complex).decode(b"1")]
)
def test_other_types_are_not_ours(hook: Any) -> None:
    with pytest.raises(NotImplementedError, match="has no JSON"):
        hook(complex)


@pytest.mark.parametrize(
    "module", ["types", "sqltypes", "typejson", "expressions", "tables", "changes", "codec", "names", "errors"]
)
def test_examples(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"headwater.model.{module}")).failed == 0
