"""The Python client against a real server: every verb, and errors as the server raised them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater import Client, NameIdentifier, Namespace
from headwater.client import CatalogHandle
from headwater.model import (
    AddColumn,
    Bucket,
    Column,
    Day,
    DeleteColumn,
    FilesetType,
    Long,
    RemoveProperty,
    Rename,
    RenameTable,
    SetProperty,
    SetTableProperty,
    String,
    Timestamp,
    UpdateComment,
)
from headwater.model.errors import (
    CatalogAlreadyExistsError,
    CatalogInUseError,
    ConnectionFailedError,
    IllegalArgumentError,
    MetalakeInUseError,
    MetalakeNotInUseError,
    NonEmptySchemaError,
    NoSuchCatalogError,
    NoSuchMetalakeError,
    NoSuchSchemaError,
    NoSuchTableError,
    UnsupportedOperationError,
)
from tests.harness import Server

METALAKE = "python_client"


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Client]:
    with Client(server.uri, metalake=METALAKE, user="ann") as made:
        made.create_metalake(METALAKE)
        yield made
        made.drop_metalake(METALAKE, force=True)


def iceberg(folder: Path) -> dict[str, str]:
    return {"catalog-backend": "jdbc", "uri": f"sqlite:///{folder}/ice.db", "warehouse": f"{folder}/wh"}


@pytest.fixture(scope="module")
def ice(client: Client, tmp_path_factory: pytest.TempPathFactory) -> CatalogHandle:
    folder = Path(tmp_path_factory.mktemp("ice"))
    return client.create_catalog("ice", provider="lakehouse-iceberg", properties=iceberg(folder))


@pytest.fixture(scope="module")
def files(client: Client, tmp_path_factory: pytest.TempPathFactory) -> CatalogHandle:
    location = str(tmp_path_factory.mktemp("files"))
    return client.create_catalog("files", type="fileset", comment="c", properties={"location": location})


def test_the_server(client: Client) -> None:
    assert client.version() == "0.1.0"
    names = [p.name for p in client.providers()]
    assert {"fileset", "lakehouse-iceberg"} <= set(names)
    declared = client.provider("lakehouse-iceberg").catalog_properties
    assert "warehouse" in [p.name for p in declared]


def test_metalakes(client: Client) -> None:
    made = client.create_metalake("python_client_2", "a comment", {"a": "b"})
    assert (made.name, made.comment, made.properties["a"], made.audit.creator) == (
        "python_client_2", "a comment", "b", "ann",
    )  # fmt: skip
    assert {"python_client", "python_client_2"} <= set(client.list_metalakes())
    assert client.list_metalakes(prefix="python_client_", page_size=1) == ["python_client_2"]
    changed = client.alter_metalake(
        "python_client_2", Rename("python_client_3"), UpdateComment("new"), SetProperty("c", "d"), RemoveProperty("a")
    )
    assert (changed.name, changed.comment) == ("python_client_3", "new")
    assert changed.properties["c"] == "d" and "a" not in changed.properties
    with pytest.raises(MetalakeInUseError):
        client.drop_metalake("python_client_3")
    client.disable_metalake("python_client_3")
    assert client.load_metalake("python_client_3").properties["in-use"] == "false"
    with pytest.raises(MetalakeNotInUseError):
        client.alter_metalake("python_client_3", UpdateComment("x"))
    client.enable_metalake("python_client_3")
    client.disable_metalake("python_client_3")
    assert client.drop_metalake("python_client_3")
    assert not client.drop_metalake("python_client_3")
    with pytest.raises(NoSuchMetalakeError) as caught:
        client.load_metalake("python_client_3")
    assert caught.value.request_id


def test_catalogs(client: Client, ice: CatalogHandle, tmp_path: Path) -> None:
    assert ice.provider == "lakehouse-iceberg" and ice.audit.creator == "ann" and not ice.warnings
    made = client.create_catalog("other", "lakehouse-iceberg", properties={**iceberg(tmp_path), "my-key": "v"})
    assert "my-key" in made.warnings[0]
    with pytest.raises(CatalogAlreadyExistsError):
        client.create_catalog("other", "lakehouse-iceberg", properties=iceberg(tmp_path))
    assert set(client.list_catalogs()) >= {"ice", "other"}
    assert client.list_catalogs(prefix="oth", page_size=1) == ["other"]
    assert [c.name for c in client.list_catalogs_info(prefix="oth")] == ["other"]
    changed = client.alter_catalog("other", Rename("another"), UpdateComment("c"), SetProperty("k", "v"))
    assert (changed.name, changed.comment, changed.properties["k"]) == ("another", "c", "v")
    with pytest.raises(CatalogInUseError):
        client.drop_catalog("another")
    client.disable_catalog("another")
    client.enable_catalog("another")
    assert client.drop_catalog("another", force=True) and not client.drop_catalog("another")
    with pytest.raises(NoSuchCatalogError, match="another"):
        client.load_catalog("another")
    with pytest.raises(IllegalArgumentError, match=r"unknown provider 'glu'.*allowed are"):
        client.create_catalog("x", "glu")


def test_connections_are_tested(client: Client, ice: CatalogHandle, tmp_path: Path) -> None:
    ice.test_connection()
    client.test_connection("new", "lakehouse-iceberg", properties=iceberg(tmp_path))
    dead = {**iceberg(tmp_path), "uri": "postgresql://127.0.0.1:9/x"}
    with pytest.raises(ConnectionFailedError):
        client.test_connection("new", "lakehouse-iceberg", properties=dead)
    with pytest.raises(ConnectionFailedError):
        ice.test_connection(SetProperty("uri", dead["uri"]))
    assert "new" not in client.list_catalogs()


def test_schemas(client: Client, ice: CatalogHandle) -> None:
    schemas = ice.as_schemas()
    made = schemas.create_schema("one", "a comment", {"a": "b"})
    assert (made.name, made.comment, made.properties["a"]) == ("one", "a comment", "b")
    schemas.create_schema("one:two")
    schemas.create_schema("three")
    assert client.schemas("ice").list_schemas() == ["one", "three"]
    assert schemas.list_schemas(page_size=1) == ["one", "three"]
    assert schemas.list_schemas("one") == ["one:two"]
    assert schemas.list_schemas(prefix="th") == ["three"]
    changed = schemas.alter_schema("one", SetProperty("c", "d"), RemoveProperty("a"))
    assert changed.properties == {"c": "d"} and schemas.load_schema("one") == changed
    assert schemas.drop_schema("three") and not schemas.drop_schema("three")
    with pytest.raises(NonEmptySchemaError):
        schemas.drop_schema("one")
    with pytest.raises(NoSuchSchemaError):
        schemas.load_schema("none/at all")


def test_tables(client: Client, ice: CatalogHandle) -> None:
    ice.as_schemas().create_schema("s")
    tables, ident = ice.as_table_catalog(), NameIdentifier.of("s", "t")
    made = tables.create_table(
        ident,
        [
            Column("id", Long(), nullable=False),
            {"name": "at", "type": "timestamp"},
            {"name": "name", "type": "varchar(9)"},
        ],
        comment="c",
        properties={"a": "b"},
        partitioning=[Day(["at"]), Bucket(4, [["id"]])],
    )
    assert made.columns[0] == Column("id", Long(), nullable=False) and made.columns[1].type == Timestamp(6)
    assert made.partitioning == [Day(["at"]), Bucket(4, [["id"]])]
    assert made.comment == "c" and made.properties["a"] == "b" and made.audit.creator == "ann"
    assert tables.load_table(ident) == made
    assert client.tables("ice").list_tables(Namespace.of("s")) == ["t"]
    assert tables.list_tables(Namespace.of("s"), prefix="x", page_size=1) == []
    changed = tables.alter_table(
        ident,
        AddColumn(["note"], String()),
        DeleteColumn(["name"]),
        SetTableProperty("c", ""),
        {"@type": "updateComment", "newComment": "new"},
    )
    assert [c.name for c in changed.columns] == ["id", "at", "note"]
    assert changed.comment == "new" and changed.properties["c"] == ""
    assert tables.alter_table(ident, RenameTable("t2")).name == "t2"
    with pytest.raises(NoSuchTableError) as caught:
        tables.load_table(ident)
    assert caught.value.request_id
    assert tables.drop_table(NameIdentifier.of("s", "t2")) and not tables.drop_table(NameIdentifier.of("s", "t2"))
    tables.create_table(ident, [{"name": "id", "type": "bigint"}])
    assert tables.purge_table(ident) and not tables.purge_table(ident)
    assert ice.as_schemas().drop_schema("s", cascade=True)


def test_filesets(client: Client, files: CatalogHandle, tmp_path: Path) -> None:
    assert files.provider == "fileset"
    files.as_schemas().create_schema("raw")
    filesets, ident = files.as_fileset_catalog(), NameIdentifier.of("raw", "logs")
    made = filesets.create_fileset(ident, "c", properties={"a": "b"})
    assert made.type is FilesetType.MANAGED and made.comment == "c" and made.properties["a"] == "b"
    outside = NameIdentifier.of("raw", "outside")
    assert filesets.create_fileset(outside, type="external", storage_location=str(tmp_path)).name == "outside"
    assert client.filesets("files").list_filesets(Namespace.of("raw"), page_size=1) == ["logs", "outside"]
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("hello")
    assert [(f.name, f.is_dir) for f in filesets.list_files(outside)] == [("sub", True)]
    assert [(f.name, f.size) for f in filesets.list_files(outside, "sub")] == [("a.txt", 5)]
    assert filesets.get_file_location(outside, "sub/a.txt") == f"file:{tmp_path}/sub/a.txt"
    changed = filesets.alter_fileset(ident, Rename("logs2"), UpdateComment("new"))
    assert (changed.name, changed.comment) == ("logs2", "new")
    renamed = NameIdentifier.of("raw", "logs2")
    assert filesets.load_fileset(renamed) == changed
    assert filesets.drop_fileset(renamed) and not filesets.drop_fileset(renamed)
    with pytest.raises(UnsupportedOperationError):
        client.tables("files").list_tables(Namespace.of("raw"))
