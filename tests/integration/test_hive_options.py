"""What a hive catalog can be told: which catalog of the Metastore it is, what it shows, and tables made elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hive_metastore import ttypes

from headwater.catalogs.base import Page
from headwater.catalogs.mixed.provider import MetastoreProvider
from headwater.model import Column, Identity, types
from headwater.model import changes as c
from headwater.model.errors import (
    IllegalArgumentError,
    NonEmptySchemaError,
    NoSuchTableError,
    PartitionAlreadyExistsError,
    TableAlreadyExistsError,
)
from headwater.model.expressions import Literal
from headwater.model.tables import IdentityPartition
from tests import servers
from tests.contract.provider import new_table
from tests.contract.test_providers import opened

ALL = Page()
S = ("s",)


@pytest.fixture(scope="module", params=[servers.hms31, servers.hms40], ids=["hms-3.1", "hms-4.0"])
def hms(request: pytest.FixtureRequest) -> Iterator[servers.HiveMetastore]:
    with request.param() as started:
        yield started


def provider(hms: servers.HiveMetastore, folder: Path, **properties: str) -> MetastoreProvider:
    given = {"metastore.uris": hms.uri} | {k.replace("__", ".").replace("_", "-"): v for k, v in properties.items()}
    found = opened("hive", folder, given)
    assert isinstance(found, MetastoreProvider)
    return found


def columns(*names: str) -> list[Column]:
    return [Column(name, types.String()) for name in names]


def partition(value: str) -> IdentityPartition:
    return IdentityPartition(field_names=[["p"]], values=[Literal(types.String(), value)])


def test_another_catalog_of_the_metastore(hms: servers.HiveMetastore, tmp_path: Path) -> None:
    """Every kind of call stays inside of the catalog that the property names."""
    with hms.client() as client:
        place = f"file:{hms.warehouse}/other"
        client.create_catalog(ttypes.CreateCatalogRequest(ttypes.Catalog("other", "another one", place)))
    usual, other = provider(hms, tmp_path), provider(hms, tmp_path, default__catalog="other")
    other.test()
    for one, comment in ((usual, "usual"), (other, "other")):
        one.create_schema(S, comment, {"k": comment})
        one.create_table(
            S, new_table("t", columns=columns(comment, "p"), comment=comment, partitioning=[Identity(["p"])])
        )
    assert set(other.list_schemas((), ALL)) - {"default"} == {"s"}
    other.alter_schema(S, [c.SetProperty("k", "changed")])
    assert (usual.load_schema(S).value.properties["k"], other.load_schema(S).value.properties["k"]) == (
        "usual",
        "changed",
    )
    other.alter_table(S, "t", [c.AddColumn(["more"], types.Long()), c.UpdateComment("changed")])
    assert [x.name for x in usual.load_table(S, "t").value.columns] == ["usual", "p"]
    assert [x.name for x in other.load_table(S, "t").value.columns] == ["other", "more", "p"]
    other.add_partitions(S, "t", [partition("1"), partition("2")])
    with pytest.raises(PartitionAlreadyExistsError, match="p=2"):
        other.add_partitions(S, "t", [partition("2")])
    assert (usual.list_partitions(S, "t", ALL), other.list_partitions(S, "t", ALL)) == ([], ["p=1", "p=2"])
    assert [p.name for p in other.load_partitions(S, "t", ALL)] == ["p=1", "p=2"]
    assert other.load_partition(S, "t", "p=1").name == "p=1"
    assert other.drop_partitions(S, "t", ["p=1", "p=9"], purge=False) == 1
    other.alter_table(S, "t", [c.RenameTable("u")])
    assert (usual.list_tables(S, ALL), other.list_tables(S, ALL)) == (["t"], ["u"])
    with pytest.raises(NonEmptySchemaError):
        other.drop_schema(S, cascade=False)
    assert other.drop_schema(S, cascade=True) is True
    assert usual.load_table(S, "t").value.comment == "usual"
    assert usual.drop_schema(S, cascade=True) is True
    usual.close()
    other.close()


def test_older_habits_of_listing(hms: servers.HiveMetastore, tmp_path: Path) -> None:
    """With list-all-tables=false Iceberg, Hudi and Paimon are hidden from every verb, and can't be made."""
    everything = provider(hms, tmp_path, warehouse=f"{tmp_path}/wh")
    everything.create_schema(("habits",), None, {})
    everything.create_table(("habits",), new_table("h", columns=columns("id")))
    everything.create_table(("habits",), new_table("i", properties={"table-format": "iceberg"}))
    marks = {
        "hudi": {"spark.sql.sources.provider": "hudi"},
        "paimon": {"table_type": "PAIMON"},
        "delta": {"spark.sql.sources.provider": "delta"},
    }
    with hms.client() as client:
        for name, parameters in marks.items():
            storage = ttypes.StorageDescriptor(cols=[], serdeInfo=ttypes.SerDeInfo(parameters={}), parameters={})
            client.create_table(
                ttypes.Table(
                    tableName=name, dbName="habits", sd=storage, partitionKeys=[], parameters=parameters,
                    tableType="EXTERNAL_TABLE",
                )
            )  # fmt: skip
    assert everything.list_tables(("habits",), ALL) == ["delta", "h", "hudi", "i", "paimon"]
    habits = provider(hms, tmp_path, list_all_tables="false", warehouse=f"{tmp_path}/wh")
    assert habits.list_tables(("habits",), ALL) == ["delta", "h"]
    for hidden in ("i", "hudi", "paimon"):
        with pytest.raises(NoSuchTableError):
            habits.load_table(("habits",), hidden)
        assert habits.drop_table(("habits",), hidden, purge=False) is False
    with pytest.raises(IllegalArgumentError, match=r"table-format: the catalog's filter hides iceberg"):
        habits.create_table(("habits",), new_table("j", properties={"table-format": "iceberg"}))
    for cascade, said in ((False, "3 filtered tables"), (True, "filter hides")):
        with pytest.raises(NonEmptySchemaError, match=said):
            habits.drop_schema(("habits",), cascade)
    assert everything.drop_schema(("habits",), cascade=True) is True
    everything.close()
    habits.close()


