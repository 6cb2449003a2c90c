"""The released Gravitino client, unmodified, drives tables and partitions of a real Hive Metastore."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from gravitino import Catalog, GravitinoAdminClient, GravitinoClient, NameIdentifier
from gravitino.api.rel.column import Column
from gravitino.api.rel.expressions.distributions.distributions import Distributions
from gravitino.api.rel.expressions.literals.literals import Literals
from gravitino.api.rel.expressions.named_reference import NamedReference
from gravitino.api.rel.expressions.sorts.sort_direction import SortDirection
from gravitino.api.rel.expressions.sorts.sort_orders import SortOrders
from gravitino.api.rel.expressions.transforms.transforms import Transforms
from gravitino.api.rel.partitions.partitions import Partitions
from gravitino.api.rel.table_change import TableChange
from gravitino.api.rel.types.types import Types
from gravitino.client.relational_catalog import RelationalCatalog
from gravitino.exceptions.base import (
    IllegalArgumentException,
    NoSuchPartitionException,
    NoSuchTableException,
    PartitionAlreadyExistsException,
    TableAlreadyExistsException,
    UnsupportedOperationException,
)

from tests import servers
from tests.harness import running

T = NameIdentifier.of("sales", "orders")
COLUMNS = [
    Column.of("id", Types.LongType.get(), "the key"),
    Column.of("name", Types.VarCharType.of(20)),
    Column.of("dt", Types.DateType.get()),
    Column.of("country", Types.StringType.get()),
]


@pytest.fixture(scope="module", params=[servers.hms31, servers.hms40], ids=["hms-3.1", "hms-4.0"])
def catalog(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RelationalCatalog]:
    folder = Path(tmp_path_factory.mktemp("gravitino"))
    with request.param() as hms, running(folder / "data") as server:
        GravitinoAdminClient(server.uri).create_metalake("lake", "", {})
        client = GravitinoClient(server.uri, "lake")
        made = client.create_catalog(
            "hive", Catalog.Type.RELATIONAL, "hive", "a metastore", {"metastore.uris": hms.uri}
        )
        made.as_schemas().create_schema("sales", "of tests", {})
        yield made.as_table_catalog()


@pytest.fixture
def table(catalog: RelationalCatalog) -> Iterator[Any]:
    yield catalog.create_table(
        T, COLUMNS, "made by the client", {"format": "PARQUET", "k": "v"},
        partitioning=[Transforms.identity("dt"), Transforms.identity("country")],
    )  # fmt: skip
    catalog.purge_table(T)


def identity(day: str, country: str) -> Any:
    name = f"dt={day}/country={country}"
    values = [Literals.date_literal(date.fromisoformat(day)), Literals.string_literal(country)]
    return Partitions.identity(name, [["dt"], ["country"]], values, {})


def test_table(catalog: RelationalCatalog, table: Any) -> None:
    assert table.name() == "orders" and table.comment() == "made by the client"
    assert {"format": "PARQUET", "k": "v"}.items() <= table.properties().items()
    assert catalog.list_tables(T.namespace()) == [NameIdentifier.of("lake", "hive", "sales", "orders")] or [
        i.name() for i in catalog.list_tables(T.namespace())
    ] == ["orders"]
    with pytest.raises(TableAlreadyExistsException):
        catalog.create_table(T, COLUMNS)
    changed = catalog.alter_table(
        T,
        TableChange.update_comment("another"),
        TableChange.set_property("k2", "v2"),
        TableChange.remove_property("k"),
        TableChange.add_column(["more"], Types.IntegerType.get(), "new", TableChange.ColumnPosition.default_pos()),
    )
    assert [c.name() for c in changed.columns()] == ["id", "name", "more", "dt", "country"]
    assert changed.comment() == "another"
    assert changed.properties()["k2"] == "v2" and "k" not in changed.properties()
    with pytest.raises(IllegalArgumentException, match="partitioned"):
        catalog.alter_table(T, TableChange.delete_column(["dt"], False))
    renamed = catalog.alter_table(T, TableChange.rename("orders2"))
    assert renamed.name() == "orders2"
    with pytest.raises(NoSuchTableException):
        catalog.load_table(T)
    catalog.alter_table(NameIdentifier.of("sales", "orders2"), TableChange.rename("orders"))


def test_buckets(catalog: RelationalCatalog) -> None:
    ident = NameIdentifier.of("sales", "buckets")
    made = catalog.create_table(
        ident, COLUMNS[:2], distribution=Distributions.hash(4, NamedReference.field(["id"])),
        sort_orders=[SortOrders.of(NamedReference.field(["name"]), SortDirection.ASCENDING)],
    )  # fmt: skip
    assert made.distribution().number() == 4
    assert [s.expression().field_name() for s in catalog.load_table(ident).sort_order()] == [["name"]]
    assert catalog.drop_table(ident) is True
    assert catalog.drop_table(ident) is False


def test_partitions(table: Any) -> None:
    first, second = identity("2025-12-03", "us"), identity("2025-12-04", "d e")
    added = table.add_partition(first)
    table.add_partition(second)
    assert added.name() == "dt=2025-12-03/country=us"
    assert sorted(table.list_partition_names()) == ["dt=2025-12-03/country=us", "dt=2025-12-04/country=d e"]
    assert added in table.list_partitions()
    assert table.get_partition(first.name()) == added
    assert [str(v.value()) for v in added.values()] == ["2025-12-03", "us"]
    with pytest.raises(PartitionAlreadyExistsException):
        table.add_partition(first)
    assert table.drop_partition(first.name()) is True
    assert table.drop_partition(first.name()) is False
    with pytest.raises(NoSuchPartitionException):
        table.get_partition(first.name())
    assert table.list_partition_names() == ["dt=2025-12-04/country=d e"]


def test_a_table_without_partitions(catalog: RelationalCatalog) -> None:
    ident = NameIdentifier.of("sales", "plain")
    made: Any = catalog.create_table(ident, COLUMNS[:2])
    with pytest.raises(UnsupportedOperationException, match="not partitioned"):
        made.list_partition_names()
    assert catalog.purge_table(ident) is True
    assert catalog.purge_table(ident) is False
