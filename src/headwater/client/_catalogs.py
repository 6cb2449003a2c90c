"""One catalog, and what lies in it: schemas, tables and filesets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from headwater.client._connection import Connection, path
from headwater.client._decode import decode
from headwater.core.answers import FileEntry
from headwater.engines import EngineSettings
from headwater.model.changes import Change
from headwater.model.errors import IllegalArgumentError, UnsupportedOperationError
from headwater.model.names import NameIdentifier, Namespace
from headwater.model.nouns import Audit, Catalog, CatalogType, Fileset, FilesetType, Schema
from headwater.model.tables import Column, Distribution, Index, Partition, Partitioning, SortOrder, Table

Json: TypeAlias = Mapping[str, Any]
"""An object in its wire form, which does wherever a model object does."""

Strings: TypeAlias = Mapping[str, str]


def given(**fields: Any) -> dict[str, Any]:
    """A request's body: the fields that were given."""
    return {k: v for k, v in fields.items() if v is not None}


def updates(changes: Sequence[Change | Json]) -> dict[str, Any]:
    """The body of an alter request."""
    return {"updates": list(changes)}


def in_schema(ident: NameIdentifier | str) -> tuple[str, str]:
    """The schema and the object that an identifier inside a catalog (or `schema.name`) names."""
    if isinstance(ident, str):
        ident = NameIdentifier.of(*ident.split("."))
    if len(ident.namespace) != 1:
        raise IllegalArgumentError(f"{ident}: a name inside a catalog is NameIdentifier.of(schema, name)")
    return ident.namespace[0], ident.name


def one_schema(namespace: Namespace | str) -> str:
    """The schema that a namespace inside a catalog (or its name) names."""
    if isinstance(namespace, str):
        return namespace
    if len(namespace.levels) != 1:
        raise IllegalArgumentError(f"{namespace}: a namespace inside a catalog is Namespace.of(schema)")
    return namespace.levels[0]


class _Part:
    def __init__(self, connection: Connection, metalake: str, catalog: str) -> None:
        self._connection = connection
        self._above = ("metalakes", metalake, "catalogs", catalog, "schemas")

    def _path(self, *segments: str) -> str:
        return path(*self._above, *segments)


class SchemaCatalog(_Part):
    """The schemas of a catalog. A nested one is named with its levels: `"a:b"`."""

    def list_schemas(
        self, parent: str | None = None, *, prefix: str | None = None, page_size: int | None = None
    ) -> list[str]:
        """The names of all schemas, or of those right below `parent`."""
        return self._connection.names(self._path(), prefix, page_size, parentSchema=parent)

    def create_schema(self, name: str, comment: str | None = None, properties: Strings | None = None) -> Schema:
        """Make a schema."""
        body = given(name=name, comment=comment, properties=properties)
        return decode(self._connection.call("POST", self._path(), body)["schema"], Schema)

    def load_schema(self, name: str) -> Schema:
        """One schema."""
        return decode(self._connection.get(self._path(name))["schema"], Schema)

    def alter_schema(self, name: str, *changes: Change | Json) -> Schema:
        """Set or remove properties."""
        return decode(self._connection.call("PUT", self._path(name), updates(changes))["schema"], Schema)

    def drop_schema(self, name: str, cascade: bool = False) -> bool:
        """Drop a schema, with `cascade` all that is in it too; False if there was none."""
        return bool(self._connection.call("DELETE", self._path(name), query={"cascade": cascade})["dropped"])


