"""A provider on a metastore: one behaviour for the Hive Metastore and for Glue."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from headwater.catalogs.aws import Access
from headwater.catalogs.base import Context, Found, NewTable, Page, Provider, SchemaName, deleted
from headwater.catalogs.metastores import changes, formats, reading, writing
from headwater.catalogs.metastores.base import Metastore
from headwater.catalogs.metastores.entries import (
    IDENTITY,
    MANAGED_TABLE,
    MATERIALIZED_VIEW,
    VIEWS,
    VIRTUAL_VIEW,
    Database,
    Entry,
)
from headwater.catalogs.mixed import places
from headwater.catalogs.mixed.partitioned import Partitioned
from headwater.catalogs.mixed.properties import SCHEMA, TABLE
from headwater.model import changes as c
from headwater.model.errors import (
    IllegalArgumentError,
    IllegalNameError,
    NonEmptySchemaError,
    NoSuchSchemaError,
    NoSuchTableError,
    UnsupportedOperationError,
)
from headwater.model.names import join_schema
from headwater.model.nouns import CatalogType, Schema
from headwater.model.tables import Table

if TYPE_CHECKING:
    from headwater.catalogs.mixed.iceberg import IcebergSide


class MetastoreProvider(Partitioned, Provider):
    """Tables of every format that a metastore holds. A subclass opens the metastore and says what it shows."""

    type = CatalogType.RELATIONAL
    schema_properties = SCHEMA
    table_properties = TABLE

    default_kind = MANAGED_TABLE
    """Of a new Hive table that says nothing about it."""
    default_file_format = "TEXTFILE"
    """Of a new Hive table that names none."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.default_table_format = context.properties.get("default-table-format", self.usual_table_format()).lower()
        self.filter = self.shown_formats()
        self._access = Access(context, separate=self.separate_keys)
        self.metastore = self.open_metastore()

    # --- what a subclass says --------------------------------------------------------------------------------------

    def open_metastore(self) -> Metastore:
        """The metastore that the catalog's properties name; checks them and does no I/O."""
        raise NotImplementedError

    on_glue = False
    """Whether the metastore is AWS Glue, where Iceberg's writers leave other marks than in the Hive Metastore."""
    separate_keys = False
    """Whether Glue is reached by `aws-` keys only; else the `s3-` keys do for both."""

    def usual_table_format(self) -> str:
        """The format of a new table, if neither it nor the catalog names one."""
        return formats.HIVE

    def shown_formats(self) -> frozenset[str]:
        """What is listed and loaded: words of `formats.FILTERS`."""
        return frozenset({"all"})

    @cached_property
    def iceberg(self) -> IcebergSide:
        """The Iceberg tables in this metastore; until there are any, their code is not loaded."""
        from headwater.catalogs.mixed.iceberg import IcebergSide

        return IcebergSide(self.context, self.metastore, self._access, self.on_glue)

    # --- connection ------------------------------------------------------------------------------------------------

    def fold(self, name: str) -> str:
        """Metastores keep lower case."""
        return name.lower()

    def _folded(self, page: Page) -> Page:
        return msgspec.structs.replace(page, prefix=self.fold(page.prefix))

    def check_name(self, kind: str, name: str) -> None:
        """A slash would put the folder of one table into that of another."""
        if "/" in name:
            raise IllegalNameError(f"name: the {kind} name {name!r} is illegal: a metastore makes a folder of it")

    def test(self) -> None:
        """One cheap call."""
        self.metastore.probe()

    def close(self) -> None:
        """Hang up."""
        self.metastore.close()

    # --- schemas ---------------------------------------------------------------------------------------------------

    def list_schemas(self, parent: SchemaName, page: Page) -> list[str]:
        """Databases; there are none inside of others."""
        if parent:
            self.metastore.database(self._database(parent))
            return []
        return self._folded(page).cut(self.metastore.databases())

    def load_schema(self, schema: SchemaName) -> Found[Schema]:
        """One database."""
        found = self.metastore.database(self._database(schema))
        return Found(reading.to_schema(found), reading.identity(found.created, found.parameters))

    def create_schema(self, schema: SchemaName, comment: str | None, properties: dict[str, str]) -> Found[Schema]:
        """A database; without a location the metastore puts it where it likes."""
        if len(schema) > 1:
            raise IllegalArgumentError(
                f"name: {join_schema(schema)!r} is a schema inside of another one, which this catalog does not know"
            )
        location = properties.get("location")
        if location is not None:
            self._check_location("properties.location", location)
        parameters = {k: v for k, v in properties.items() if k != "location"}
        parameters[IDENTITY] = secrets.token_hex(8)
        self.metastore.create_database(Database(self._database(schema), comment, location, parameters))
        return self.load_schema(schema)

    def alter_schema(self, schema: SchemaName, changes: Sequence[c.SchemaChange]) -> Found[Schema]:
        """Set and remove properties in one step."""
        before = self.metastore.database(self._database(schema))
        after = msgspec.structs.replace(before, parameters=dict(before.parameters))
        for n, change in enumerate(changes):
            if change.property == "location":
                if isinstance(change, c.RemoveProperty):
                    raise IllegalArgumentError(f"updates[{n}].property: the location of a schema can't be removed")
                self._check_location(f"updates[{n}].value", change.value)
                after.location = change.value
            elif isinstance(change, c.SetProperty):
                after.parameters[change.property] = change.value
            else:
                after.parameters.pop(change.property, None)
        self.metastore.alter_database(before, after)
        return self.load_schema(schema)

    def drop_schema(self, schema: SchemaName, cascade: bool) -> bool:
        """A database. Every entry counts, shown or not: the metastore itself might delete them without a word."""
        try:
            name = self._database(schema)
            there = self.metastore.listed(name)
        except NoSuchSchemaError:
            return False
        found = list(self.metastore.entries(name)) if there and (cascade or "all" not in self.filter) else []
        views = sum(one.kind in VIEWS for one in there)
        filtered = sum(not e.is_view and not self._is_shown(e) for e in found)
        if there and not cascade:
            hidden = (
                f", of which {views} views and {filtered} filtered tables are not shown" if views + filtered else ""
            )
            raise NonEmptySchemaError(f"Schema {name} is not empty: it has {len(there)} entries{hidden}")
        if filtered:
            raise NonEmptySchemaError(
                f"Schema {name} holds {filtered} tables that the catalog's filter hides: none was dropped; "
                "take the filter away first"
            )
        self.metastore.check_droppable(name)
        noted = deleted.get()
        for entry in sorted(found, key=lambda e: _DROPPED_FIRST.get(e.kind, 2)):
            self._drop(entry, delete_data=True)
            if noted is not None:
                noted.append(f"{name}.{entry.name}")
        self.metastore.drop_database(name)
        return True

    # --- tables ----------------------------------------------------------------------------------------------------

    def list_tables(self, schema: SchemaName, page: Page) -> list[str]:
        """Names of tables; of views none."""
        database = self._database(schema)
        if "all" in self.filter:
            return self._folded(page).cut(one.name for one in self.metastore.listed(database) if one.kind not in VIEWS)
        return self._folded(page).cut(entry.name for entry in self.metastore.entries(database) if self._is_shown(entry))

    def load_table(self, schema: SchemaName, name: str) -> Found[Table]:
        """The entry; of an Iceberg table what its metadata file says, as long as that can be read."""
        return self._shown(self.find_entry(schema, name))

    def _shown(self, entry: Entry) -> Found[Table]:
        if formats.table_format(entry) == formats.ICEBERG:
            return self.iceberg.table(entry)
        return Found(reading.to_table(entry), reading.identity(entry.created, entry.parameters))

    def create_table(self, schema: SchemaName, table: NewTable) -> Found[Table]:
        """A Hive table is an entry; an Iceberg table is a metadata file first."""
        wanted = self._wanted_format(table)
        database = self.metastore.database(self._database(schema))
        table = msgspec.structs.replace(table, name=self.fold(table.name))
        if wanted == formats.ICEBERG:
            self.iceberg.create(database, table)
        else:
            entry = writing.new_entry(
                database.name, table, default_kind=self.default_kind, default_format=self.default_file_format
            )
            if (found := formats.table_format(entry)) != formats.HIVE:
                raise IllegalArgumentError(f"properties: these make the Hive table look like a {found} table")
            self._place(database, entry)
            self._refuse_hidden(entry, "properties.format")
            self.metastore.create(entry)
        return self.load_table(schema, table.name)

    def _wanted_format(self, table: NewTable) -> str:
        keys = ("table_type", "table-format")
        said: dict[str, str] = {k: table.properties[k].lower() for k in keys if k in table.properties}
        if len(set(said.values())) > 1:
            raise IllegalArgumentError("properties: table_type and table-format contradict each other")
        if "metadata_location" in table.properties:
            said.setdefault("metadata_location", formats.ICEBERG)
        wanted = next(iter(said.values()), self.default_table_format)
        if wanted not in self.filter and wanted == formats.ICEBERG and "all" not in self.filter:
            field = next(iter(said), "table-format")
            raise IllegalArgumentError(f"properties.{field}: the catalog's filter hides {wanted} tables")
        return wanted

    def _refuse_hidden(self, entry: Entry, field: str) -> None:
        if not self._is_shown(entry):
            found = formats.file_format(entry) or "such"
            raise IllegalArgumentError(f"{field}: the catalog's filter hides {found} tables")

    def _place(self, database: Database, entry: Entry) -> None:
        """Where a new Hive table lies: the Hive Metastore finds a place by itself, Glue does not."""
        given = entry.storage.location
        if given is None and self.on_glue:
            entry.storage.location = places.default_folder(
                database, self.context.properties.get("warehouse"), entry.name
            )
        if given is not None:
            self._check_location("properties.location", given)
            if self.owns_data(entry):
                places.check_owned(given, database, self.metastore.entries(database.name))

    def owns_data(self, entry: Entry) -> bool:
        """Whether the metastore deletes the table's data with it."""
        return entry.kind == MANAGED_TABLE and self.metastore.deletes_data

    def alter_table(self, schema: SchemaName, name: str, changes: Sequence[c.TableChange]) -> Found[Table]:
        """All changes in one write, where the truth is."""
        entry = self.find_entry(schema, name)
        is_iceberg = formats.table_format(entry) == formats.ICEBERG and self.iceberg.has_metadata(entry)
        change = self.iceberg.alter if is_iceberg else self._rewrite
        database, name = change(entry, changes)
        return self.load_table((database,), name)

    def _rewrite(self, entry: Entry, updates: Sequence[c.TableChange]) -> tuple[str, str]:
        renames = [u for u in updates if isinstance(u, c.RenameTable)]
        rest = [u for u in updates if not isinstance(u, c.RenameTable)]
        if renames and not self.metastore.renames:
            raise UnsupportedOperationError(
                f"Table {entry.database}.{entry.name}: AWS Glue can't rename a {formats.table_format(entry)} table"
            )
        if formats.table_format(entry) != formats.HIVE:
            changes.refuse_for_format(entry, rest)
        with self.metastore.locked(entry.database, entry.name):
            before = self.find_entry((entry.database,), entry.name)
            after = changes.changed(before, rest)
            self._refuse_disguise(before, after)
            for rename in renames:
                after.name = self.fold(rename.new_name)
                after.database = self.fold(rename.new_schema_name or after.database)
            if after != before:
                self.metastore.replace(before, after)
            if renames:
                self._follow(before, after)
        return after.database, after.name

    def _refuse_disguise(self, before: Entry, after: Entry) -> None:
        """No property may make a table another one: it would be read by the wrong code, or not be found any more."""
        was, would_be = formats.table_format(before), formats.table_format(after)
        if would_be not in (was, formats.HIVE):
            raise IllegalArgumentError(
                f"updates: these properties would make the {was} table look like a {would_be} table"
            )
        self._refuse_hidden(after, "updates")

    def _follow(self, before: Entry, after: Entry) -> None:
        """Where the Metastore moved the folder, what else names it follows: Spark reads by the SerDe's `path`."""
        old, path = before.storage.location, before.storage.serde.parameters.get("path")
        if old is None or path is None or places.plain(path) != places.plain(old):
            return
        moved = self.metastore.entry(after.database, after.name)
        new = moved.storage.location
        if new is not None and places.plain(new) != places.plain(old):
            serde = msgspec.structs.replace(
                moved.storage.serde, parameters={**moved.storage.serde.parameters, "path": new}
            )
            storage = msgspec.structs.replace(moved.storage, serde=serde)
            self.metastore.replace(moved, msgspec.structs.replace(moved, storage=storage))

    def drop_table(self, schema: SchemaName, name: str, purge: bool) -> bool:
        """The entry; the data of a managed table goes with it where the metastore does that."""
        try:
            entry = self.find_entry(schema, name)
        except (NoSuchTableError, NoSuchSchemaError):
            return False
        if purge:
            self._purge(entry)
        else:
            self._drop(entry, delete_data=True)
        return True

    def _purge(self, entry: Entry) -> None:
        if formats.table_format(entry) == formats.ICEBERG:
            self.iceberg.purge(entry)
        elif not self.owns_data(entry) and not self._purges_external(entry):
            raise UnsupportedOperationError(
                f"Table {entry.database}.{entry.name}: its data is not the metastore's to delete; drop it without purge"
            )
        else:
            self._drop(entry, delete_data=True)

    def _purges_external(self, entry: Entry) -> bool:
        """Whether an external table says itself that its data goes with it."""
        return (entry.parameter("external.table.purge") or "").lower() == "true" and self.metastore.deletes_data

    def _drop(self, entry: Entry, *, delete_data: bool) -> None:
        # An Iceberg table's files are never the metastore's to delete, whatever kind of table it is called.
        if formats.table_format(entry) == formats.ICEBERG:
            delete_data = False
        self.metastore.drop(entry, delete_data)

    # --- helpers ---------------------------------------------------------------------------------------------------

    def _database(self, schema: SchemaName) -> str:
        """A schema's name as the metastore has it; one inside of another can't be there."""
        if len(schema) > 1:
            raise NoSuchSchemaError(f"Schema {self.context.name}.{join_schema(schema)} does not exist")
        return self.fold(schema[0])

    def find_entry(self, schema: SchemaName, name: str) -> Entry:
        """A table's entry; views and what the filter hides are not there for any verb."""
        entry = self.metastore.entry(self._database(schema), self.fold(name))
        if not self._is_shown(entry):
            raise NoSuchTableError(f"Table {self.context.name}.{join_schema(schema)}.{name} does not exist")
        return entry

    def _is_shown(self, entry: Entry) -> bool:
        return entry.kind not in VIEWS and formats.matches(entry, self.filter)

    def _check_location(self, field: str, location: str) -> None:
        self.context.check_local(field, location)


_DROPPED_FIRST = {MATERIALIZED_VIEW: 0, VIRTUAL_VIEW: 1}
"""What stands on tables goes before them."""