def test_an_iceberg_table_becomes_known_by_its_metadata_file(hms: servers.HiveMetastore, tmp_path: Path) -> None:
    elsewhere = opened("lakehouse-iceberg", tmp_path, {"catalog-backend": "memory"})
    assert hasattr(elsewhere, "create_schema") and hasattr(elsewhere, "create_table")
    elsewhere.create_schema(S, None, {})
    made = elsewhere.create_table(S, new_table("t", comment="made elsewhere"))
    folder = Path(made.value.properties["location"].removeprefix("file://")) / "metadata"
    pointer = f"file://{next(folder.glob('*.metadata.json'))}"
    hive = provider(hms, tmp_path)
    hive.create_schema(("known",), None, {})
    with pytest.raises(IllegalArgumentError, match="give no columns"):
        hive.create_table(("known",), new_table("t", properties={"metadata_location": pointer}))
    new = new_table("t", columns=[], properties={"table_type": "ICEBERG", "metadata_location": pointer})
    found = hive.create_table(("known",), new)
    assert found.identity == made.identity, "it is the same table"
    assert [x.name for x in found.value.columns] == [x.name for x in made.value.columns]
    with pytest.raises(TableAlreadyExistsError):
        hive.create_table(("known",), new)
    lost = new_table("lost", columns=[], properties={"metadata_location": f"{pointer}.none"})
    with pytest.raises(Exception, match="can't be read"):
        hive.create_table(("known",), lost)
    assert hive.list_tables(("known",), ALL) == ["t"]
    assert hive.drop_schema(("known",), cascade=True) is True
    assert Path(pointer.removeprefix("file://")).exists(), "the files are not the metastore's"
    hive.close()
    elsewhere.close()
