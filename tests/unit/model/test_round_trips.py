"""Whatever the model can hold survives the way to JSON and back, and its JSON is canonical."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater import model as m
from tests.unit.model import strategies as s

KINDS: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "types": (s.types, m.Type),
    "expressions": (s.expressions, m.Expression),
    "columns": (s.columns, m.Column),
    "partitions": (s.partitions, m.Partition),
    "partitionings": (s.partitionings, m.Partitioning),
    "distributions": (s.distributions, m.Distribution),
    "sort orders": (s.sort_orders, m.SortOrder),
    "indexes": (s.indexes, m.Index),
    "tables": (s.tables, m.Table),
    "positions": (s.positions, m.ColumnPosition),
    "metalake changes": (s.metalake_changes, m.MetalakeChange),
    "catalog changes": (s.catalog_changes, m.CatalogChange),
    "schema changes": (s.schema_changes, m.SchemaChange),
    "fileset changes": (s.fileset_changes, m.FilesetChange),
    "table changes": (s.table_changes, m.TableChange),
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_round_trip(kind: str, data: st.DataObject) -> None:
    strategy, type_ = KINDS[kind]
    value = data.draw(strategy)
    raw = m.encode(value)
    read = m.decoder(type_).decode(raw)
    assert read == value
    assert type(read) is type(value)
    assert m.encode(read) == raw
    assert m.decode_body(raw, type_) == value


@given(s.types)
def test_types_are_values(type_: m.Type) -> None:
    twin = m.from_json(m.to_json(type_))
    assert hash(twin) == hash(type_)
    assert repr(twin) == repr(type_)
    assert pickle.loads(pickle.dumps(type_)) == type_
    with pytest.raises(AttributeError, match="can't be changed"):
        type_.anything = 1


@given(s.simple_types)
def test_the_short_form_of_a_simple_type_is_its_wire_form(type_: m.Type) -> None:
    assert str(type_) == m.to_json(type_)
    assert m.from_json(f" {str(type_).upper()} ") == type_ or isinstance(type_, m.Geometry | m.Geography)
    assert m.from_json(str(m.Map(type_, m.List(type_)))) == m.Map(type_, m.List(type_))


@given(st.text(st.sampled_from("<>(),:'\"` aint0rystucmpdl8"), max_size=60) | st.text(max_size=60))
def test_any_text_is_a_type_or_a_value_error(text: str) -> None:
    try:
        type_ = m.from_json(text)
    except ValueError as error:
        assert str(error)
    else:
        assert m.from_json(m.to_json(type_)) == type_


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "fields", "name", "elementType", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(_json)
def test_any_json_is_a_type_or_a_value_error(value: object) -> None:
    try:
        m.from_json(value)
    except ValueError as error:
        assert str(error)
