"""The Iceberg provider on every backend: the contract of all providers, and what holds for Iceberg tables anywhere."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from pyiceberg.catalog import Catalog

from headwater.catalogs.base import NewTable, Page, Provider, deleted
from headwater.catalogs.iceberg import IcebergProvider
from headwater.model import Column, types
from headwater.model import changes as c
from headwater.model.errors import (
    ConflictError,
    IllegalArgumentError,
    NonEmptySchemaError,
    NoSuchTableError,
    UnsupportedOperationError,
)
from headwater.model.expressions import FieldReference
from headwater.model.tables import (
    Bucket,
    Day,
    Distribution,
    DistributionStrategy,
    Identity,
    NullOrdering,
    SortDirection,
    SortOrder,
    Truncate,
)
from tests import servers
from tests.contract.provider import ALL, ProviderContract, S, names
from tests.contract.test_providers import opened

_numbers = itertools.count()

EVERY_TYPE = [
    types.Boolean(),
    types.Integer(),
    types.Long(),
    types.Float(),
    types.Double(),
    types.Decimal(18, 2),
    types.Date(),
    types.Time(6),
    types.Timestamp(6),
    types.Timestamp(6, with_time_zone=True),
    types.String(),
    types.VarChar(20),
    types.Uuid(),
    types.Binary(),
    types.Fixed(16),
    types.List(types.Map(types.String(), types.Struct([types.StructField("a", types.Integer())]), True)),
]


@pytest.fixture(scope="module")
def rest() -> Iterator[servers.iceberg_rest]:
    with servers.iceberg_rest() as started:
        yield started


@pytest.fixture(scope="module")
def hms31() -> Iterator[servers.hms31]:
    with servers.hms31() as started:
        yield started


@pytest.fixture(scope="module")
def hms40() -> Iterator[servers.hms40]:
    with servers.hms40() as started:
        yield started


@pytest.fixture(scope="module")
def aws() -> Iterator[servers.aws]:
    with servers.aws() as started:
        started.create_bucket("tables")
        yield started


@contextlib.contextmanager
def emptied(folder: Path, properties: dict[str, str], *kept: str) -> Iterator[Provider]:
    """An open provider on a backend that other tests used before."""
    provider = opened("lakehouse-iceberg", folder, properties)
    for name in provider.list_schemas((), Page()):  # type: ignore[attr-defined]
        if name not in kept:
            provider.drop_schema((name,), cascade=True)  # type: ignore[attr-defined]
    yield provider
    provider.close()


class IcebergContract:
    """What holds for Iceberg tables, whatever keeps the list of them. A suite gives the fixture `provider`."""

    @pytest.fixture
    def ice(self, provider: IcebergProvider) -> IcebergProvider:
        """The provider with an empty schema `s`."""
        provider.create_schema(S, "a schema", {"k": "v"})
        return provider

    def pyiceberg(self, provider: IcebergProvider) -> Catalog:
        """The pyiceberg catalog below: another writer."""
        return provider._backend.catalog()

    def simple(self, name: str = "t", **fields: object) -> NewTable:
        columns = [
            Column("id", types.Long(), nullable=False, comment="the key"),
            Column("name", types.String()),
            Column("at", types.Timestamp(6)),
        ]
        return NewTable(**{"name": name, "columns": columns, **fields})

    def test_every_type(self, ice: IcebergProvider) -> None:
        columns = [Column(f"c{i}", type_, f"comment {i}") for i, type_ in enumerate(EVERY_TYPE)]
        made = ice.create_table(S, NewTable("t", columns)).value
        assert [(col.type, col.comment) for col in made.columns] == [(col.type, col.comment) for col in columns]

    def test_partitioning_order_and_distribution(self, ice: IcebergProvider) -> None:
        partitioning = [Day(["at"]), Bucket(8, [["id"]]), Truncate(4, ["name"])]
        orders = [SortOrder(FieldReference(["name"]), SortDirection.DESC, NullOrdering.NULLS_LAST)]
        new = self.simple(
            partitioning=partitioning,
            sort_orders=orders,
            distribution=Distribution(strategy=DistributionStrategy.RANGE, number=0, func_args=[]),
        )
        made = ice.create_table(S, new).value
        assert (made.partitioning, made.sort_orders) == (partitioning, orders)
        assert made.distribution.strategy is DistributionStrategy.RANGE
        changed = ice.alter_table(S, "t", [c.ReplacePartitioning([Identity(["name"])]), c.ReplaceSortOrders([])]).value
        assert (changed.partitioning, changed.sort_orders) == ([Identity(["name"])], [])

    def test_columns_evolve(self, ice: IcebergProvider) -> None:
        ice.create_table(S, self.simple(columns=[Column("a", types.Integer()), Column("b", types.String())]))
        changes: list[c.TableChange] = [
            c.AddColumn(["first"], types.Date(), position=c.ColumnPosition.first()),
            c.UpdateColumnType(["a"], types.Long()),
            c.DeleteColumn(["b"]),
            c.AddColumn(["b"], types.Double(), comment="another b"),
            c.AddColumn(["place"], types.Struct([types.StructField("zip", types.Integer())])),
            c.AddColumn(["place", "city"], types.String()),
        ]
        found = ice.alter_table(S, "t", changes).value
        assert [(col.name, str(col.type)) for col in found.columns] == [
            ("first", "date"),
            ("a", "long"),
            ("b", "double"),
            ("place", "struct<zip:integer,city:string>"),
        ]

    def test_location_of_its_own(self, ice: IcebergProvider) -> None:
        usual = ice.create_table(S, self.simple("usual")).value.properties["location"]
        wanted = f"{usual.rpartition('/')[0]}/of_its_own"
        made = ice.create_table(S, self.simple(properties={"location": f"{wanted}/"})).value
        assert made.properties["location"] == wanted
        with pytest.raises(IllegalArgumentError, match=r"properties\.location"):
            ice.create_table(S, self.simple("u", properties={"location": "relative/path"}))

    def test_features_that_iceberg_lacks_leave_nothing(self, ice: IcebergProvider) -> None:
        for bad in (Column("x", types.Byte()), Column("x", types.Integer(), auto_increment=True)):
            with pytest.raises(IllegalArgumentError, match=r"columns\[0\]"):
                ice.create_table(S, self.simple(columns=[bad]))
        assert ice.list_tables(S, ALL) == []

    def test_commits_of_two_writers(self, ice: IcebergProvider) -> None:
        ice.create_table(S, self.simple())
        ours, theirs = (self.pyiceberg(ice).load_table((*S, "t")) for _ in range(2))
        with theirs.update_schema() as update:
            update.add_column("theirs", theirs.schema().find_type("name"))
        transaction = ours.transaction()
        with transaction.update_schema() as update:
            update.add_column("ours", ours.schema().find_type("name"))
        files = self.files(ice)
        with pytest.raises(ConflictError):
            self.commit(transaction)
        assert self.files(ice) == files, "what lost the race is removed"
        assert names(ice.load_table(S, "t").value)[-1] == "theirs"

    def commit(self, transaction: object) -> None:
        from headwater.catalogs.iceberg.errors import translated

        with translated():
            transaction.commit_transaction()  # type: ignore[attr-defined]

    def files(self, ice: IcebergProvider) -> list[str]:
        """All metadata files of table `s.t`, where they can be looked at."""
        location = ice.load_table(S, "t").value.properties["location"]
        if not location.startswith("file:"):
            return []
        return sorted(p.name for p in Path(location.removeprefix("file://")).rglob("*") if p.is_file())

    def test_purge_and_drop(self, ice: IcebergProvider) -> None:
        kept = ice.create_table(S, self.simple("kept")).value.properties["location"]
        gone = ice.create_table(S, self.simple("gone")).value.properties["location"]
        ice.alter_table(S, "gone", [c.UpdateComment("second file")])
        assert ice.drop_table(S, "kept", purge=False) is True
        assert ice.drop_table(S, "gone", purge=True) is True
        assert ice.list_tables(S, ALL) == []
        if kept.startswith("file:"):
            left = [[p for p in Path(f.removeprefix("file:")).rglob("*.json")] for f in (kept, gone)]
            assert (len(left[0]), len(left[1])) == (1, 0)
        assert ice.drop_table(S, "gone", purge=True) is False

    def test_cascade(self, ice: IcebergProvider) -> None:
        location = ice.create_table(S, self.simple()).value.properties["location"]
        ice.create_table(S, self.simple("u"))
        with pytest.raises(NonEmptySchemaError, match="2 tables"):
            ice.drop_schema(S, cascade=False)
        noted: list[str] = []
        mark = deleted.set(noted)
        assert ice.drop_schema(S, cascade=True) is True
        deleted.reset(mark)
        assert sorted(noted) == ["s.t", "s.u"], "for the audit record"
        if location.startswith("file:"):
            assert list(Path(location.removeprefix("file:")).rglob("*.metadata.json")), "data is kept"

    def test_missing_tables(self, ice: IcebergProvider) -> None:
        for purge in (False, True):
            assert ice.drop_table(S, "none", purge) is False
        with pytest.raises(NoSuchTableError, match=r"c\.s\.none"):
            ice.alter_table(S, "none", [c.UpdateComment("x")])
        with pytest.raises(NoSuchTableError, match=r"c\.s\.none"):
            ice.alter_table(S, "none", [c.RenameTable("u")])

    def test_properties_come_and_go(self, ice: IcebergProvider) -> None:
        ice.create_table(S, self.simple(comment="one", properties={"a": "1", "write.format.default": "orc"}))
        changes = [c.UpdateComment(None), c.RemoveProperty("a"), c.SetTableProperty("gc.enabled", "false")]
        found = ice.alter_table(S, "t", changes).value
        assert found.comment is None
        assert found.properties["gc.enabled"] == "false" and "a" not in found.properties
        assert found.properties["format"] == "iceberg/orc"

    def test_three_hundred_columns(self, ice: IcebergProvider) -> None:
        inner = types.Struct([types.StructField(f"f{i}", types.List(types.Decimal(10, 2))) for i in range(20)])
        columns = [Column(f"column_{i}", inner if i % 10 == 0 else types.String(), "x" * 300) for i in range(300)]
        assert ice.create_table(S, NewTable("wide", columns)).value.columns == columns


class OwnCatalog(IcebergContract):
    """The pyiceberg catalog is a class of ours."""

    def test_code_that_a_table_names_is_not_run(self, ice: IcebergProvider) -> None:
        ice.create_table(S, self.simple())
        outside = self.pyiceberg(ice).load_table((*S, "t"))
        with outside.transaction() as transaction:
            transaction.set_properties({"py-io-impl": "tests.no.Such"})
        assert ice.load_table(S, "t").value.properties["py-io-impl"] == "tests.no.Such"
        with pytest.raises(UnsupportedOperationError, match="py-io-impl names code"):
            ice.alter_table(S, "t", [c.UpdateComment("x")])
        assert ice.drop_table(S, "t", purge=False) is True


class TestIcebergInMemory(OwnCatalog):
    @pytest.fixture
    def provider(self, tmp_path: Path) -> Iterator[Provider]:
        found = opened("lakehouse-iceberg", tmp_path, {"catalog-backend": "memory"})
        yield found
        found.close()


class TestIcebergOnCustom(IcebergContract, ProviderContract):
    """Any pyiceberg catalog class, here its own for SQL, by nothing but pyiceberg's interface."""

    @pytest.fixture
    def provider(self, tmp_path: Path) -> Iterator[Provider]:
        properties = {
            "catalog-backend": "custom",
            "catalog-backend-impl": "pyiceberg.catalog.sql.SqlCatalog",
            "uri": f"sqlite:///{tmp_path}/custom.db",
            "warehouse": f"file://{tmp_path}/wh",
        }
        context = opened("lakehouse-iceberg", tmp_path, {"catalog-backend": "memory"}).context
        allowed = frozenset({"pyiceberg.catalog.sql.SqlCatalog"})
        found = IcebergProvider(msgspec.structs.replace(context, properties=properties, allowed_classes=allowed))
        yield found
        found.close()


