"""A provider on a metastore: one behaviour for the Hive Metastore and for Glue."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from headwater.catalogs.aws import Access
from headwater.catalogs.base import Context, Found, NewTable, Page, Provider, SchemaName, deleted
from headwater.catalogs.metastores import changes, formats, partitions, reading, writing
from headwater.catalogs.metastores.base import Metastore
from headwater.catalogs.metastores.entries import (
    EXTERNAL_TABLE,
    IDENTITY,
    MANAGED_TABLE,
    MATERIALIZED_VIEW,
    VIEWS,
    VIRTUAL_VIEW,
    Database,
    Entry,
    PartitionEntry,
    Storage,
)
from headwater.catalogs.mixed.properties import SCHEMA, TABLE
from headwater.model import changes as c
from headwater.model.errors import (
    IllegalArgumentError,
    NonEmptySchemaError,
    NoSuchPartitionError,
    NoSuchSchemaError,
    NoSuchTableError,
    UnsupportedOperationError,
)
from headwater.model.names import join_schema
from headwater.model.nouns import CatalogType, Schema
from headwater.model.tables import Partition, Table

if TYPE_CHECKING:
    from headwater.catalogs.mixed.iceberg import IcebergSide


class MetastoreProvider(Provider):
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
        return page.cut(self.metastore.databases())

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
            return page.cut(one.name for one in self.metastore.listed(database) if one.kind not in VIEWS)
        return page.cut(entry.name for entry in self.metastore.entries(database) if self._is_shown(entry))

    def load_table(self, schema: SchemaName, name: str) -> Found[Table]:
        """The entry; of an Iceberg table what its metadata file says, as long as that can be read."""
        return self._shown(self._entry(schema, name))

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
        if entry.storage.location is None and self.on_glue:
            warehouse = self.context.properties.get("warehouse")
            folder = database.location or (f"{warehouse.rstrip('/')}/{database.name}.db" if warehouse else None)
            if folder is None:
                raise IllegalArgumentError(
                    "properties.location: required, since neither the schema has a location nor the catalog a warehouse"
                )
            entry.storage.location = f"{folder.rstrip('/')}/{entry.name}"
        if entry.storage.location is not None:
            self._check_location("properties.location", entry.storage.location)

    def alter_table(self, schema: SchemaName, name: str, changes: Sequence[c.TableChange]) -> Found[Table]:
        """All changes in one write, where the truth is."""
        entry = self._entry(schema, name)
        found = formats.table_format(entry)
        change = self.iceberg.alter if found == formats.ICEBERG else self._rewrite
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
            before = self._entry((entry.database,), entry.name)
            after = changes.changed(before, rest)
            for rename in renames:
                after.name = self.fold(rename.new_name)
                after.database = self.fold(rename.new_schema_name or after.database)
            if after != before:
                self.metastore.replace(before, after)
        return after.database, after.name

    def drop_table(self, schema: SchemaName, name: str, purge: bool) -> bool:
        """The entry; the data of a managed table goes with it where the metastore does that."""
        try:
            entry = self._entry(schema, name)
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
        elif entry.kind == EXTERNAL_TABLE and entry.parameter("external.table.purge") is None:
            raise UnsupportedOperationError(
                f"Table {entry.database}.{entry.name} is external: its data is not the catalog's to purge; "
                "drop it without purge"
            )
        else:
            self._drop(entry, delete_data=True)

    def _drop(self, entry: Entry, *, delete_data: bool) -> None:
        # An Iceberg table's files are never the metastore's to delete, whatever kind of table it is called.
        if formats.table_format(entry) == formats.ICEBERG:
            delete_data = False
        self.metastore.drop(entry, delete_data)

    # --- partitions ------------------------------------------------------------------------------------------------

    def list_partitions(self, schema: SchemaName, table: str, page: Page) -> list[str]:
        """Their names."""
        return page.cut(self.metastore.partition_names(self._partitioned(schema, table)))

    def load_partitions(self, schema: SchemaName, table: str, page: Page) -> list[Partition]:
        """Whole; a page of them needs the names of all."""
        entry = self._partitioned(schema, table)
        if page == Page():
            found: Iterator[PartitionEntry] = self.metastore.partitions(entry)
        else:
            names = page.cut(self.metastore.partition_names(entry))
            wanted = [partitions.values_of(entry, name) or [] for name in names]
            found = self.metastore.partitions(entry, wanted) if wanted else iter(())
        return sorted((partitions.show(entry, one) for one in found), key=lambda p: p.name or "")

    def load_partition(self, schema: SchemaName, table: str, name: str) -> Partition:
        """One, or NoSuchPartitionError."""
        entry = self._partitioned(schema, table)
        values = partitions.values_of(entry, name)
        found = self.metastore.partition(entry, values) if values is not None else None
        if found is None:
            raise NoSuchPartitionError(f"Partition {name} of table {entry.database}.{entry.name} does not exist")
        return partitions.show(entry, found)

    def add_partitions(self, schema: SchemaName, table: str, new: Sequence[Partition]) -> list[Partition]:
        """Add all, in batches; a batch that failed says what was added before."""
        entry = self._partitioned(schema, table)
        entries = [self._new_partition(entry, f"partitions[{n}]", one) for n, one in enumerate(new)]
        if len({tuple(e.values) for e in entries}) < len(entries):
            raise IllegalArgumentError("partitions: the same values are there twice")
        return [partitions.show(entry, one) for one in self.metastore.add_partitions(entry, entries)]

    def _new_partition(self, entry: Entry, field: str, new: Partition) -> PartitionEntry:
        values = partitions.new_values(field, entry, new)
        location = new.properties.get("location")
        storage: Storage | None = None
        if location is not None:
            self._check_location(f"{field}.properties.location", location)
            storage = msgspec.structs.replace(entry.storage, location=location)
        return PartitionEntry(values, storage, {k: v for k, v in new.properties.items() if k != "location"})

    def drop_partitions(self, schema: SchemaName, table: str, names: Sequence[str], purge: bool) -> int:
        """Drop those that are there; the answer is how many that were."""
        entry = self._partitioned(schema, table)
        managed = entry.kind == MANAGED_TABLE and formats.table_format(entry) == formats.HIVE
        if purge and not (managed and self.metastore.deletes_data):
            raise UnsupportedOperationError(
                f"Table {entry.database}.{entry.name}: data of partitions is not the catalog's to purge; drop without"
            )
        values = [v for name in names if (v := partitions.values_of(entry, name)) is not None]
        return self.metastore.drop_partitions(entry, values, managed)

    def _partitioned(self, schema: SchemaName, table: str) -> Entry:
        entry = self._entry(schema, table)
        if formats.table_format(entry) == formats.ICEBERG:
            raise UnsupportedOperationError(
                f"Table {entry.database}.{entry.name} is an Iceberg table: its partitions come with its data"
            )
        if not entry.partition_keys:
            raise UnsupportedOperationError(f"Table {entry.database}.{entry.name} is not partitioned")
        return entry

    # --- helpers ---------------------------------------------------------------------------------------------------

    def _database(self, schema: SchemaName) -> str:
        """A schema's name as the metastore has it; one inside of another can't be there."""
        if len(schema) > 1:
            raise NoSuchSchemaError(f"Schema {self.context.name}.{join_schema(schema)} does not exist")
        return self.fold(schema[0])

    def _entry(self, schema: SchemaName, name: str) -> Entry:
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
