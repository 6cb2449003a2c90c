"""The partitions of the tables in a metastore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from headwater.catalogs.base import Context, Page, SchemaName
from headwater.catalogs.metastores import formats, partitions
from headwater.catalogs.metastores.base import Metastore
from headwater.catalogs.metastores.entries import Entry, PartitionEntry, Storage
from headwater.catalogs.mixed import places
from headwater.model.errors import IllegalArgumentError, NoSuchPartitionError, UnsupportedOperationError
from headwater.model.tables import Partition


class Partitioned:
    """What a provider on a metastore does with partitions; it finds the entries of tables."""

    context: Context
    metastore: Metastore

    def find_entry(self, schema: SchemaName, name: str) -> Entry:
        """A table's entry, or NoSuchTableError."""
        raise NotImplementedError

    def owns_data(self, entry: Entry) -> bool:
        """Whether the metastore deletes the table's data with it."""
        raise NotImplementedError

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
            self.context.check_local(f"{field}.properties.location", location)
            if self.owns_data(entry):
                places.check_partition(f"{field}.properties.location", entry, location)
            storage = msgspec.structs.replace(entry.storage, location=location)
        return PartitionEntry(values, storage, {k: v for k, v in new.properties.items() if k != "location"})

    def drop_partitions(self, schema: SchemaName, table: str, names: Sequence[str], purge: bool) -> int:
        """Drop those that are there; the answer is how many that were."""
        entry = self._partitioned(schema, table)
        managed = self.owns_data(entry) and formats.table_format(entry) == formats.HIVE
        if purge and not managed:
            raise UnsupportedOperationError(
                f"Table {entry.database}.{entry.name}: data of partitions is not the catalog's to purge; drop without"
            )
        values = [v for name in names if (v := partitions.values_of(entry, name)) is not None]
        return self.metastore.drop_partitions(entry, values, managed)

    def _partitioned(self, schema: SchemaName, table: str) -> Entry:
        entry = self.find_entry(schema, table)
        if formats.table_format(entry) == formats.ICEBERG:
            raise UnsupportedOperationError(
                f"Table {entry.database}.{entry.name} is an Iceberg table: its partitions come with its data"
            )
        if not entry.partition_keys:
            raise UnsupportedOperationError(f"Table {entry.database}.{entry.name} is not partitioned")
        return entry