class TableCatalog(_Part):
    """The tables of a catalog, each named by `NameIdentifier.of(schema, table)`."""

    def list_tables(
        self, namespace: Namespace | str, *, prefix: str | None = None, page_size: int | None = None
    ) -> list[str]:
        """The names of all tables of a schema."""
        return self._connection.names(self._path(one_schema(namespace), "tables"), prefix, page_size)

    def create_table(
        self,
        ident: NameIdentifier | str,
        columns: Sequence[Column | Json],
        comment: str | None = None,
        properties: Strings | None = None,
        partitioning: Sequence[Partitioning | Json] | None = None,
        distribution: Distribution | Json | None = None,
        sort_orders: Sequence[SortOrder | Json] | None = None,
        indexes: Sequence[Index | Json] | None = None,
    ) -> Table:
        """Make a table. Columns may be given as on the wire: `{"name": "id", "type": "bigint"}`."""
        schema, name = in_schema(ident)
        body = given(
            name=name, comment=comment, columns=columns, properties=properties, partitioning=partitioning,
            distribution=distribution, sortOrders=sort_orders, indexes=indexes,
        )  # fmt: skip
        return decode(self._connection.call("POST", self._path(schema, "tables"), body)["table"], Table)

    def load_table(self, ident: NameIdentifier | str) -> Table:
        """One table."""
        return decode(self._connection.get(self._table(ident))["table"], Table)

    def alter_table(self, ident: NameIdentifier | str, *changes: Change | Json) -> Table:
        """Change a table: all changes in their order and at once, or none."""
        return decode(self._connection.call("PUT", self._table(ident), updates(changes))["table"], Table)

    def drop_table(self, ident: NameIdentifier | str) -> bool:
        """Drop a table; its data may stay where it is. False if there was none."""
        return bool(self._connection.call("DELETE", self._table(ident))["dropped"])

    def purge_table(self, ident: NameIdentifier | str) -> bool:
        """Drop a table and its data; False if there was none."""
        return bool(self._connection.call("DELETE", self._table(ident), query={"purge": True})["dropped"])

    def list_partitions(
        self, table: NameIdentifier | str, *, prefix: str | None = None, page_size: int | None = None
    ) -> list[str]:
        """The names of a table's partitions."""
        pages = self._connection.pages(self._table(table, "partitions"), "names", page_size, namePrefix=prefix)
        return [str(name) for name in pages]

    def load_partitions(self, table: NameIdentifier | str, *, page_size: int | None = None) -> list[Partition]:
        """A table's partitions, whole."""
        pages = self._connection.pages(self._table(table, "partitions"), "partitions", page_size, details="true")
        return [_partition(entry) for entry in pages]

    def load_partition(self, table: NameIdentifier | str, name: str) -> Partition:
        """One partition by its name, such as `dt=2024-01-01/country=us`."""
        return _partition(self._connection.get(self._table(table, "partitions", name))["partition"])

    def add_partitions(self, table: NameIdentifier | str, *partitions: Partition | Json) -> list[Partition]:
        """Add partitions; an error says which were added before it came."""
        body = {"partitions": list(partitions)}
        made = self._connection.call("POST", self._table(table, "partitions"), body)["partitions"]
        return [_partition(entry) for entry in made]

    def drop_partition(self, table: NameIdentifier | str, name: str, purge: bool = False) -> bool:
        """Drop a partition; False if there was none."""
        path_ = self._table(table, "partitions", name)
        return bool(self._connection.call("DELETE", path_, query={"purge": purge})["dropped"])

    def drop_partitions(self, table: NameIdentifier | str, names: Sequence[str], purge: bool = False) -> int:
        """Drop partitions by their names; how many there were."""
        body = {"names": list(names), "purge": purge}
        return int(self._connection.call("POST", self._table(table, "partitions", "drop"), body)["dropped"])

    def _table(self, ident: NameIdentifier | str, *segments: str) -> str:
        schema, name = in_schema(ident)
        return self._path(schema, "tables", name, *segments)


def _partition(entry: Json) -> Partition:
    return cast("Partition", decode(entry, cast("type[Any]", Partition)))


