"""`hive` and `glue`: metastores that hold tables of all formats, of which the Iceberg tables are served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headwater.catalogs.aws import aws_properties
from headwater.catalogs.base import Context, SchemaName
from headwater.catalogs.iceberg import entries
from headwater.catalogs.iceberg.backends.base import Contents, PointerBackend
from headwater.catalogs.iceberg.errors import no_such_schema
from headwater.catalogs.metastores import thrift
from headwater.catalogs.metastores.base import Metastore
from headwater.catalogs.metastores.entries import IDENTITY
from headwater.model.errors import ConnectionFailedError, IllegalArgumentError, NoSuchTableError

if TYPE_CHECKING:
    from headwater.catalogs.iceberg.entries import Style
    from headwater.catalogs.iceberg.metastore import MetastoreBackedCatalog


class MetastoreBackend(PointerBackend):
    """Databases are schemas, on one level; names are kept in lower case."""

    def __init__(self, context: Context, metastore: Metastore, style: Style) -> None:
        super().__init__(context)
        self.metastore, self._style = metastore, style
        self.warehouse = self.given_warehouse()

    # --- connection ------------------------------------------------------------------------------------------------

    def connect(self) -> MetastoreBackedCatalog:
        """The pyiceberg catalog over the metastore; it connects when it is asked."""
        from headwater.catalogs.iceberg.metastore import MetastoreBackedCatalog

        return MetastoreBackedCatalog(self.context.name, self.metastore, self._style, **self.file_properties())

    def probe(self) -> None:
        """One cheap call."""
        self.metastore.probe()

    def close(self) -> None:
        """Let go of connections."""
        super().close()
        self.metastore.close()

    # --- names and places ------------------------------------------------------------------------------------------

    def folded(self, name: str) -> str:
        """Lower case."""
        return name.lower()

    def check_schema_name(self, schema: SchemaName) -> None:
        """One level."""
        if len(schema) > 1:
            raise IllegalArgumentError(
                f"name: a schema of this catalog is a database, which has none inside of it: {':'.join(schema)!r}"
            )

    def warehouse_of(self, schema: SchemaName) -> str | None:
        """The folder that engines give a database."""
        return None if self.warehouse is None else f"{self.warehouse}/{schema[0]}.db"

    # --- namespaces ------------------------------------------------------------------------------------------------

    def namespace(self, schema: SchemaName) -> Mapping[str, str]:
        """A database's parameters, comment and location."""
        if len(schema) > 1:
            raise no_such_schema(self.context, schema)
        properties = self.catalog().load_namespace_properties(schema)
        if IDENTITY in properties:
            return properties
        created = self.metastore.database(schema[0]).created
        return properties if created is None else {**properties, IDENTITY: str(created)}

    def contents(self, schema: SchemaName) -> Contents:
        """All entries, by one pass."""
        tables: list[str] = []
        hidden: list[str] = []
        for entry in self.metastore.entries(schema[0]):
            (tables if entries.is_iceberg(entry) else hidden).append(entry.name)
        return Contents([], tables, hidden)

    # --- tables ----------------------------------------------------------------------------------------------------

    def hidden_as(self, schema: SchemaName, name: str) -> str | None:
        """A view, or a table of another format."""
        try:
            entry = self.metastore.entry(schema[0], name)
        except NoSuchTableError:
            return None
        if entries.is_iceberg(entry):
            return None
        return "a view" if entry.is_view else "a table of another format"

    def pointer(self, schema: SchemaName, name: str) -> str:
        """What the entry says."""
        if len(schema) > 1:
            raise no_such_schema(self.context, schema)
        try:
            entry = self.metastore.entry(schema[0], name)
        except NoSuchTableError:
            raise self.missing(schema, name) from None
        if not entries.is_iceberg(entry):
            raise self.missing(schema, name)
        location = entry.parameter(entries.LOCATION)
        if location is None:
            raise ConnectionFailedError(
                f"Table {self.label(schema, name)} can't be read: its entry has no {entries.LOCATION}"
            )
        return location


class HiveBackend(MetastoreBackend):
    """`hive`: a Hive Metastore."""

    properties = thrift.PROPERTIES

    def __init__(self, context: Context) -> None:
        metastore = thrift.open_thrift(context, context.properties["uri"], "properties.uri")
        super().__init__(context, metastore, entries.hive_style)

    def create_namespace(self, schema: SchemaName, properties: dict[str, str]) -> None:
        """A database has a folder, as Iceberg's HiveCatalog says: in the catalog's warehouse, if it has one."""
        if "location" not in properties and (folder := self.warehouse_of(schema)) is not None:
            properties = {**properties, "location": folder}
        super().create_namespace(schema, properties)

    def update_namespace(self, schema: SchemaName, removals: set[str], updates: dict[str, str]) -> None:
        """A database keeps a location."""
        if "location" in removals:
            raise IllegalArgumentError("updates.location: a database of a Hive Metastore has one; set another instead")
        super().update_namespace(schema, removals, updates)


class GlueBackend(MetastoreBackend):
    """`glue`: AWS Glue."""

    properties = aws_properties(required=False)

    def __init__(self, context: Context) -> None:
        from headwater.catalogs.metastores.glue import open_glue

        super().__init__(context, open_glue(context), entries.glue_style)
