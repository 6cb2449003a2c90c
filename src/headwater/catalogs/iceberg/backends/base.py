"""What is asked of whatever keeps the list of namespaces and tables, answered by any pyiceberg catalog."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from headwater.catalogs.aws import Access
from headwater.catalogs.base import Context, Found, NewTable, Page, SchemaName
from headwater.catalogs.iceberg.errors import no_such_schema, no_such_table, translated
from headwater.catalogs.iceberg.locations import new_location, normalised
from headwater.catalogs.iceberg.tables import IcebergTables
from headwater.model.errors import (
    ConnectionFailedError,
    HeadwaterError,
    IllegalArgumentError,
    NoSuchSchemaError,
    NoSuchTableError,
)
from headwater.model.names import join_schema
from headwater.model.properties import DRIVER_PREFIX, Property
from headwater.model.tables import Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


class Contents(msgspec.Struct, frozen=True):
    """What lies in a namespace."""

    namespaces: list[SchemaName]
    tables: list[str]
    hidden: list[str]
    """What is there and not served: views, and tables of other formats."""


class Backend:
    """A pyiceberg catalog, asked by nothing but pyiceberg's own interface. Making one checks properties, without I/O.

    A family that can do better overrides what it does better. Errors are those of the libraries: the caller translates.
    """

    properties: ClassVar[tuple[Property, ...]] = ()
    """The catalog properties that it knows besides those of all backends."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.tables = IcebergTables(context, self.catalog, self.load_table, self.normalised)
        self._access = Access(context)
        self._opening = threading.Lock()
        self._catalog: Catalog | None = None

    # --- connection ------------------------------------------------------------------------------------------------

    def connect(self) -> Catalog:
        """Open the pyiceberg catalog."""
        raise NotImplementedError

    def catalog(self) -> Catalog:
        """The open pyiceberg catalog."""
        with self._opening:
            if self._catalog is None:
                self._catalog = self.connect()
            return self._catalog

    def probe(self) -> None:
        """Reach what is behind it, without making anything there."""
        self.catalog().list_namespaces()

    def close(self) -> None:
        """Let go of connections. It takes no lock: a thread that hangs in opening may hold that for long."""
        catalog, self._catalog = self._catalog, None
        if catalog is not None:
            catalog.close()

    def token(self) -> Hashable | None:
        """See Provider.token."""
        return None

    def file_properties(self) -> dict[str, Any]:
        """What the pyiceberg catalog is told of files."""
        from headwater.catalogs.iceberg.files import file_properties

        return file_properties(self.context, self._storage)

    def _storage(self) -> dict[str, str]:
        seconds = str(self.context.timeout / 4)
        given = self.context.properties
        return {
            **{f"s3.{kind}-timeout": seconds for kind in ("connect", "request")},
            **self._access.storage_properties(),
            **{k.removeprefix(DRIVER_PREFIX): v for k, v in given.items() if k.startswith(f"{DRIVER_PREFIX}s3.")},
        }

    # --- names and places ------------------------------------------------------------------------------------------

    def folded(self, name: str) -> str:
        """A name as it is kept."""
        return name

    def check_schema_name(self, schema: SchemaName) -> None:
        """Refuse a new namespace that can't be kept here."""

    def normalised(self, field: str, location: str) -> str:
        """A location that the catalog is given, as it is written down."""
        return normalised(self.context, field, location)

    def new_location(self, schema: SchemaName, table: NewTable) -> str | None:
        """Where a new table goes; None leaves it to the pyiceberg catalog."""
        given = table.properties.get("location")
        return None if given is None else self.normalised("properties.location", given)

    # --- namespaces ------------------------------------------------------------------------------------------------

    def namespaces(self, parent: SchemaName) -> list[SchemaName]:
        """Those right below another one; `()` is the catalog."""
        return [tuple(n) for n in self.catalog().list_namespaces(parent)]

    def has_namespace(self, schema: SchemaName) -> bool:
        """Whether it is there."""
        return self.catalog().namespace_exists(schema)

    def namespace(self, schema: SchemaName) -> Mapping[str, str]:
        """Its properties, or pyiceberg's NoSuchNamespaceError."""
        return self.catalog().load_namespace_properties(schema)

    def create_namespace(self, schema: SchemaName, properties: dict[str, str]) -> None:
        """Make it, or pyiceberg's NamespaceAlreadyExistsError."""
        self.catalog().create_namespace(schema, properties)

    def update_namespace(self, schema: SchemaName, removals: set[str], updates: dict[str, str]) -> None:
        """Set and remove properties in one step."""
        if removals or updates:
            self.catalog().update_namespace_properties(schema, removals, updates)

    def drop_namespace(self, schema: SchemaName) -> None:
        """Drop an empty one."""
        self.catalog().drop_namespace(schema)

    def contents(self, schema: SchemaName) -> Contents:
        """All that lies in it."""
        catalog = self.catalog()
        tables = [t[-1] for t in catalog.list_tables(schema)]
        return Contents(self.namespaces(schema), tables, self.views(schema))

    def views(self, schema: SchemaName) -> list[str]:
        """The views in it, which are not served here."""
        try:
            return [v[-1] for v in self.catalog().list_views(schema)]
        except NotImplementedError:  # this catalog has none
            return []

    # --- tables ----------------------------------------------------------------------------------------------------

    def table_names(self, schema: SchemaName, page: Page) -> list[str]:
        """The wanted part of a namespace's tables."""
        names = page.cut(t[-1] for t in self.catalog().list_tables(schema))
        if not names and not self.has_namespace(schema):
            raise no_such_schema(self.context, schema)
        return names

    def hidden_as(self, schema: SchemaName, name: str) -> str | None:
        """What bears a name without being a table that is served: `a view`; None if there is no such thing."""
        return "a view" if name in self.views(schema) else None

    def load_table(self, schema: SchemaName, name: str) -> Found[Table]:
        """The table, or the error that says why there is none to be had."""
        try:
            with translated():
                return self.read_table(schema, name)
        except (NoSuchTableError, NoSuchSchemaError):
            raise self.missing(schema, name) from None
        except (IllegalArgumentError, RecursionError, LookupError, AttributeError, TypeError) as e:
            reason = e.message if isinstance(e, HeadwaterError) else "its metadata is not that of a table"
            raise ConnectionFailedError(f"Table {self.label(schema, name)} can't be read: {reason}") from None

    def read_table(self, schema: SchemaName, name: str) -> Found[Table]:
        """The table as pyiceberg's catalog gives it: with its metadata, so that no file is read a second time."""
        table = self.catalog().load_table((*schema, name))
        return self.tables.decode(name, table.metadata.model_dump_json().encode())

    def missing(self, schema: SchemaName, name: str) -> NoSuchSchemaError | NoSuchTableError:
        """The error for a table that is not there, which may be for want of its schema."""
        with translated():
            there = self.has_namespace(schema)
        return no_such_table(self.context, schema, name) if there else no_such_schema(self.context, schema)

    def label(self, schema: SchemaName, name: str) -> str:
        """What messages call a table."""
        return f"{self.context.name}.{join_schema(schema)}.{name}"


