"""A table to be made, in pyiceberg's words."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from headwater.catalogs.base import NewTable
from headwater.catalogs.iceberg import layout, types
from headwater.catalogs.iceberg.metadata import MODE
from headwater.catalogs.iceberg.properties import TABLE
from headwater.model.errors import IllegalArgumentError
from headwater.model.properties import Kind


def refuse_unknown_features(table: NewTable) -> None:
    """Refuse what no Iceberg table has."""
    if not table.columns:
        raise IllegalArgumentError("columns: an Iceberg table needs at least one column")
    for index, column in enumerate(table.columns):
        if column.default_value is not None:
            raise IllegalArgumentError(f"columns[{index}].defaultValue: Iceberg tables do not have them here")
        if column.auto_increment:
            raise IllegalArgumentError(f"columns[{index}].autoIncrement: Iceberg tables do not have auto-increment")
    if table.indexes:
        raise IllegalArgumentError("indexes: Iceberg tables do not have indexes")


def stored_properties(table: NewTable, notes: dict[str, str], normalised: Callable[[str, str], str]) -> dict[str, str]:
    """What is stored as properties: location and format have places of their own in the metadata."""
    stored = {k: v for k, v in table.properties.items() if k not in ("location", "provider", "format")}
    for key, value in stored.items():
        if (declared := TABLE.get(key)) is not None and declared.kind is Kind.LOCATION:
            stored[key] = normalised(f"properties.{key}", value)
    if (data_format := table.properties.get("format", "").lower().removeprefix("iceberg").strip("/")) != "":
        stored["write.format.default"] = data_format
    if table.comment is not None:
        stored["comment"] = table.comment
    if (mode := layout.distribution_mode(table.distribution)) is not None:
        stored[MODE] = mode
    return {**stored, **notes}


def iceberg_schema(table: NewTable) -> tuple[Any, dict[str, str]]:
    """pyiceberg's schema, and notes of the declared types that it can't hold."""
    from pyiceberg.schema import Schema

    counter = itertools.count(1)
    writer = types.Writer(lambda: next(counter))
    numbered = [(next(counter), column) for column in table.columns]
    fields = [
        writer.field(col.name, col.type, col.nullable, col.comment, f"columns[{i}].type", number)
        for i, (number, col) in enumerate(numbered)
    ]
    schema = Schema.model_validate({"type": "struct", "schema-id": 0, "fields": fields})
    return schema, writer.notes


def partition_spec(table: NewTable, schema: Any) -> Any:
    """pyiceberg's partition spec."""
    from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec

    fields, sources = [], []
    for index, partition in enumerate(table.partitioning):
        where = f"partitioning[{index}]"
        term = layout.partition_term(where, partition)
        source = _source(schema, term.column, where)
        transform = layout.checked_transform(where, term, source.field_type)
        number = PARTITION_FIELD_ID_START + index
        sources.append((source.field_id, term))
        fields.append(PartitionField(source.field_id, number, transform, term.name))
    layout.check_spec("partitioning", sources)
    if len({f.name for f in fields}) < len(fields):
        raise IllegalArgumentError("partitioning: two partition fields would have the same name")
    return PartitionSpec(*fields)


def sort_order(table: NewTable, schema: Any) -> Any:
    """pyiceberg's sort order."""
    from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, NullOrder, SortDirection, SortField, SortOrder

    if not table.sort_orders:
        return UNSORTED_SORT_ORDER
    fields = []
    for index, order in enumerate(table.sort_orders):
        where = f"sortOrders[{index}].sortTerm"
        term = layout.sort_term(where, order.sort_term)
        source = _source(schema, term.column, where)
        transform = layout.checked_transform(where, term, source.field_type)
        nulls = NullOrder.NULLS_FIRST if order.null_ordering.value == "nulls_first" else NullOrder.NULLS_LAST
        direction = SortDirection.ASC if order.direction.value == "asc" else SortDirection.DESC
        fields.append(SortField(source.field_id, transform, direction, nulls))
    return SortOrder(*fields)


def _source(schema: Any, column: str, where: str) -> Any:
    try:
        return schema.find_field(column, case_sensitive=False)
    except ValueError:
        raise IllegalArgumentError(f"{where}: there is no column {column!r}") from None