class FilesetCatalog(_Part):
    """The filesets of a catalog, each named by `NameIdentifier.of(schema, fileset)`."""

    def list_filesets(
        self, namespace: Namespace | str, *, prefix: str | None = None, page_size: int | None = None
    ) -> list[str]:
        """The names of all filesets of a schema."""
        return self._connection.names(self._path(one_schema(namespace), "filesets"), prefix, page_size)

    def create_fileset(
        self,
        ident: NameIdentifier | str,
        comment: str | None = None,
        type: FilesetType | str | None = None,  # noqa: A002 - named as it is served
        storage_location: str | None = None,
        storage_locations: Strings | None = None,
        properties: Strings | None = None,
    ) -> Fileset:
        """Make a fileset; without a location it lies below its schema's."""
        schema, name = in_schema(ident)
        body = given(
            name=name, comment=comment, type=type, storageLocation=storage_location,
            storageLocations=storage_locations, properties=properties,
        )  # fmt: skip
        return decode(self._connection.call("POST", self._path(schema, "filesets"), body)["fileset"], Fileset)

    def load_fileset(self, ident: NameIdentifier | str) -> Fileset:
        """One fileset."""
        return decode(self._connection.get(self._fileset(ident))["fileset"], Fileset)

    def alter_fileset(self, ident: NameIdentifier | str, *changes: Change | Json) -> Fileset:
        """Change a fileset's name, comment or properties."""
        return decode(self._connection.call("PUT", self._fileset(ident), updates(changes))["fileset"], Fileset)

    def drop_fileset(self, ident: NameIdentifier | str) -> bool:
        """Drop a fileset, a managed one with its files; False if there was none."""
        return bool(self._connection.call("DELETE", self._fileset(ident))["dropped"])

    def get_file_location(
        self, ident: NameIdentifier | str, sub_path: str = "", location_name: str | None = None
    ) -> str:
        """Where a file of a fileset lies."""
        query = {"sub_path": sub_path, "location_name": location_name}
        return str(self._connection.get(self._fileset(ident, "location"), query)["fileLocation"])

    def list_files(
        self, ident: NameIdentifier | str, sub_path: str | None = None, location_name: str | None = None
    ) -> list[FileEntry]:
        """What lies in a folder of a fileset."""
        query = {"sub_path": sub_path, "location_name": location_name}
        files = self._connection.get(self._fileset(ident, "files"), query)["files"]
        return [decode(f, FileEntry) for f in files]

    def _fileset(self, ident: NameIdentifier | str, *segments: str) -> str:
        schema, name = in_schema(ident)
        return self._path(schema, "filesets", name, *segments)


class CatalogHandle:
    """One catalog as it was when it was loaded, and the way to what lies in it.

    `warnings` name properties that were given when it was made or changed and that its provider does not know.
    """

    def __init__(self, connection: Connection, metalake: str, catalog: Catalog, warnings: Sequence[str] = ()) -> None:
        self._connection, self._metalake = connection, metalake
        self.catalog, self.warnings = catalog, tuple(warnings)

    @property
    def name(self) -> str:
        """Its name."""
        return self.catalog.name

    @property
    def type(self) -> CatalogType:
        """What it holds."""
        return self.catalog.type

    @property
    def provider(self) -> str:
        """The kind of catalog."""
        return self.catalog.provider

    @property
    def comment(self) -> str | None:
        """Its comment."""
        return self.catalog.comment

    @property
    def properties(self) -> dict[str, str]:
        """Its properties, without the hidden ones."""
        return self.catalog.properties

    @property
    def audit(self) -> Audit:
        """Who made it and who changed it last."""
        return self.catalog.audit

    def __repr__(self) -> str:
        return f"<CatalogHandle {self._metalake}.{self.name} ({self.provider})>"

    def as_schemas(self) -> SchemaCatalog:
        """Its schemas."""
        return SchemaCatalog(self._connection, self._metalake, self.name)

    def as_table_catalog(self) -> TableCatalog:
        """Its tables, if it holds any."""
        self._require(CatalogType.RELATIONAL, "tables")
        return TableCatalog(self._connection, self._metalake, self.name)

    def as_fileset_catalog(self) -> FilesetCatalog:
        """Its filesets, if it holds any."""
        self._require(CatalogType.FILESET, "filesets")
        return FilesetCatalog(self._connection, self._metalake, self.name)

    def test_connection(self, *changes: Change | Json) -> None:
        """Raise the reason if its backend can't be reached, or could not be after these changes."""
        where = path("metalakes", self._metalake, "catalogs", self.name, "testConnection")
        self._connection.call("POST", where, updates(changes) if changes else None)

    def engine_settings(self, engine: str) -> EngineSettings:
        """What spark, trino or flink must be told to reach it and its data; secrets are named, not shown."""
        where = path("metalakes", self._metalake, "catalogs", self.name, "engines", engine)
        return decode(self._connection.get(where)["engineSettings"], EngineSettings)

    def _require(self, type_: CatalogType, what: str) -> None:
        if self.type is not type_:
            raise UnsupportedOperationError(f"Catalog {self.name} ({self.provider}) does not support {what}")


__all__ = ["CatalogHandle", "FilesetCatalog", "Json", "SchemaCatalog", "Strings", "TableCatalog", "given", "updates"]
