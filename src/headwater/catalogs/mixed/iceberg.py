"""The Iceberg tables of a metastore: what they are, their metadata files say; the metastore keeps the pointer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from headwater.catalogs.aws import Access
from headwater.catalogs.base import Context, Found, NewTable, SchemaName
from headwater.catalogs.iceberg.entries import refuse_marks
from headwater.catalogs.iceberg.locations import new_location, normalised
from headwater.catalogs.iceberg.properties import TABLE
from headwater.catalogs.iceberg.tables import IcebergTables, check_changes
from headwater.catalogs.metastores import changes, reading, writing
from headwater.catalogs.metastores.base import Metastore
from headwater.catalogs.metastores.entries import EXTERNAL_TABLE, MANAGED_TABLE, Database, Entry
from headwater.model import changes as c
from headwater.model.errors import HeadwaterError, IllegalArgumentError
from headwater.model.tables import Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

POINTER = "metadata_location"
_OURS = ("table_type", "table-format", "table-type", *reading.KINDS.values())
"""Properties of a new table that say what it is to be, and are not the table's own."""


class IcebergSide:
    """Iceberg's tables among those of other formats."""

    def __init__(self, context: Context, metastore: Metastore, access: Access, on_glue: bool) -> None:
        self._context, self._metastore, self._access, self._on_glue = context, metastore, access, on_glue
        self._tables = IcebergTables(context, self._open, self._diagnose)
        self._catalog: Catalog | None = None

    def _open(self) -> Catalog:
        if self._catalog is None:
            from headwater.catalogs.iceberg.entries import glue_style, hive_style
            from headwater.catalogs.iceberg.files import file_properties
            from headwater.catalogs.iceberg.metastore import MetastoreBackedCatalog

            style = glue_style if self._on_glue else hive_style
            files = file_properties(self._context, self._access.storage_properties)
            self._catalog = MetastoreBackedCatalog(self._context.name, self._metastore, style, **files)
        return self._catalog

    def table(self, entry: Entry) -> Found[Table]:
        """What the metadata file says, beside all that the entry says; the entry's columns if it can't be read."""
        shown = reading.to_table(entry)
        pointer = entry.parameter(POINTER)
        if pointer is None:
            shown.properties[reading.SOURCE] = "metastore: the entry has no metadata_location"
            return Found(shown, reading.identity(entry.created, entry.parameters))
        try:
            found = self._tables.read(self._label(entry), entry.name, pointer)
        except HeadwaterError as e:
            shown.properties[reading.SOURCE] = f"metastore: {e.message}"
            return Found(shown, reading.identity(entry.created, entry.parameters))
        table = found.value
        table.properties = {**table.properties, **shown.properties, reading.SOURCE: "iceberg metadata"}
        table.comment = table.comment if table.comment is not None else shown.comment
        table.audit.creator = table.audit.creator or shown.audit.creator
        return found

    def has_metadata(self, entry: Entry) -> bool:
        """Whether the entry points anywhere; one that does not is an Iceberg table by name only."""
        return entry.parameter(POINTER) is not None

    def create(self, database: Database, table: NewTable) -> None:
        """A first metadata file, then the entry; or the entry of a metadata file that is there already."""
        if writing.table_kind(table.properties, EXTERNAL_TABLE) == MANAGED_TABLE:
            raise IllegalArgumentError("properties.table-type: the data of an Iceberg table is never the metastore's")
        pointer = table.properties.get(POINTER)
        if pointer is not None:
            self._register(database, table, pointer)
            return
        properties = {k: v for k, v in table.properties.items() if k not in _OURS}
        TABLE.check_new(properties)
        table = msgspec.structs.replace(table, properties=properties)
        warehouse = self._context.properties.get("warehouse")
        if warehouse is not None:
            warehouse = f"{normalised(self._context, 'properties.warehouse', warehouse)}/{database.name}.db"
        location = new_location(self._context, table, database.location, warehouse)
        self._tables.create((database.name,), table, location)

    def _register(self, database: Database, table: NewTable, pointer: str) -> None:
        others = [k for k in table.properties if k not in (POINTER, *_OURS)]
        if table.columns or others or table.comment or table.partitioning or table.sort_orders:
            raise IllegalArgumentError(
                f"properties.{POINTER}: the metadata file says what the table is; give no columns and nothing else"
            )
        pointer = normalised(self._context, f"properties.{POINTER}", pointer)
        self._tables.register((database.name,), table.name, pointer)

    def alter(self, entry: Entry, updates: Sequence[c.TableChange]) -> tuple[str, str]:
        """One commit; the answer is where the table is then."""
        check_changes(updates)
        refuse_marks(u.property for u in updates if isinstance(u, c.SetTableProperty))
        rename = updates[0]
        if isinstance(rename, c.RenameTable):
            database = (rename.new_schema_name or entry.database).lower()
            self._metastore.database(database)
            self._tables.rename((entry.database,), entry.name, (database,), rename.new_name.lower())
            return database, rename.new_name.lower()
        ours = [u for u in updates if self._is_about_entry(entry, u)]
        if ours and len(ours) < len(updates):
            names = ", ".join(sorted({u.property for u in ours if isinstance(u, _PROPERTY)}))
            raise IllegalArgumentError(
                f"updates: {names} belong to the metastore's entry, the rest to the Iceberg table: make two requests"
            )
        if ours:
            self._rewrite(entry, ours)
        else:
            self._tables.alter((entry.database,), entry.name, updates)
        return entry.database, entry.name

    def _is_about_entry(self, entry: Entry, update: c.TableChange) -> bool:
        """Whether a property is a parameter that somebody gave the entry, and no property of the Iceberg table."""
        if not isinstance(update, _PROPERTY) or update.property not in entry.parameters:
            return False
        pointer = entry.parameter(POINTER)
        if pointer is None:
            return True
        return update.property not in self._tables.read(self._label(entry), entry.name, pointer).value.properties

    def _rewrite(self, entry: Entry, updates: Sequence[c.TableChange]) -> None:
        with self._metastore.locked(entry.database, entry.name):
            before = self._metastore.entry(entry.database, entry.name)
            self._metastore.replace(before, changes.changed(before, updates))

    def purge(self, entry: Entry) -> None:
        """The entry, then all files."""
        self._tables.purge((entry.database,), entry.name)

    def _diagnose(self, schema: SchemaName, name: str) -> None:
        entry = self._metastore.entry(schema[0], name)
        self._tables.read(self._label(entry), name, entry.parameter(POINTER) or "")

    def _label(self, entry: Entry) -> str:
        return f"{self._context.name}.{entry.database}.{entry.name}"


_PROPERTY = (c.SetTableProperty, c.RemoveProperty)
