"""The released Gravitino client, unmodified, drives metalakes, catalogs, schemas, tables and filesets over HTTP."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

import pytest
from gravitino import (
    Catalog,
    Fileset,
    FilesetChange,
    GravitinoAdminClient,
    GravitinoClient,
    MetalakeChange,
    NameIdentifier,
    SchemaChange,
)
from gravitino.api.catalog_change import CatalogChange
from gravitino.api.rel.column import Column
from gravitino.api.rel.expressions.distributions.distributions import Distributions
from gravitino.api.rel.expressions.function_expression import FunctionExpression
from gravitino.api.rel.expressions.literals.literals import Literals
from gravitino.api.rel.expressions.named_reference import NamedReference
from gravitino.api.rel.expressions.sorts.null_ordering import NullOrdering
from gravitino.api.rel.expressions.sorts.sort_direction import SortDirection
from gravitino.api.rel.expressions.sorts.sort_orders import SortOrders
from gravitino.api.rel.expressions.transforms.transforms import Transforms
from gravitino.api.rel.indexes.index import Index
from gravitino.api.rel.indexes.indexes import Indexes
from gravitino.api.rel.table import Table
from gravitino.api.rel.table_change import TableChange
from gravitino.api.rel.types.json_serdes.type_serdes import TypeSerdes
from gravitino.api.rel.types.types import Types
from gravitino.audit.caller_context import CallerContext, CallerContextHolder
from gravitino.auth.simple_auth_provider import SimpleAuthProvider
from gravitino.client.fileset_catalog import FilesetCatalog
from gravitino.client.relational_catalog import RelationalCatalog
from gravitino.dto.rel.json_serdes.sort_order_serdes import SortOrderSerdes
from gravitino.dto.rel.partitioning.json_serdes.partitioning_serdes import PartitioningSerdes
from gravitino.dto.util.dto_converters import DTOConverters
from gravitino.exceptions.base import (
    AlreadyExistsException,
    CatalogAlreadyExistsException,
    CatalogInUseException,
    CatalogNotInUseException,
    ConnectionFailedException,
    GravitinoRuntimeException,
    IllegalArgumentException,
    MetalakeAlreadyExistsException,
    MetalakeInUseException,
    MetalakeNotInUseException,
    NonEmptySchemaException,
    NoSuchCatalogException,
    NoSuchFilesetException,
    NoSuchLocationNameException,
    NoSuchMetalakeException,
    NoSuchSchemaException,
    NoSuchTableException,
    NotEmptyException,
    NotInUseException,
    SchemaAlreadyExistsException,
    TableAlreadyExistsException,
    UnsupportedOperationException,
)
from gravitino.namespace import Namespace

UNKNOWN = Fileset.LOCATION_NAME_UNKNOWN
DEFAULT_LOCATION = Fileset.PROPERTY_DEFAULT_LOCATION_NAME
Position = TableChange.ColumnPosition


class RunningServer(Protocol):
    """What the fixture `server` gives."""

    uri: str
    data: Path


def unique(word: str) -> str:
    return f"{word}_{uuid.uuid4().hex[:10]}"


def local(location: str) -> Path:
    """The path on this machine of a location that has a scheme or none."""
    return Path(unquote(urlparse(location).path))


def iceberg_properties(folder: Path) -> dict[str, str]:
    return {
        "catalog-backend": "jdbc",
        "uri": f"sqlite:///{folder / 'ice.db'}",
        "warehouse": str(folder / "wh"),
    }


@pytest.fixture
def admin(server: RunningServer) -> GravitinoAdminClient:
    return GravitinoAdminClient(server.uri)


@pytest.fixture
def metalake(admin: GravitinoAdminClient) -> Iterator[str]:
    name = unique("lake")
    admin.create_metalake(name, "of a test", {"k": "v"})
    yield name
    admin.drop_metalake(name, force=True)


@pytest.fixture
def client(server: RunningServer, metalake: str) -> GravitinoClient:
    return GravitinoClient(server.uri, metalake)


@pytest.fixture
def iceberg(client: GravitinoClient, tmp_path: Path) -> RelationalCatalog:
    return client.create_catalog(
        "ice", Catalog.Type.RELATIONAL, "lakehouse-iceberg", "tables", iceberg_properties(tmp_path)
    )


@pytest.fixture
def tables(iceberg: RelationalCatalog) -> RelationalCatalog:
    """The table operations of an Iceberg catalog that has a schema `s`."""
    iceberg.as_schemas().create_schema("s", None, None)
    return iceberg.as_table_catalog()


@pytest.fixture
def files(client: GravitinoClient, tmp_path: Path) -> FilesetCatalog:
    """A fileset catalog at `<tmp_path>/files` that has a schema `s`."""
    catalog = client.create_catalog("fs", Catalog.Type.FILESET, None, "files", {"location": str(tmp_path / "files")})
    catalog.as_schemas().create_schema("s", "of a test", {"k": "v"})
    return catalog.as_fileset_catalog()


class TestConnection:
    def test_server_version_admits_the_client(self, admin: GravitinoAdminClient) -> None:
        assert admin.get_client_version().compatible_with_server_version(admin.get_server_version())

    def test_close_is_answered(self, server: RunningServer, client: GravitinoClient) -> None:
        client.close()
        GravitinoAdminClient(server.uri, check_version=False).close()

    def test_unknown_metalake(self, server: RunningServer) -> None:
        with pytest.raises(NoSuchMetalakeException):
            GravitinoClient(server.uri, unique("absent"))

    def test_nobody_named_is_anonymous(self, admin: GravitinoAdminClient, metalake: str) -> None:
        assert admin.load_metalake(metalake).audit_info().creator() == "anonymous"

    def test_user_named_by_simple_authentication(
        self, server: RunningServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("GRAVITINO_USER", "hydra")
        admin = GravitinoAdminClient(server.uri, auth_data_provider=SimpleAuthProvider())
        name = unique("lake")
        assert admin.create_metalake(name, "", {}).audit_info().creator() == "hydra"
        try:
            client = GravitinoClient(server.uri, name, auth_data_provider=SimpleAuthProvider())
            catalog = client.create_catalog("fs", Catalog.Type.FILESET, None, "", {"location": str(tmp_path)})
            schema = catalog.as_schemas().create_schema("s", "", {})
            fileset = catalog.as_fileset_catalog().create_fileset(
                NameIdentifier.of("s", "f"), "", Fileset.Type.MANAGED, None, {}
            )
            assert [o.audit_info().creator() for o in (catalog, schema, fileset)] == ["hydra"] * 3
        finally:
            admin.drop_metalake(name, force=True)

    @pytest.mark.parametrize("name", ["half 50%", "100%d", "a%s"])
    def test_message_with_a_percent_sign(self, admin: GravitinoAdminClient, name: str) -> None:
        """The client formats a message with `%`, so that a bare sign in it would hide the real error."""
        with pytest.raises(IllegalArgumentException) as error:
            admin.create_metalake(name, None, None)
        assert type(error.value) is IllegalArgumentException


class TestMetalakes:
    def test_create_and_load(self, admin: GravitinoAdminClient, metalake: str) -> None:
        loaded = admin.load_metalake(metalake)
        assert (loaded.name(), loaded.comment()) == (metalake, "of a test")
        assert loaded.properties() == {"k": "v", "in-use": "true"}
        assert loaded.audit_info().create_time()
        assert loaded.audit_info().last_modifier() is None
        assert metalake in [m.name() for m in admin.list_metalakes()]

    def test_create_answers_what_was_given(self, admin: GravitinoAdminClient) -> None:
        name = unique("lake")
        try:
            created = admin.create_metalake(name, None, {"a": "1", "b": "2"})
            assert (created.name(), created.comment()) == (name, None)
            assert created.properties() == {"a": "1", "b": "2"}
        finally:
            admin.drop_metalake(name, force=True)

    def test_create_without_comment_and_properties(self, admin: GravitinoAdminClient) -> None:
        name = unique("lake")
        admin.create_metalake(name, None, None)
        assert admin.load_metalake(name).properties() == {"in-use": "true"}
        assert admin.drop_metalake(name, force=True)

    def test_already_exists(self, admin: GravitinoAdminClient, metalake: str) -> None:
        with pytest.raises(MetalakeAlreadyExistsException):
            admin.create_metalake(metalake, None, None)

    @pytest.mark.parametrize("name", ["two words", "a.b", "x" * 65, "a-b", "ä", "system"])
    def test_illegal_name(self, admin: GravitinoAdminClient, name: str) -> None:
        with pytest.raises(IllegalArgumentException):
            admin.create_metalake(name, None, None)

    def test_not_found(self, admin: GravitinoAdminClient) -> None:
        absent = unique("absent")
        calls: list[Callable[[], object]] = [
            lambda: admin.load_metalake(absent),
            lambda: admin.alter_metalake(absent, MetalakeChange.update_comment("x")),
            lambda: admin.enable_metalake(absent),
            lambda: admin.disable_metalake(absent),
        ]
        for call in calls:
            with pytest.raises(NoSuchMetalakeException):
                call()
        assert admin.drop_metalake(absent) is False
        assert admin.drop_metalake(absent, force=True) is False

    def test_alter(self, admin: GravitinoAdminClient) -> None:
        old, new = unique("lake"), unique("lake")
        admin.create_metalake(old, "c", {"gone": "1", "kept": "2"})
        try:
            altered = admin.alter_metalake(
                old,
                MetalakeChange.rename(new),
                MetalakeChange.update_comment("other"),
                MetalakeChange.remove_property("gone"),
                MetalakeChange.set_property("kept", "3"),
                MetalakeChange.set_property("made", "4"),
            )
            assert (altered.name(), altered.comment()) == (new, "other")
            assert altered.properties() | {"in-use": "true"} == {"kept": "3", "made": "4", "in-use": "true"}
            assert altered.audit_info().last_modifier() == "anonymous"
            assert admin.load_metalake(new).comment() == "other"
            with pytest.raises(NoSuchMetalakeException):
                admin.load_metalake(old)
            assert admin.alter_metalake(new, MetalakeChange.update_comment(None)).comment() is None
            assert admin.alter_metalake(new).name() == new
        finally:
            admin.drop_metalake(new, force=True)
            admin.drop_metalake(old, force=True)

    def test_alter_refused(self, admin: GravitinoAdminClient, metalake: str) -> None:
        with pytest.raises(IllegalArgumentException):
            admin.alter_metalake(metalake, MetalakeChange.set_property("in-use", "false"))
        with pytest.raises(IllegalArgumentException):
            admin.alter_metalake(metalake, MetalakeChange.rename("not a name"))
        assert admin.load_metalake(metalake).properties()["in-use"] == "true"

    def test_rename_onto_another(self, admin: GravitinoAdminClient, metalake: str) -> None:
        other = unique("lake")
        admin.create_metalake(other, None, None)
        try:
            with pytest.raises(MetalakeAlreadyExistsException):
                admin.alter_metalake(other, MetalakeChange.rename(metalake))
            assert admin.load_metalake(other).name() == other
        finally:
            admin.drop_metalake(other, force=True)

    def test_disable_and_enable(
        self, admin: GravitinoAdminClient, client: GravitinoClient, metalake: str, tmp_path: Path
    ) -> None:
        catalog = client.create_catalog("fs", Catalog.Type.FILESET, None, None, {"location": str(tmp_path)})
        admin.disable_metalake(metalake)
        admin.disable_metalake(metalake)
        assert admin.load_metalake(metalake).properties()["in-use"] == "false"
        with pytest.raises(MetalakeNotInUseException):
            admin.alter_metalake(metalake, MetalakeChange.update_comment("x"))
        calls: list[Callable[[], object]] = [
            client.list_catalogs,
            lambda: client.load_catalog("fs"),
            lambda: client.create_catalog("b", Catalog.Type.FILESET, None, None, {"location": str(tmp_path)}),
            catalog.as_schemas().list_schemas,
        ]
        for call in calls:
            with pytest.raises(NotInUseException):
                call()
        admin.enable_metalake(metalake)
        admin.enable_metalake(metalake)
        assert client.list_catalogs() == ["fs"]
        assert catalog.as_schemas().list_schemas() == []

    def test_drop(self, admin: GravitinoAdminClient, client: GravitinoClient, metalake: str, tmp_path: Path) -> None:
        with pytest.raises(MetalakeInUseException):
            admin.drop_metalake(metalake)
        client.create_catalog("fs", Catalog.Type.FILESET, None, None, {"location": str(tmp_path)})
        admin.disable_metalake(metalake)
        with pytest.raises(NotEmptyException):
            admin.drop_metalake(metalake)
        admin.enable_metalake(metalake)
        client.drop_catalog("fs", force=True)
        admin.disable_metalake(metalake)
        assert admin.drop_metalake(metalake) is True
        assert admin.drop_metalake(metalake) is False

    def test_drop_by_force(
        self, admin: GravitinoAdminClient, iceberg: RelationalCatalog, files: FilesetCatalog, metalake: str
    ) -> None:
        assert admin.drop_metalake(metalake, force=True) is True
        with pytest.raises(NoSuchMetalakeException):
            admin.load_metalake(metalake)


class TestCatalogs:
    def test_create_and_load(self, client: GravitinoClient, iceberg: RelationalCatalog, tmp_path: Path) -> None:
        expected = {**iceberg_properties(tmp_path), "in-use": "true"}
        for catalog in (iceberg, client.load_catalog("ice"), client.list_catalogs_info()[0]):
            assert (catalog.name(), catalog.provider(), catalog.comment()) == ("ice", "lakehouse-iceberg", "tables")
            assert catalog.type() is Catalog.Type.RELATIONAL
            assert catalog.properties() == expected
            assert catalog.audit_info().creator() == "anonymous"

    def test_list(self, client: GravitinoClient, iceberg: RelationalCatalog, files: FilesetCatalog) -> None:
        assert sorted(client.list_catalogs()) == ["fs", "ice"]
        assert {c.name(): c.type() for c in client.list_catalogs_info()} == {
            "fs": Catalog.Type.FILESET,
            "ice": Catalog.Type.RELATIONAL,
        }

    def test_fileset_provider_may_be_left_out_or_bear_its_old_name(
        self, client: GravitinoClient, tmp_path: Path
    ) -> None:
        for name, provider in (("none", None), ("new", "fileset"), ("old", "hadoop")):
            catalog = client.create_catalog(
                name, Catalog.Type.FILESET, provider, None, {"location": str(tmp_path), "own": "1"}
            )
            assert catalog.provider() == "fileset"
            assert catalog.properties() == {"location": str(tmp_path), "own": "1", "in-use": "true"}

    def test_fileset_catalog_needs_no_location(self, client: GravitinoClient) -> None:
        assert client.create_catalog("fs", Catalog.Type.FILESET, None, None, {}).properties() == {"in-use": "true"}

    def test_secrets_never_come_back(self, client: GravitinoClient, tmp_path: Path) -> None:
        secrets = {"s3-access-key-id": "an-id", "s3-secret-access-key": "a-secret"}
        created = client.create_catalog(
            "ice", Catalog.Type.RELATIONAL, "lakehouse-iceberg", None, iceberg_properties(tmp_path) | secrets
        )
        altered = client.alter_catalog("ice", CatalogChange.set_property("s3-secret-access-key", "another"))
        for catalog in (created, altered, client.load_catalog("ice"), *client.list_catalogs_info()):
            assert catalog.properties() == {**iceberg_properties(tmp_path), "in-use": "true"}

    def test_already_exists(self, client: GravitinoClient, iceberg: RelationalCatalog, tmp_path: Path) -> None:
        with pytest.raises(CatalogAlreadyExistsException):
            client.create_catalog("ice", Catalog.Type.FILESET, None, None, {"location": str(tmp_path)})

    def test_not_found(self, client: GravitinoClient) -> None:
        calls: list[Callable[[], object]] = [
            lambda: client.load_catalog("absent"),
            lambda: client.alter_catalog("absent", CatalogChange.update_comment("x")),
            lambda: client.enable_catalog("absent"),
            lambda: client.disable_catalog("absent"),
            lambda: client.test_connection("absent"),
        ]
        for call in calls:
            with pytest.raises(NoSuchCatalogException):
                call()
        assert client.drop_catalog("absent") is False

    def test_metalake_not_found(
        self, admin: GravitinoAdminClient, server: RunningServer, iceberg: RelationalCatalog, metalake: str
    ) -> None:
        client = GravitinoClient(server.uri, metalake)
        admin.drop_metalake(metalake, force=True)
        with pytest.raises(NoSuchMetalakeException):
            client.list_catalogs()
        with pytest.raises(NoSuchMetalakeException):
            client.create_catalog("c", Catalog.Type.FILESET, None, None, {})

    def test_refused(self, client: GravitinoClient, tmp_path: Path) -> None:
        relational, good = Catalog.Type.RELATIONAL, iceberg_properties(tmp_path)
        bad: list[tuple[str, str, dict[str, str]]] = [
            ("c", "no-such-provider", good),
            ("c", "lakehouse-iceberg", {}),
            ("c", "lakehouse-iceberg", {k: v for k, v in good.items() if k != "uri"}),
            ("c", "lakehouse-iceberg", good | {"catalog-backend": "no-such-backend"}),
            ("c", "lakehouse-iceberg", good | {"in-use": "true"}),
            ("two words", "lakehouse-iceberg", good),
            ("system", "lakehouse-iceberg", good),
        ]
        for name, provider, properties in bad:
            with pytest.raises(IllegalArgumentException):
                client.create_catalog(name, relational, provider, None, properties)
        assert client.list_catalogs() == []

    def test_alter(self, client: GravitinoClient, iceberg: RelationalCatalog, tmp_path: Path) -> None:
        altered = client.alter_catalog(
            "ice",
            CatalogChange.rename("ice2"),
            CatalogChange.update_comment("other"),
            CatalogChange.set_property("own.key", "1"),
        )
        expected = {**iceberg_properties(tmp_path), "own.key": "1", "in-use": "true"}
        assert (altered.name(), altered.comment(), altered.properties()) == ("ice2", "other", expected)
        assert altered.audit_info().last_modifier() == "anonymous"
        assert client.list_catalogs() == ["ice2"]
        altered = client.alter_catalog("ice2", CatalogChange.remove_property("own.key"))
        assert "own.key" not in altered.properties()
        assert client.alter_catalog("ice2", CatalogChange.update_comment(None)).comment() is None
        with pytest.raises(NoSuchCatalogException):
            client.load_catalog("ice")

    def test_alter_takes_effect(self, client: GravitinoClient, tables: RelationalCatalog, tmp_path: Path) -> None:
        client.alter_catalog("ice", CatalogChange.set_property("warehouse", str(tmp_path / "elsewhere")))
        tables.as_schemas().create_schema("later", None, None)
        table = tables.create_table(NameIdentifier.of("later", "t"), [Column.of("id", Types.LongType.get())])
        assert local(table.properties()["location"]).is_relative_to(tmp_path / "elsewhere")

    def test_alter_refused(self, client: GravitinoClient, iceberg: RelationalCatalog) -> None:
        before = client.load_catalog("ice").properties()
        for change in (
            CatalogChange.set_property("in-use", "false"),
            CatalogChange.set_property("catalog-backend", "rest"),
            CatalogChange.remove_property("catalog-backend"),
            CatalogChange.rename("two words"),
        ):
            with pytest.raises(IllegalArgumentException):
                client.alter_catalog("ice", CatalogChange.set_property("own.key", "1"), change)
        assert client.load_catalog("ice").properties() == before

    def test_rename_onto_another(
        self, client: GravitinoClient, iceberg: RelationalCatalog, files: FilesetCatalog
    ) -> None:
        with pytest.raises(CatalogAlreadyExistsException):
            client.alter_catalog("ice", CatalogChange.rename("fs"))

    def test_disable_and_enable(
        self, client: GravitinoClient, tables: RelationalCatalog, files: FilesetCatalog
    ) -> None:
        for name in ("ice", "fs"):
            client.disable_catalog(name)
            client.disable_catalog(name)
            assert client.load_catalog(name).properties()["in-use"] == "false"
            with pytest.raises(CatalogNotInUseException):
                client.alter_catalog(name, CatalogChange.update_comment("x"))
        calls: list[Callable[[], object]] = [
            tables.as_schemas().list_schemas,
            lambda: tables.as_schemas().create_schema("x", None, None),
            lambda: tables.as_schemas().drop_schema("s", False),
            lambda: tables.list_tables(Namespace.of("s")),
            lambda: tables.create_table(NameIdentifier.of("s", "t"), [Column.of("id", Types.LongType.get())]),
            lambda: files.list_filesets(Namespace.of("s")),
            lambda: files.load_fileset(NameIdentifier.of("s", "f")),
        ]
        for call in calls:
            with pytest.raises(CatalogNotInUseException):
                call()
        client.enable_catalog("ice")
        client.enable_catalog("ice")
        assert tables.as_schemas().list_schemas() == ["s"]

    @pytest.mark.parametrize("kind", ["iceberg", "files"])
    def test_drop(self, client: GravitinoClient, kind: str, request: pytest.FixtureRequest) -> None:
        catalog: Any = request.getfixturevalue(kind)
        name, schemas = catalog.name(), catalog.as_schemas()
        if not schemas.list_schemas():
            schemas.create_schema("s", None, None)
        with pytest.raises(CatalogInUseException):
            client.drop_catalog(name)
        client.disable_catalog(name)
        with pytest.raises(NotEmptyException):
            client.drop_catalog(name)
        client.enable_catalog(name)
        assert schemas.drop_schema("s", False)
        client.disable_catalog(name)
        assert client.drop_catalog(name) is True
        assert client.drop_catalog(name) is False
        assert client.list_catalogs() == []

    def test_drop_by_force_leaves_the_outside_catalog_alone(
        self, client: GravitinoClient, tables: RelationalCatalog, tmp_path: Path
    ) -> None:
        tables.create_table(NameIdentifier.of("s", "t"), [Column.of("id", Types.LongType.get())])
        assert client.drop_catalog("ice", force=True) is True
        again = client.create_catalog(
            "ice", Catalog.Type.RELATIONAL, "lakehouse-iceberg", None, iceberg_properties(tmp_path)
        )
        assert again.as_table_catalog().load_table(NameIdentifier.of("s", "t")).name() == "t"

    def test_connection_of_an_existing_catalog(
        self, client: GravitinoClient, iceberg: RelationalCatalog, files: FilesetCatalog, tmp_path: Path
    ) -> None:
        client.test_connection("ice")
        client.test_connection("fs")
        client.test_connection("ice", CatalogChange.set_property("warehouse", str(tmp_path / "other")))
        assert client.load_catalog("ice").properties()["warehouse"] == str(tmp_path / "wh")

    def test_connection_that_fails(self, client: GravitinoClient, iceberg: RelationalCatalog, tmp_path: Path) -> None:
        (tmp_path / "a-file").touch()
        unreachable = f"sqlite:///{tmp_path / 'a-file' / 'ice.db'}"
        with pytest.raises(ConnectionFailedException):
            client.test_connection("ice", CatalogChange.set_property("uri", unreachable))
        with pytest.raises(IllegalArgumentException):
            client.test_connection("ice", CatalogChange.set_property("catalog-backend", "rest"))
        client.test_connection("ice")


class TestSchemas:
    def test_fileset_schema(self, files: FilesetCatalog) -> None:
        schemas = files.as_schemas()
        created = schemas.create_schema("t", "a comment", {"a": "1", "b": "2"})
        for schema in (created, schemas.load_schema("t")):
            assert (schema.name(), schema.comment()) == ("t", "a comment")
            assert schema.properties() == {"a": "1", "b": "2"}
            assert schema.audit_info().creator() == "anonymous"
        assert sorted(schemas.list_schemas()) == ["s", "t"]

    def test_iceberg_schema(self, iceberg: RelationalCatalog) -> None:
        schemas = iceberg.as_schemas()
        created = schemas.create_schema("t", "a comment", {"a": "1", "b": "2"})
        for schema in (created, schemas.load_schema("t")):
            assert (schema.name(), schema.comment()) == ("t", "a comment")
            assert {"a": "1", "b": "2"}.items() <= schema.properties().items()
            assert "comment" not in schema.properties()
        assert schemas.list_schemas() == ["t"]

    @pytest.mark.parametrize("kind", ["tables", "files"])
    def test_errors(self, client: GravitinoClient, kind: str, request: pytest.FixtureRequest) -> None:
        catalog: Any = request.getfixturevalue(kind)
        schemas = catalog.as_schemas()
        with pytest.raises(SchemaAlreadyExistsException):
            schemas.create_schema("s", None, None)
        with pytest.raises(NoSuchSchemaException):
            schemas.load_schema("absent")
        with pytest.raises(NoSuchSchemaException):
            schemas.alter_schema("absent", SchemaChange.set_property("a", "1"))
        with pytest.raises(IllegalArgumentException):
            schemas.create_schema("two words", None, None)
        assert schemas.drop_schema("absent", False) is False
        client.drop_catalog(catalog.name(), force=True)
        with pytest.raises(NoSuchCatalogException):
            schemas.list_schemas()
        with pytest.raises(NoSuchCatalogException):
            schemas.create_schema("t", None, None)

    @pytest.mark.parametrize("kind", ["tables", "files"])
    def test_alter(self, kind: str, request: pytest.FixtureRequest) -> None:
        catalog: Any = request.getfixturevalue(kind)
        schemas = catalog.as_schemas()
        schemas.create_schema("t", "a comment", {"gone": "1", "kept": "2"})
        altered = schemas.alter_schema(
            "t",
            SchemaChange.remove_property("gone"),
            SchemaChange.set_property("kept", "3"),
            SchemaChange.set_property("made", "4"),
        )
        for schema in (altered, schemas.load_schema("t")):
            assert schema.comment() == "a comment"
            assert {"kept": "3", "made": "4"}.items() <= schema.properties().items()
            assert "gone" not in schema.properties()

    def test_drop_a_schema_that_has_tables(self, tables: RelationalCatalog) -> None:
        table = NameIdentifier.of("s", "t")
        tables.create_table(table, [Column.of("id", Types.LongType.get())])
        with pytest.raises(NonEmptySchemaException):
            tables.as_schemas().drop_schema("s", False)
        assert tables.drop_table(table) is True
        assert tables.as_schemas().drop_schema("s", False) is True
        assert tables.as_schemas().list_schemas() == []

    def test_drop_a_schema_that_has_filesets(self, files: FilesetCatalog, tmp_path: Path) -> None:
        managed, external = NameIdentifier.of("s", "managed"), NameIdentifier.of("s", "external")
        files.create_fileset(managed, None, Fileset.Type.MANAGED, str(tmp_path / "managed"), {})
        files.create_fileset(external, None, Fileset.Type.EXTERNAL, str(tmp_path / "external"), {})
        with pytest.raises(NonEmptySchemaException):
            files.as_schemas().drop_schema("s", False)
        assert (tmp_path / "managed").is_dir()
        assert files.as_schemas().drop_schema("s", True) is True
        assert not (tmp_path / "managed").exists()
        assert (tmp_path / "external").is_dir()
        assert files.as_schemas().list_schemas() == []

    def test_fileset_schema_has_a_folder(self, files: FilesetCatalog, tmp_path: Path) -> None:
        assert (tmp_path / "files" / "s").is_dir()
        assert files.as_schemas().drop_schema("s", False) is True
        assert not (tmp_path / "files" / "s").exists()

    def test_fileset_schema_location_is_immutable(self, files: FilesetCatalog) -> None:
        with pytest.raises(IllegalArgumentException):
            files.as_schemas().alter_schema("s", SchemaChange.set_property("location", "/elsewhere"))


T = NameIdentifier.of("s", "t")

ADDRESS = Types.StructType.of(
    Types.StructType.Field("street", Types.StringType.get(), True, "with number"),
    Types.StructType.Field("zip", Types.IntegerType.get(), False, ""),
)
ICEBERG_TYPES = {
    "boolean": Types.BooleanType.get(),
    "integer": Types.IntegerType.get(),
    "long": Types.LongType.get(),
    "float": Types.FloatType.get(),
    "double": Types.DoubleType.get(),
    "decimal": Types.DecimalType.of(38, 10),
    "date": Types.DateType.get(),
    "time": Types.TimeType.of(6),
    "timestamp": Types.TimestampType.without_time_zone(6),
    "timestamp_tz": Types.TimestampType.with_time_zone(6),
    "string": Types.StringType.get(),
    "uuid": Types.UUIDType.get(),
    "fixed": Types.FixedType.of(16),
    "binary": Types.BinaryType.get(),
    "struct": ADDRESS,
    "list": Types.ListType.of(Types.StringType.get(), False),
    "map": Types.MapType.of(Types.StringType.get(), Types.LongType.get(), True),
    "nested": Types.ListType.of(Types.MapType.of(Types.IntegerType.get(), ADDRESS, False), True),
}
EVENT_COLUMNS = [
    Column.of("id", Types.LongType.get(), "the key", False),
    Column.of("name", Types.StringType.get()),
    Column.of("at_year", Types.DateType.get()),
    Column.of("at_month", Types.DateType.get()),
    Column.of("at_day", Types.TimestampType.without_time_zone(6)),
    Column.of("at_hour", Types.TimestampType.with_time_zone(6)),
    Column.of("amount", Types.DecimalType.of(9, 2)),
    Column.of("score", Types.FloatType.get()),
    Column.of("address", ADDRESS),
]


def partitioning_of(table: Table) -> list[Any]:
    return [PartitioningSerdes.serialize(DTOConverters.to_dto(t)) for t in table.partitioning()]


def sort_orders_of(table: Table) -> list[Any]:
    return [SortOrderSerdes.serialize(DTOConverters.to_dto(s)) for s in table.sort_order()]


def wire_types(types: dict[str, Any]) -> dict[str, Any]:
    """Types as the client reads them: of `binary` it makes an unparsed type."""
    return {name: TypeSerdes.serialize(TypeSerdes.deserialize(TypeSerdes.serialize(of))) for name, of in types.items()}


def types_of(table: Table) -> dict[str, Any]:
    """The wire form of each column's type: the client's own types are not all comparable."""
    return wire_types({c.name(): c.data_type() for c in table.columns()})


def fields_of(table: Table, column: str) -> list[str]:
    return [field["name"] for field in types_of(table)[column]["fields"]]


def field_term(name: str) -> dict[str, Any]:
    return {"type": "field", "fieldName": [name]}


class TestTables:
    def test_create_list_load_drop(self, tables: RelationalCatalog) -> None:
        assert tables.list_tables(Namespace.of("s")) == []
        assert tables.table_exists(T) is False
        created = tables.create_table(T, EVENT_COLUMNS, "events", {"owner.team": "river"})
        for table in (created, tables.load_table(T)):
            assert (table.name(), table.comment()) == ("t", "events")
            assert [c.name() for c in table.columns()] == [c.name() for c in EVENT_COLUMNS]
            assert table.properties()["owner.team"] == "river"
            assert (table.partitioning(), table.sort_order(), table.index()) == ([], [], [])
            assert table.distribution().strategy().name == "NONE"
            first = table.columns()[0]
            assert (first.comment(), first.nullable(), first.auto_increment()) == ("the key", False, False)
            assert table.columns()[1].comment() in (None, "")
            assert table.columns()[1].nullable() is True
        assert tables.list_tables(Namespace.of("s")) == [T]
        assert tables.table_exists(T) is True
        assert tables.drop_table(T) is True
        assert tables.drop_table(T) is False
        assert tables.list_tables(Namespace.of("s")) == []

    def test_minimal(self, tables: RelationalCatalog) -> None:
        table = tables.create_table(T, [Column.of("id", Types.LongType.get())])
        assert table.comment() is None
        assert types_of(tables.load_table(T)) == {"id": "long"}

    def test_every_type_that_iceberg_has(self, tables: RelationalCatalog) -> None:
        created = tables.create_table(T, [Column.of(name, of) for name, of in ICEBERG_TYPES.items()])
        assert types_of(created) == wire_types(ICEBERG_TYPES)
        assert types_of(tables.load_table(T)) == wire_types(ICEBERG_TYPES)

    def test_columns_may_be_sent_as_they_were_read(self, tables: RelationalCatalog) -> None:
        table = tables.create_table(T, [Column.of(name, of) for name, of in ICEBERG_TYPES.items()])
        assert types_of(table)["binary"] == {"type": "unparsed", "unparsedType": "binary"}
        copy = NameIdentifier.of("s", "copy")
        tables.create_table(copy, [Column.of(c.name(), c.data_type()) for c in table.columns()])
        assert types_of(tables.load_table(copy)) == wire_types(ICEBERG_TYPES)

    def test_precision_is_told_on_load(self, tables: RelationalCatalog) -> None:
        columns = [
            Column.of("time", Types.TimeType.get()),
            Column.of("timestamp", Types.TimestampType.without_time_zone()),
            Column.of("timestamp_tz", Types.TimestampType.with_time_zone()),
        ]
        tables.create_table(T, columns)
        assert types_of(tables.load_table(T)) == {
            "time": "time(6)",
            "timestamp": "timestamp(6)",
            "timestamp_tz": "timestamp_tz(6)",
        }

    @pytest.mark.parametrize(
        "refused",
        [
            Types.ByteType.get(),
            Types.ShortType.get(),
            Types.IntegerType.unsigned(),
            Types.IntervalDayType.get(),
            Types.IntervalYearType.get(),
            Types.UnionType.of(Types.IntegerType.get(), Types.StringType.get()),
            Types.UnparsedType.of("no_such_type"),
            Types.ExternalType.of("enum('a')"),
            Types.ListType.of(Types.ByteType.get(), True),
        ],
        ids=lambda t: t.simple_string(),
    )
    def test_type_that_iceberg_has_not(self, tables: RelationalCatalog, refused: Any) -> None:
        with pytest.raises(IllegalArgumentException):
            tables.create_table(T, [Column.of("id", Types.LongType.get()), Column.of("c", refused)])
        assert tables.list_tables(Namespace.of("s")) == []

    def test_declared_length_is_kept(self, tables: RelationalCatalog) -> None:
        columns = [Column.of("code", Types.FixedCharType.of(3)), Column.of("name", Types.VarCharType.of(20))]
        for table in (tables.create_table(T, columns), tables.load_table(T)):
            assert types_of(table) == {"code": "char(3)", "name": "varchar(20)"}

    @pytest.mark.parametrize(
        ("transform", "expected"),
        [
            (Transforms.identity("id"), {"strategy": "identity", "fieldName": ["id"]}),
            (Transforms.year("at_year"), {"strategy": "year", "fieldName": ["at_year"]}),
            (Transforms.month("at_month"), {"strategy": "month", "fieldName": ["at_month"]}),
            (Transforms.day("at_day"), {"strategy": "day", "fieldName": ["at_day"]}),
            (Transforms.hour("at_hour"), {"strategy": "hour", "fieldName": ["at_hour"]}),
            (Transforms.bucket(16, ["id"]), {"strategy": "bucket", "numBuckets": 16, "fieldNames": [["id"]]}),
            (Transforms.truncate(4, "name"), {"strategy": "truncate", "width": 4, "fieldName": ["name"]}),
        ],
        ids=lambda p: p["strategy"] if isinstance(p, dict) else "",
    )
    def test_partitioning(self, tables: RelationalCatalog, transform: Any, expected: dict[str, Any]) -> None:
        created = tables.create_table(T, EVENT_COLUMNS, partitioning=[transform])
        for table in (created, tables.load_table(T)):
            assert partitioning_of(table) == [expected]
            assert table.distribution().strategy().name == "HASH"

    def test_partitioning_by_several(self, tables: RelationalCatalog) -> None:
        by = [Transforms.day("at_day"), Transforms.bucket(4, ["id"]), Transforms.identity("name")]
        tables.create_table(T, EVENT_COLUMNS, partitioning=by)
        strategies = [p["strategy"] for p in partitioning_of(tables.load_table(T))]
        assert strategies == ["day", "bucket", "identity"]

    @pytest.mark.parametrize(
        "transform",
        [
            Transforms.bucket(4, ["id"], ["name"]),
            Transforms.list(["name"]),
            Transforms.range(["at_day"], []),
            Transforms.apply("no_such_transform", [NamedReference.field(["id"])]),
            Transforms.hour("name"),
            Transforms.bucket(0, ["id"]),
        ],
        ids=["bucket of two", "list", "range", "unknown function", "hour of a string", "no buckets"],
    )
    def test_partitioning_that_iceberg_has_not(self, tables: RelationalCatalog, transform: Any) -> None:
        with pytest.raises(IllegalArgumentException):
            tables.create_table(T, EVENT_COLUMNS, partitioning=[transform])
        assert tables.table_exists(T) is False

    @pytest.mark.parametrize("name", ["year", "month", "day", "hour", "bucket", "truncate"])
    def test_sort_by_function(self, tables: RelationalCatalog, name: str) -> None:
        column = {"bucket": "id", "truncate": "name"}.get(name, f"at_{name}")
        width = [Literals.integer_literal(4)] if name in ("bucket", "truncate") else []
        term = FunctionExpression.of(name, *width, NamedReference.field([column]))
        tables.create_table(T, EVENT_COLUMNS, sort_orders=[SortOrders.descending(term)])
        literal = [{"type": "literal", "dataType": "integer", "value": "4"}] if width else []
        assert sort_orders_of(tables.load_table(T)) == [
            {
                "sortTerm": {"type": "function", "funcName": name, "funcArgs": [*literal, field_term(column)]},
                "direction": "desc",
                "nullOrdering": "nulls_last",
            }
        ]

    def test_sort_by_fields(self, tables: RelationalCatalog) -> None:
        orders = [
            SortOrders.ascending(NamedReference.field(["id"])),
            SortOrders.descending(NamedReference.field(["name"])),
            SortOrders.of(NamedReference.field(["amount"]), SortDirection.ASCENDING, NullOrdering.NULLS_LAST),
        ]
        created = tables.create_table(T, EVENT_COLUMNS, sort_orders=orders)
        for table in (created, tables.load_table(T)):
            assert sort_orders_of(table) == [
                {"sortTerm": field_term("id"), "direction": "asc", "nullOrdering": "nulls_first"},
                {"sortTerm": field_term("name"), "direction": "desc", "nullOrdering": "nulls_last"},
                {"sortTerm": field_term("amount"), "direction": "asc", "nullOrdering": "nulls_last"},
            ]
            assert table.distribution().strategy().name == "RANGE"

    def test_distribution(self, tables: RelationalCatalog) -> None:
        for name, distribution in (("HASH", Distributions.HASH), ("RANGE", Distributions.RANGE)):
            ident = NameIdentifier.of("s", name.lower())
            tables.create_table(
                ident,
                EVENT_COLUMNS,
                partitioning=[Transforms.identity("name")],
                sort_orders=[SortOrders.ascending(NamedReference.field(["id"]))],
                distribution=distribution,
            )
            assert tables.load_table(ident).distribution().strategy().name == name
        with pytest.raises(IllegalArgumentException):
            tables.create_table(T, EVENT_COLUMNS, distribution=Distributions.even(4, NamedReference.field(["id"])))

    def test_properties_that_headwater_derives(self, tables: RelationalCatalog, tmp_path: Path) -> None:
        tables.create_table(T, EVENT_COLUMNS, "events", {"write.format.default": "orc"})
        properties = tables.load_table(T).properties()
        assert properties["write.format.default"] == "orc"
        assert properties["provider"] == "iceberg"
        assert properties["format"] == "iceberg/orc"
        assert properties["format-version"] == "2"
        assert properties["current-snapshot-id"] == "none"
        assert local(properties["location"]).is_relative_to(tmp_path / "wh")
        assert "comment" not in properties

    def test_location_and_format_version_may_be_given(self, tables: RelationalCatalog, tmp_path: Path) -> None:
        given = {"location": str(tmp_path / "own"), "format-version": "1"}
        tables.create_table(T, EVENT_COLUMNS, None, given)
        properties = tables.load_table(T).properties()
        assert local(properties["location"]) == tmp_path / "own"
        assert properties["format-version"] == "1"

    def test_default_values_are_refused(self, tables: RelationalCatalog) -> None:
        column = Column.of("c", Types.LongType.get(), default_value=Literals.long_literal(3))
        with pytest.raises(IllegalArgumentException):
            tables.create_table(T, [Column.of("id", Types.LongType.get()), column])

    def test_auto_increment_is_refused(self, tables: RelationalCatalog) -> None:
        with pytest.raises((IllegalArgumentException, UnsupportedOperationException)):
            tables.create_table(T, [Column.of("id", Types.LongType.get(), auto_increment=True)])

    @pytest.mark.parametrize(
        ("name", "properties"),
        [("two words", {}), ("t", {"current-snapshot-id": "1"}), ("t", {"comment": "x"}), ("t", {"sort-order": "id"})],
    )
    def test_create_refused(self, tables: RelationalCatalog, name: str, properties: dict[str, str]) -> None:
        with pytest.raises(IllegalArgumentException):
            tables.create_table(NameIdentifier.of("s", name), EVENT_COLUMNS, None, properties)

    def test_indexes_are_refused(self, tables: RelationalCatalog) -> None:
        with pytest.raises(IllegalArgumentException):
            tables.create_table(T, EVENT_COLUMNS, indexes=[Indexes.primary("pk", [["id"]])])

    def test_errors(self, client: GravitinoClient, tables: RelationalCatalog) -> None:
        absent, nowhere = NameIdentifier.of("s", "absent"), NameIdentifier.of("nowhere", "t")
        tables.create_table(T, EVENT_COLUMNS)
        with pytest.raises(TableAlreadyExistsException):
            tables.create_table(T, EVENT_COLUMNS)
        with pytest.raises(NoSuchTableException):
            tables.load_table(absent)
        with pytest.raises(NoSuchTableException):
            tables.alter_table(absent, TableChange.update_comment("x"))
        with pytest.raises(NoSuchSchemaException):
            tables.create_table(nowhere, EVENT_COLUMNS)
        with pytest.raises(NoSuchSchemaException):
            tables.list_tables(Namespace.of("nowhere"))
        for ident in (absent, nowhere):
            assert tables.drop_table(ident) is False
            assert tables.purge_table(ident) is False

    @pytest.mark.parametrize("name", ["day=2024-01-01", "a/b", "x" * 64])
    def test_name_that_a_url_must_quote(self, tables: RelationalCatalog, name: str) -> None:
        ident = NameIdentifier.of("s", name)
        tables.create_table(ident, EVENT_COLUMNS)
        assert tables.list_tables(Namespace.of("s")) == [ident]
        assert tables.load_table(ident).name() == name
        assert tables.alter_table(ident, TableChange.update_comment("c")).comment() == "c"
        assert tables.drop_table(ident) is True

    def test_drop_keeps_the_files_and_purge_removes_them(self, tables: RelationalCatalog) -> None:
        table = tables.create_table(T, EVENT_COLUMNS)
        folder = local(table.properties()["location"])
        assert tables.drop_table(T) is True
        assert list(folder.rglob("*.metadata.json")) != []
        other = NameIdentifier.of("s", "other")
        folder = local(tables.create_table(other, EVENT_COLUMNS).properties()["location"])
        assert list(folder.rglob("*.metadata.json")) != []
        assert tables.purge_table(other) is True
        assert list(folder.rglob("*.metadata.json")) == []
        assert tables.table_exists(other) is False


REFUSED_CHANGES = {
    "optional to required": TableChange.update_column_nullability(["name"], False),
    "narrower type": TableChange.update_column_type(["id"], Types.IntegerType.get()),
    "foreign type": TableChange.update_column_type(["id"], Types.VarCharType.of(3)),
    "struct to string": TableChange.update_column_type(["address"], Types.StringType.get()),
    "type of no column": TableChange.update_column_type(["absent"], Types.LongType.get()),
    "delete no column": TableChange.delete_column(["absent"], False),
    "rename no column": TableChange.rename_column(["absent"], "x"),
    "rename onto another": TableChange.rename_column(["id"], "name"),
    "comment of no column": TableChange.update_column_comment(["absent"], "x"),
    "after no column": TableChange.update_column_position(["id"], Position.after("absent")),
    "add one that is there": TableChange.add_column(["id"], Types.LongType.get(), None, Position.default_pos()),
    "add a required one": TableChange.add_column(["r"], Types.LongType.get(), None, Position.default_pos(), False),
    "add a foreign type": TableChange.add_column(["r"], Types.ByteType.get(), None, Position.default_pos()),
    "default value": TableChange.update_column_default_value(["id"], Literals.long_literal(3)),
    "auto increment": TableChange.update_column_auto_increment(["id"], True),
    "add an index": TableChange.add_index(Index.IndexType.PRIMARY_KEY, "pk", [["id"]]),
    "delete an index": TableChange.delete_index("pk", False),
}


class TestTableChanges:
    @pytest.fixture
    def alter(self, tables: RelationalCatalog) -> Callable[..., Table]:
        """Alters the table of `EVENT_COLUMNS` and answers it as it is loaded after that."""
        tables.create_table(T, EVENT_COLUMNS, "events", {"gone": "1", "kept": "2"})

        def apply(*changes: Any) -> Table:
            altered = tables.alter_table(T, *changes)
            loaded = tables.load_table(T)
            assert types_of(altered) == types_of(loaded)
            assert altered.properties().items() >= {"kept": "2"}.items()
            return loaded

        return apply

    @staticmethod
    def names(table: Table) -> list[str]:
        return [c.name() for c in table.columns()]

    def test_comment(self, alter: Callable[..., Table]) -> None:
        assert alter(TableChange.update_comment("other")).comment() == "other"
        assert alter(TableChange.update_comment(None)).comment() is None

    def test_properties(self, alter: Callable[..., Table]) -> None:
        properties = alter(TableChange.set_property("made", "3"), TableChange.remove_property("gone")).properties()
        assert properties["made"] == "3"
        assert "gone" not in properties

    @pytest.mark.parametrize(
        "change",
        [
            TableChange.set_property("current-snapshot-id", "1"),
            TableChange.set_property("location", "/elsewhere"),
            TableChange.remove_property("sort-order"),
            TableChange.set_property("comment", "x"),
        ],
        ids=str,
    )
    def test_property_that_may_not_change(self, alter: Callable[..., Table], change: Any) -> None:
        with pytest.raises(IllegalArgumentException):
            alter(change)

    def test_add_column(self, alter: Callable[..., Table]) -> None:
        text = Types.StringType.get()
        table = alter(
            TableChange.add_column(["last"], text, "at the end", Position.default_pos()),
            TableChange.add_column(["first"], text, None, Position.first()),
            TableChange.add_column(["second"], text, None, Position.after("first")),
        )
        assert self.names(table)[:3] == ["first", "second", "id"]
        assert self.names(table)[-1] == "last"
        assert table.columns()[-1].comment() == "at the end"

    def test_add_nested_column(self, alter: Callable[..., Table]) -> None:
        change = TableChange.add_column(["address", "city"], Types.StringType.get(), None, Position.after("street"))
        assert fields_of(alter(change), "address") == ["street", "city", "zip"]

    def test_rename_column(self, alter: Callable[..., Table]) -> None:
        table = alter(
            TableChange.rename_column(["name"], "title"), TableChange.rename_column(["address", "zip"], "postcode")
        )
        assert "title" in self.names(table)
        assert "name" not in self.names(table)
        assert fields_of(table, "address") == ["street", "postcode"]

    def test_delete_column(self, alter: Callable[..., Table]) -> None:
        table = alter(
            TableChange.delete_column(["name"], False),
            TableChange.delete_column(["absent"], True),
            TableChange.delete_column(["address", "street"], False),
        )
        assert "name" not in self.names(table)
        assert fields_of(table, "address") == ["zip"]

    def test_column_type(self, alter: Callable[..., Table]) -> None:
        table = alter(
            TableChange.update_column_type(["score"], Types.DoubleType.get()),
            TableChange.update_column_type(["amount"], Types.DecimalType.of(20, 2)),
            TableChange.update_column_type(["address", "zip"], Types.LongType.get()),
        )
        types = types_of(table)
        assert (types["score"], types["amount"]) == ("double", "decimal(20,2)")
        assert types["address"]["fields"][1]["type"] == "long"

    def test_column_comment(self, alter: Callable[..., Table]) -> None:
        assert alter(TableChange.update_column_comment(["id"], "other")).columns()[0].comment() == "other"

    def test_column_position(self, alter: Callable[..., Table]) -> None:
        table = alter(
            TableChange.update_column_position(["score"], Position.first()),
            TableChange.update_column_position(["id"], Position.after("name")),
        )
        assert self.names(table)[:3] == ["score", "name", "id"]

    def test_column_nullability(self, alter: Callable[..., Table]) -> None:
        assert alter(TableChange.update_column_nullability(["id"], True)).columns()[0].nullable() is True

    @pytest.mark.parametrize("change", REFUSED_CHANGES.values(), ids=REFUSED_CHANGES)
    def test_refused_change_undoes_the_others(
        self, tables: RelationalCatalog, alter: Callable[..., Table], change: Any
    ) -> None:
        before = tables.load_table(T)
        with pytest.raises((IllegalArgumentException, UnsupportedOperationException)):
            alter(TableChange.set_property("made", "3"), TableChange.update_comment("other"), change)
        after = tables.load_table(T)
        assert (after.comment(), after.properties()) == (before.comment(), before.properties())
        assert types_of(after) == types_of(before)

    def test_several_kinds_at_once(self, alter: Callable[..., Table]) -> None:
        table = alter(
            TableChange.update_comment("other"),
            TableChange.add_column(["extra"], Types.BooleanType.get(), None, Position.default_pos()),
            TableChange.set_property("made", "3"),
            TableChange.delete_column(["score"], False),
        )
        assert (table.comment(), table.properties()["made"]) == ("other", "3")
        assert "extra" in self.names(table)
        assert "score" not in self.names(table)

    def test_rename(self, tables: RelationalCatalog, alter: Callable[..., Table]) -> None:
        new = NameIdentifier.of("s", "t2")
        assert tables.alter_table(T, TableChange.rename("t2")).name() == "t2"
        assert tables.list_tables(Namespace.of("s")) == [new]
        assert tables.load_table(new).comment() == "events"
        with pytest.raises(NoSuchTableException):
            tables.load_table(T)

    def test_rename_into_another_schema(self, tables: RelationalCatalog, alter: Callable[..., Table]) -> None:
        tables.as_schemas().create_schema("archive", None, None)
        assert tables.alter_table(T, TableChange.rename("t2", "archive")).name() == "t2"
        assert tables.list_tables(Namespace.of("archive")) == [NameIdentifier.of("archive", "t2")]
        assert tables.list_tables(Namespace.of("s")) == []

    def test_rename_refused(self, tables: RelationalCatalog, alter: Callable[..., Table]) -> None:
        tables.create_table(NameIdentifier.of("s", "other"), EVENT_COLUMNS)
        with pytest.raises(TableAlreadyExistsException):
            alter(TableChange.rename("other"))
        with pytest.raises(IllegalArgumentException):
            alter(TableChange.rename("two words"))
        with pytest.raises(IllegalArgumentException):
            alter(TableChange.rename("t2"), TableChange.update_comment("other"))
        with pytest.raises(NoSuchSchemaException):
            alter(TableChange.rename("t2", "nowhere"))
        assert tables.load_table(T).comment() == "events"


F = NameIdentifier.of("s", "f")


class TestFilesets:
    def test_managed_at_the_place_of_its_catalog(self, files: FilesetCatalog, tmp_path: Path) -> None:
        created = files.create_fileset(F, "raw files", Fileset.Type.MANAGED, None, {"k": "v"})
        folder = tmp_path / "files" / "s" / "f"
        for fileset in (created, files.load_fileset(F)):
            assert (fileset.name(), fileset.comment()) == ("f", "raw files")
            assert fileset.type() is Fileset.Type.MANAGED
            assert fileset.properties() == {"k": "v", DEFAULT_LOCATION: UNKNOWN}
            assert fileset.storage_location() == f"file:{folder}"
            assert fileset.storage_locations() == {UNKNOWN: f"file:{folder}"}
            assert fileset.audit_info().creator() == "anonymous"
        assert folder.is_dir()
        (folder / "data.csv").write_text("1")
        assert files.list_filesets(Namespace.of("s")) == [F]
        assert files.drop_fileset(F) is True
        assert not folder.exists()
        assert files.drop_fileset(F) is False

    @pytest.mark.parametrize("given", ["{}", "file:{}", "file://{}", "{}/"])
    def test_managed_at_a_place_of_its_own(self, files: FilesetCatalog, tmp_path: Path, given: str) -> None:
        folder = tmp_path / "own"
        fileset = files.create_fileset(F, None, Fileset.Type.MANAGED, given.format(folder), None)
        assert fileset.storage_location() == f"file:{folder}"
        assert folder.is_dir()

    def test_external_keeps_its_files(self, files: FilesetCatalog, tmp_path: Path) -> None:
        folder = tmp_path / "theirs"
        folder.mkdir()
        (folder / "data.csv").write_text("1")
        fileset = files.create_fileset(F, None, Fileset.Type.EXTERNAL, str(folder), {})
        assert fileset.type() is Fileset.Type.EXTERNAL
        assert fileset.storage_location() == f"file:{folder}"
        assert files.drop_fileset(F) is True
        assert (folder / "data.csv").read_text() == "1"

    def test_schema_location_comes_before_that_of_the_catalog(self, files: FilesetCatalog, tmp_path: Path) -> None:
        files.as_schemas().create_schema("own", None, {"location": str(tmp_path / "own")})
        fileset = files.create_fileset(NameIdentifier.of("own", "f"), None, Fileset.Type.MANAGED, None, {})
        assert fileset.storage_location() == f"file:{tmp_path / 'own' / 'f'}"

    def test_placeholders(self, files: FilesetCatalog, tmp_path: Path) -> None:
        location = f"{tmp_path}/{{{{catalog}}}}-{{{{schema}}}}/{{{{fileset}}}}/{{{{version}}}}"
        fileset = files.create_fileset(F, None, Fileset.Type.MANAGED, location, {"placeholder-version": "v1"})
        assert fileset.storage_location() == f"file:{tmp_path}/fs-s/f/v1"
        with pytest.raises(IllegalArgumentException):
            files.create_fileset(NameIdentifier.of("s", "g"), None, Fileset.Type.MANAGED, location, {})

    def test_several_locations(self, files: FilesetCatalog, tmp_path: Path) -> None:
        given = {"hot": str(tmp_path / "hot"), "cold": str(tmp_path / "cold")}
        fileset = files.create_multiple_location_fileset(
            F, None, Fileset.Type.MANAGED, given, {DEFAULT_LOCATION: "hot"}
        )
        expected = {
            UNKNOWN: f"file:{tmp_path}/files/s/f",
            "hot": f"file:{tmp_path}/hot",
            "cold": f"file:{tmp_path}/cold",
        }
        assert fileset.storage_locations() == expected
        assert files.load_fileset(F).storage_locations() == expected
        assert fileset.storage_location() == expected[UNKNOWN]
        assert files.get_file_location(F, "/a/b.csv") == f"file:{tmp_path}/hot/a/b.csv"
        assert files.get_file_location(F, "/a/b.csv", "cold") == f"file:{tmp_path}/cold/a/b.csv"
        with pytest.raises(NoSuchLocationNameException):
            files.get_file_location(F, "/a/b.csv", "absent")
        assert files.drop_fileset(F) is True
        assert not any(local(location).exists() for location in expected.values())

    def test_several_locations_need_a_default(self, files: FilesetCatalog, tmp_path: Path) -> None:
        for properties in ({}, {DEFAULT_LOCATION: "absent"}):
            with pytest.raises(IllegalArgumentException):
                files.create_multiple_location_fileset(
                    F, None, Fileset.Type.MANAGED, {"hot": str(tmp_path / "hot")}, properties
                )
        assert files.list_filesets(Namespace.of("s")) == []
        assert not (tmp_path / "hot").exists()

    @pytest.mark.parametrize(
        ("sub_path", "expected"),
        [("", ""), ("/a/b.csv", "/a/b.csv"), ("a/b.csv", "/a/b.csv"), ("/a b/ü%20+.csv", "/a b/ü%20+.csv")],
    )
    def test_file_location(self, files: FilesetCatalog, tmp_path: Path, sub_path: str, expected: str) -> None:
        files.create_fileset(F, None, Fileset.Type.MANAGED, str(tmp_path / "own"), {})
        assert files.get_file_location(F, sub_path) == f"file:{tmp_path}/own{expected}"
        assert files.get_file_location(F, sub_path, UNKNOWN) == f"file:{tmp_path}/own{expected}"

    def test_renaming_the_whole_folder_is_refused(self, server: RunningServer, files: FilesetCatalog) -> None:
        files.create_fileset(F, None, Fileset.Type.MANAGED, None, {})
        CallerContextHolder.set(CallerContext({"FilesetDataOperation": "RENAME"}))
        with pytest.raises(GravitinoRuntimeException):
            files.get_file_location(F, "")

    def test_errors(self, files: FilesetCatalog) -> None:
        absent, nowhere = NameIdentifier.of("s", "absent"), NameIdentifier.of("nowhere", "f")
        files.create_fileset(F, None, Fileset.Type.MANAGED, None, {})
        with pytest.raises(AlreadyExistsException):
            files.create_fileset(F, None, Fileset.Type.MANAGED, None, {})
        with pytest.raises(NoSuchSchemaException):
            files.create_fileset(nowhere, None, Fileset.Type.MANAGED, None, {})
        with pytest.raises(NoSuchSchemaException):
            files.list_filesets(Namespace.of("nowhere"))
        calls: list[Callable[[], object]] = [
            lambda: files.load_fileset(absent),
            lambda: files.alter_fileset(absent, FilesetChange.update_comment("x")),
            lambda: files.get_file_location(absent, "/a"),
        ]
        for call in calls:
            with pytest.raises(NoSuchFilesetException):
                call()
        assert files.drop_fileset(absent) is False

    def test_create_refused(self, client: GravitinoClient, files: FilesetCatalog, tmp_path: Path) -> None:
        (tmp_path / "a-file").touch()
        nowhere = client.create_catalog("bare", Catalog.Type.FILESET, None, None, {})
        nowhere.as_schemas().create_schema("s", None, None)
        managed, external = Fileset.Type.MANAGED, Fileset.Type.EXTERNAL
        bad: list[tuple[FilesetCatalog, str, Fileset.Type, str | None, dict[str, str]]] = [
            (nowhere, "f", managed, None, {}),
            (files, "f", external, None, {}),
            (files, "f", managed, str(tmp_path / "a-file"), {}),
            (files, "f", managed, str(tmp_path / "files"), {}),
            (files, "f", managed, f"{tmp_path}/{{{{}}}}", {}),
            (files, "f", managed, None, {DEFAULT_LOCATION: "absent"}),
            (files, "f", managed, None, {"placeholder-schema": "x"}),
            (files, "a/b", managed, None, {}),
            (files, "two words", managed, None, {}),
        ]
        for catalog, name, kind, location, properties in bad:
            with pytest.raises(IllegalArgumentException):
                catalog.create_fileset(NameIdentifier.of("s", name), None, kind, location, properties)
        assert files.list_filesets(Namespace.of("s")) == []

    def test_alter(self, files: FilesetCatalog) -> None:
        created = files.create_fileset(F, "c", Fileset.Type.MANAGED, None, {"gone": "1", "kept": "2"})
        altered = files.alter_fileset(
            F,
            FilesetChange.rename("g"),
            FilesetChange.update_comment("other"),
            FilesetChange.remove_property("gone"),
            FilesetChange.set_property("kept", "3"),
        )
        assert (altered.name(), altered.comment()) == ("g", "other")
        assert altered.properties() == {"kept": "3", DEFAULT_LOCATION: UNKNOWN}
        assert altered.storage_locations() == created.storage_locations()
        assert altered.audit_info().last_modifier() == "anonymous"
        with pytest.raises(NoSuchFilesetException):
            files.load_fileset(F)
        g = NameIdentifier.of("s", "g")
        assert files.load_fileset(g).storage_location() == created.storage_location()
        assert files.alter_fileset(g, FilesetChange.update_comment(None)).comment() is None
        files.alter_fileset(g, FilesetChange.update_comment("again"))
        assert files.alter_fileset(g, FilesetChange.remove_comment()).comment() is None

    def test_alter_refused(self, files: FilesetCatalog) -> None:
        g = NameIdentifier.of("s", "g")
        files.create_fileset(F, "c", Fileset.Type.MANAGED, None, {})
        files.create_fileset(g, "c", Fileset.Type.MANAGED, None, {})
        with pytest.raises(IllegalArgumentException):
            files.alter_fileset(F, FilesetChange.set_property(DEFAULT_LOCATION, "other"))
        with pytest.raises(IllegalArgumentException):
            files.alter_fileset(F, FilesetChange.update_comment("x"), FilesetChange.rename("two words"))
        with pytest.raises(AlreadyExistsException):
            files.alter_fileset(F, FilesetChange.update_comment("x"), FilesetChange.rename("g"))
        assert files.load_fileset(F).comment() == "c"
