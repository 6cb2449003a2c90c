"""A new table of the lake to a Hive-style entry."""

from __future__ import annotations

import secrets

from headwater.catalogs.base import NewTable
from headwater.catalogs.metastores import formats
from headwater.catalogs.metastores.entries import (
    EXTERNAL_TABLE,
    IDENTITY,
    MANAGED_TABLE,
    Entry,
    Field,
    SortColumn,
    Storage,
)
from headwater.catalogs.metastores.reading import KINDS, SERDE_PARAMETER
from headwater.catalogs.metastores.types import write
from headwater.model.errors import IllegalArgumentError
from headwater.model.expressions import Expression, FieldReference
from headwater.model.tables import Column, DistributionStrategy, Identity, NullOrdering, SortDirection, SortOrder

MAPPED = (
    "location",
    "format",
    "input-format",
    "output-format",
    "serde-lib",
    "serde-name",
    "table-type",
    *KINDS.values(),
)
"""Properties that have places of their own in an entry; `table-format` chose that it is a Hive table at all."""

_NOT_STORED = ("table-format", "provider")


def new_entry(database: str, table: NewTable, *, default_kind: str, default_format: str) -> Entry:
    """The entry of a new Hive table; everything that it can't be is refused by name."""
    _refuse_unknown_features(table)
    plain, keys = _split_columns(table)
    properties = table.properties
    parameters = {
        k: v
        for k, v in properties.items()
        if k not in MAPPED and k not in _NOT_STORED and not k.startswith(SERDE_PARAMETER)
    }
    return Entry(
        database=database,
        name=table.name,
        storage=_storage(table, plain, default_format),
        partition_keys=keys,
        parameters={**parameters, IDENTITY: secrets.token_hex(8)},
        kind=table_kind(properties, default_kind),
        comment=table.comment,
    )


def table_kind(properties: dict[str, str], default: str) -> str:
    """Managed or external, by `table-type` or by either of the two flags; they may not contradict each other."""
    said: dict[str, str] = {}
    if (given := properties.get("table-type")) is not None:
        said["table-type"] = given.upper() if given.upper().endswith("_TABLE") else f"{given.upper()}_TABLE"
    for kind, flag in KINDS.items():
        if (value := properties.get(flag)) is not None:
            other = MANAGED_TABLE if kind == EXTERNAL_TABLE else EXTERNAL_TABLE
            said[flag] = kind if value.lower() == "true" else other
    if len(set(said.values())) > 1:
        raise IllegalArgumentError(f"properties: {' and '.join(said)} contradict each other")
    return next(iter(said.values()), default)


def _refuse_unknown_features(table: NewTable) -> None:
    for n, column in enumerate(table.columns):
        check_column(f"columns[{n}]", column)
    if table.indexes:
        raise IllegalArgumentError("indexes: Hive-style tables have none")


def check_column(where: str, column: Column) -> None:
    """Refuse what Hive's columns can't be."""
    if not column.nullable:
        raise IllegalArgumentError(f"{where}.nullable: Hive-style tables know no NOT NULL")
    if column.auto_increment:
        raise IllegalArgumentError(f"{where}.autoIncrement: Hive-style tables number no rows")
    if column.default_value is not None:
        raise IllegalArgumentError(f"{where}.defaultValue: Hive-style tables have no default values")


def _split_columns(table: NewTable) -> tuple[list[Field], list[Field]]:
    """The columns, and those at the end by which the table is partitioned."""
    fields = [
        Field(c.name.lower(), write(c.type, f"columns[{n}].type"), c.comment) for n, c in enumerate(table.columns)
    ]
    keys: list[str] = []
    for n, partition in enumerate(table.partitioning):
        if not isinstance(partition, Identity) or len(partition.field_name) != 1:
            raise IllegalArgumentError(f"partitioning[{n}]: Hive-style tables are partitioned by whole columns only")
        keys.append(partition.field_name[0].lower())
    if len(set(keys)) < len(keys):
        raise IllegalArgumentError("partitioning: a column may be there once only")
    tail = [f.name for f in fields[len(fields) - len(keys) :]]
    if tail != keys:
        raise IllegalArgumentError(
            f"partitioning: the partition columns must be the table's last ones, in this order: {', '.join(keys)}"
        )
    count = len(fields) - len(keys)
    return fields[:count], fields[count:]


def _storage(table: NewTable, columns: list[Field], default_format: str) -> Storage:
    properties = table.properties
    classes = formats.classes("properties.format", properties.get("format", default_format))
    parameters = {k.removeprefix(SERDE_PARAMETER): v for k, v in properties.items() if k.startswith(SERDE_PARAMETER)}
    buckets, bucket_columns = _buckets(table)
    return Storage(
        columns=columns,
        location=properties.get("location"),
        input_format=properties.get("input-format", classes.input),
        output_format=properties.get("output-format", classes.output),
        serde=formats.new_serde(properties.get("serde-name"), properties.get("serde-lib", classes.serde), parameters),
        buckets=buckets,
        bucket_columns=bucket_columns,
        sort_columns=[_sort_column(n, order) for n, order in enumerate(table.sort_orders)],
    )


def _buckets(table: NewTable) -> tuple[int, list[str]]:
    wanted = table.distribution
    if wanted is None or wanted.strategy is DistributionStrategy.NONE:
        if table.sort_orders:
            raise IllegalArgumentError(
                "sortOrders: Hive-style tables are sorted inside of buckets: give a distribution"
            )
        return -1, []
    if wanted.strategy is not DistributionStrategy.HASH:
        raise IllegalArgumentError("distribution.strategy: Hive-style tables know hash and none only")
    if wanted.number <= 0:
        raise IllegalArgumentError("distribution.number: Hive-style tables need a number of buckets")
    names = [_name(f"distribution.funcArgs[{n}]", arg) for n, arg in enumerate(wanted.func_args)]
    if not names:
        raise IllegalArgumentError("distribution.funcArgs: at least one column is needed")
    return wanted.number, names


def _sort_column(n: int, order: SortOrder) -> SortColumn:
    ascending = order.direction is SortDirection.ASC
    if (order.null_ordering is NullOrdering.NULLS_FIRST) is not ascending:
        raise IllegalArgumentError(
            f"sortOrders[{n}].nullOrdering: Hive-style tables put NULLs first when ascending and last when descending"
        )
    return SortColumn(_name(f"sortOrders[{n}].sortTerm", order.sort_term), ascending)


def _name(where: str, expression: Expression) -> str:
    if not isinstance(expression, FieldReference) or len(expression.field_name) != 1:
        raise IllegalArgumentError(f"{where}: Hive-style tables know whole columns only")
    return expression.field_name[0].lower()