class TestIcebergOnRest(OwnCatalog, ProviderContract):
    @pytest.fixture
    def provider(self, tmp_path: Path, rest: servers.iceberg_rest) -> Iterator[Provider]:
        with emptied(tmp_path, {"catalog-backend": "rest", "uri": rest.uri}) as found:
            yield found


class OnMetastore(OwnCatalog, ProviderContract):
    """Databases: one level, lower case."""

    knows_upper_case = False
    knows_schemas_inside_schemas = False


class OnHive(OnMetastore):
    default_schemas = ("default",)
    characters = "c_"

    def properties(self, server: servers.HiveMetastore, folder: Path) -> dict[str, str]:
        return {"catalog-backend": "hive", "uri": server.uri, "warehouse": f"{folder}/wh"}


class TestIcebergOnHive31(OnHive):
    @pytest.fixture
    def provider(self, tmp_path: Path, hms31: servers.hms31) -> Iterator[Provider]:
        with emptied(tmp_path, self.properties(hms31, tmp_path), *self.default_schemas) as found:
            yield found


class TestIcebergOnHive40(OnHive):
    @pytest.fixture
    def provider(self, tmp_path: Path, hms40: servers.hms40) -> Iterator[Provider]:
        with emptied(tmp_path, self.properties(hms40, tmp_path), *self.default_schemas) as found:
            yield found


class TestIcebergOnGlue(OnMetastore):
    @pytest.fixture
    def provider(self, tmp_path: Path, aws: servers.aws) -> Iterator[Provider]:
        properties = {
            "catalog-backend": "glue",
            "warehouse": "s3://tables/wh",
            "s3-region": "us-east-1",
            "s3-endpoint": aws.uri,
            "aws-glue-endpoint": aws.uri,
            "s3-access-key-id": aws.credentials["AWS_ACCESS_KEY_ID"],
            "s3-secret-access-key": aws.credentials["AWS_SECRET_ACCESS_KEY"],
            "s3-path-style-access": "true",
        }
        with emptied(tmp_path, properties) as found:
            yield found