class PointerBackend(Backend):
    """Keeps pointers to metadata files: a load asks for the pointer and reads the file itself."""

    warehouse: str | None = None

    def pointer(self, schema: SchemaName, name: str) -> str:
        """Where the table's current metadata lies, or NoSuchTableError or NoSuchSchemaError."""
        raise NotImplementedError

    def load_table(self, schema: SchemaName, name: str) -> Found[Table]:
        """The pointer, then the file that it points to."""
        location = self._translated_pointer(schema, name)
        while True:
            try:
                return self.tables.read(self.label(schema, name), name, location)
            except ConnectionFailedError:
                # The table may have moved on, or been purged, between the two steps.
                before, location = location, self._translated_pointer(schema, name)
                if location == before:
                    raise

    def _translated_pointer(self, schema: SchemaName, name: str) -> str:
        with translated():
            return self.pointer(schema, name)

    def new_location(self, schema: SchemaName, table: NewTable) -> str:
        """The table's own location; else the schema's and the name; else the catalog's warehouse."""
        folder = None if "location" in table.properties else self.namespace(schema).get("location")
        return new_location(self.context, table, folder, self.warehouse_of(schema))

    def warehouse_of(self, schema: SchemaName) -> str | None:
        """The part of the warehouse that belongs to a namespace."""
        return None if self.warehouse is None else "/".join((self.warehouse, *schema))

    def given_warehouse(self) -> str | None:
        """The catalog's property, checked."""
        given = self.context.properties.get("warehouse")
        return None if given is None else self.normalised("properties.warehouse", given)
