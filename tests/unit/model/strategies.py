"""Hypothesis strategies for the whole model, for other tests too."""

from __future__ import annotations

from hypothesis import strategies as st

from headwater import model as m

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda s: s.strip() != ""
)
"""Names and other texts that are not blank."""

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
names = st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True)
comments = st.none() | texts
properties = st.dictionaries(words, texts, max_size=3)
counts = st.integers(1, 2**31 - 1)
field_names = st.lists(words, min_size=1, max_size=3)
field_name_lists = st.lists(field_names, min_size=1, max_size=3)

_fractions = st.none() | st.integers(0, 12)
_crs = st.from_regex(r"[A-Za-z0-9_./+-]{1,6}(:[A-Za-z0-9_./+-]{1,6})?", fullmatch=True)

simple_types: st.SearchStrategy[m.Type] = st.one_of(
    st.sampled_from(
        [
            m.Boolean(),
            m.Float(),
            m.Double(),
            m.Date(),
            m.String(),
            m.Binary(),
            m.Uuid(),
            m.IntervalYear(),
            m.IntervalDay(),
            m.Null(),
            m.Variant(),
        ]
    ),
    *(st.builds(whole, st.booleans()) for whole in (m.Byte, m.Short, m.Integer, m.Long)),
    st.integers(1, 38).flatmap(lambda p: st.builds(m.Decimal, st.just(p), st.integers(0, p))),
    st.builds(m.Time, _fractions),
    st.builds(m.Timestamp, _fractions, st.booleans()),
    *(st.builds(sized, counts) for sized in (m.Char, m.VarChar, m.Fixed)),
    st.builds(m.Geometry) | st.builds(m.Geometry, _crs),
    st.builds(m.Geography) | st.builds(m.Geography, _crs, _crs),
)
"""Types that are a string on the wire."""

foreign_types: st.SearchStrategy[m.Type] = st.builds(m.External, texts) | st.builds(m.Unparsed, texts)


def _nested(inner: st.SearchStrategy[m.Type]) -> st.SearchStrategy[m.Type]:
    fields = st.builds(m.StructField, words, inner, st.booleans(), comments)
    return st.one_of(
        st.builds(m.Struct, st.lists(fields, min_size=1, max_size=4)),
        st.builds(m.List, inner, st.booleans()),
        st.builds(m.Map, inner, inner, st.booleans()),
        st.builds(m.Union, st.lists(inner, min_size=1, max_size=3)),
    )


types: st.SearchStrategy[m.Type] = st.recursive(simple_types | foreign_types, _nested, max_leaves=8)
"""All types."""

literals = st.builds(m.Literal, simple_types, st.none() | texts) | st.just(m.Literal.null())
references = st.builds(m.FieldReference, field_names)
expressions: st.SearchStrategy[m.Expression] = st.recursive(
    literals | references | st.builds(m.UnparsedExpression, texts),
    lambda inner: st.builds(m.FunctionExpression, words, st.lists(inner, max_size=3)),
    max_leaves=5,
)
_expression_lists = st.lists(expressions, max_size=2)

columns = st.builds(m.Column, words, types, comments, st.booleans(), st.booleans(), st.none() | expressions)

list_partitions = st.builds(m.ListPartition, words, st.lists(st.lists(literals, max_size=2), max_size=2), properties)
range_partitions = st.builds(m.RangePartition, words, literals, literals, properties)
identity_partitions = st.builds(
    m.IdentityPartition, field_name_lists, st.lists(literals, max_size=2), st.none() | words, properties
)
partitions: st.SearchStrategy[m.Partition] = list_partitions | range_partitions | identity_partitions

partitionings: st.SearchStrategy[m.Partitioning] = st.one_of(
    *(st.builds(one, field_names) for one in (m.Identity, m.Year, m.Month, m.Day, m.Hour)),
    st.builds(m.Bucket, counts, field_name_lists),
    st.builds(m.Truncate, counts, field_names),
    st.builds(m.ListPartitioning, field_name_lists, st.none() | st.lists(list_partitions, max_size=2)),
    st.builds(m.RangePartitioning, field_names, st.none() | st.lists(range_partitions, max_size=2)),
    st.builds(m.FunctionTransform, words, _expression_lists),
)
distributions = st.builds(
    m.Distribution,
    strategy=st.sampled_from(m.DistributionStrategy),
    number=st.integers(-1, 2**31 - 1),
    func_args=_expression_lists,
)
sort_orders = st.builds(m.SortOrder, expressions) | st.builds(
    m.SortOrder, expressions, st.sampled_from(m.SortDirection), st.sampled_from(m.NullOrdering)
)
indexes = st.builds(
    m.Index,
    index_type=st.sampled_from(m.IndexType),
    name=st.none() | words,
    field_names=field_name_lists,
    properties=properties,
)
tables = st.builds(
    m.Table,
    words,
    comments,
    st.lists(columns, max_size=3),
    properties,
    st.builds(m.Audit, *([st.none() | texts] * 4)),
    distributions,
    st.lists(sort_orders, max_size=2),
    st.lists(partitionings, max_size=2),
    st.lists(indexes, max_size=2),
)

positions = st.sampled_from([m.ColumnPosition.first(), m.ColumnPosition.default()]) | st.builds(
    m.ColumnPosition.after, words
)
_updates_comment = st.builds(m.UpdateComment, comments)
_removes_property = st.builds(m.RemoveProperty, words)
schema_changes: st.SearchStrategy[m.SchemaChange] = st.builds(m.SetProperty, words, words) | _removes_property
metalake_changes: st.SearchStrategy[m.MetalakeChange] = schema_changes | st.builds(m.Rename, words) | _updates_comment
catalog_changes: st.SearchStrategy[m.CatalogChange] = metalake_changes
fileset_changes: st.SearchStrategy[m.FilesetChange] = metalake_changes | st.builds(m.RemoveComment)
table_changes: st.SearchStrategy[m.TableChange] = st.one_of(
    _updates_comment,
    _removes_property,
    st.builds(m.RenameTable, words, st.none() | words),
    st.builds(m.SetTableProperty, words, texts),
    st.builds(
        m.AddColumn,
        field_names,
        types,
        comments,
        st.none() | positions,
        st.booleans(),
        st.booleans(),
        st.none() | expressions,
    ),
    st.builds(m.RenameColumn, field_names, words),
    st.builds(m.UpdateColumnDefaultValue, field_names, expressions),
    st.builds(m.UpdateColumnType, field_names, types),
    st.builds(m.UpdateColumnComment, field_names, texts),
    st.builds(m.UpdateColumnPosition, field_names, positions),
    st.builds(m.UpdateColumnNullability, field_names, st.booleans()),
    st.builds(m.DeleteColumn, field_names, st.booleans()),
    st.builds(m.AddTableIndex, indexes),
    st.builds(m.DeleteTableIndex, words, st.booleans()),
    st.builds(m.UpdateColumnAutoIncrement, field_names, st.booleans()),
)
