"""A pyiceberg catalog over any metastore in the style of Hive's: the Hive Metastore of each version, and AWS Glue."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from pyiceberg import exceptions as ice
from pyiceberg.catalog import MetastoreCatalog, PropertiesUpdateSummary
from pyiceberg.io import FileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.table import CommitTableResponse, StagedTable, Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.table.update import SetPropertiesUpdate, TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from pyiceberg.view import View

from headwater.catalogs.iceberg.entries import LOCATION, is_iceberg, refuse_marks
from headwater.catalogs.iceberg.files import OurFiles
from headwater.catalogs.iceberg.metadata import unzipped
from headwater.catalogs.metastores.entries import EXTERNAL_TABLE, MANAGED_TABLE, Database, Entry
from headwater.model import errors as ours

if TYPE_CHECKING:
    from headwater.catalogs.iceberg.entries import Style
    from headwater.catalogs.metastores.base import Metastore

_THEIRS: dict[type[ours.HeadwaterError], type[Exception]] = {
    ours.NoSuchSchemaError: ice.NoSuchNamespaceError,
    ours.NoSuchTableError: ice.NoSuchTableError,
    ours.SchemaAlreadyExistsError: ice.NamespaceAlreadyExistsError,
    ours.TableAlreadyExistsError: ice.TableAlreadyExistsError,
    ours.NonEmptySchemaError: ice.NamespaceNotEmptyError,
    ours.ConflictError: ice.CommitFailedException,
}

_REFUSALS = (
    ours.IllegalArgumentError,
    ours.NotFoundError,
    ours.AlreadyExistsError,
    ours.ConflictError,
    ours.UnsupportedOperationError,
    ours.BackendLockedError,
)
"""By these a metastore says that it did nothing; after any other error the change may have been made, or be yet."""


@contextlib.contextmanager
def _speaking_pyiceberg() -> Iterator[None]:
    """pyiceberg's own code looks for its own errors."""
    try:
        yield
    except ours.HeadwaterError as e:
        theirs = _THEIRS.get(type(e))
        if theirs is None:
            raise
        raise theirs(e.message) from e


class MetastoreBackedCatalog(OurFiles, MetastoreCatalog):
    """Databases are namespaces; an entry with `table_type=ICEBERG` is a table, and points to its metadata file."""

    def __init__(self, name: str, metastore: Metastore, style: Style, **properties: Any) -> None:
        super().__init__(name, **properties)
        self._metastore, self._style = metastore, style

    # --- namespaces ------------------------------------------------------------------------------------------------

    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        """The databases; there are none inside of them."""
        if namespace:
            self.load_namespace_properties(namespace)
            return []
        with _speaking_pyiceberg():
            return [(name,) for name in self._metastore.databases()]

    def load_namespace_properties(self, namespace: str | Identifier) -> Properties:
        """A database's parameters, comment and location."""
        with _speaking_pyiceberg():
            return _properties(self._metastore.database(self._database(namespace)))

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        """A database."""
        with _speaking_pyiceberg():
            self._metastore.create_database(_with(Database(self.identifier_to_database(namespace)), properties))

    def update_namespace_properties(
        self, namespace: str | Identifier, removals: set[str] | None = None, updates: Properties = EMPTY_DICT
    ) -> PropertiesUpdateSummary:
        """All of them in one step."""
        with _speaking_pyiceberg():
            before = self._metastore.database(self._database(namespace))
            summary, after = self._get_updated_props_and_update_summary(_properties(before), removals, updates)
            self._metastore.alter_database(before, _with(before, after))
        return summary

    def drop_namespace(self, namespace: str | Identifier) -> None:
        """An empty database. Glue deletes one with all that is in it, so it is looked at to the last."""
        name = self._database(namespace)
        with _speaking_pyiceberg():
            if left := self._metastore.listed(name):
                raise ice.NamespaceNotEmptyError(f"Database {name} is not empty: it has {len(left)} tables and views")
            self._metastore.drop_database(name)

    def _database(self, namespace: str | Identifier) -> str:
        return self.identifier_to_database(namespace, ice.NoSuchNamespaceError)

    # --- entries ---------------------------------------------------------------------------------------------------

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        """The Iceberg tables among a database's entries."""
        database = self._database(namespace)
        with _speaking_pyiceberg():
            return [(database, entry.name) for entry in self._metastore.entries(database) if is_iceberg(entry)]

    def entry(self, identifier: str | Identifier) -> Entry:
        """A table's entry."""
        database, name = self.identifier_to_database_and_table(identifier, ice.NoSuchTableError)
        with _speaking_pyiceberg():
            found = self._metastore.entry(database, name)
        if not is_iceberg(found):
            raise ice.NoSuchIcebergTableError(f"{database}.{name} is not an Iceberg table")
        return found

    def load_table(self, identifier: str | Identifier) -> Table:
        """The entry, then the file that it points to."""
        entry = self.entry(identifier)
        location = entry.parameter(LOCATION)
        if location is None:
            raise ours.ConnectionFailedError(f"The entry of {entry.database}.{entry.name} names no metadata file")
        io = self._load_file_io(location=location)
        return Table((entry.database, entry.name), _metadata(io, location), location, io, self)

    def drop_table(self, identifier: str | Identifier) -> None:
        """The entry; files stay."""
        with _speaking_pyiceberg():
            self._metastore.drop(self.entry(identifier), delete_data=False)

    def rename_table(self, from_identifier: str | Identifier, to_identifier: str | Identifier) -> Table:
        """Another name for the entry; its files stay where they are."""
        database, name = self.identifier_to_database_and_table(from_identifier, ice.NoSuchTableError)
        to_database, to_name = self.identifier_to_database_and_table(to_identifier)
        with _speaking_pyiceberg():
            self._metastore.database(to_database)
            if self._is_there(Entry(to_database, to_name)):
                raise ours.TableAlreadyExistsError(f"There is a table or view {to_database}.{to_name} already")
            with self._metastore.locked(database, name):
                before = self.entry(from_identifier)
                after = msgspec.structs.replace(before, database=to_database, name=to_name)
                if self._metastore.renames:
                    _refuse_managed(before)
                    self._metastore.replace(before, after)
                else:
                    self._move(before, after)
            if self._metastore.renames:
                self._keep_place(after)
        return self.load_table(to_identifier)

    def _keep_place(self, renamed: Entry) -> None:
        """Version 4 of the Hive Metastore names another folder for some external tables, and leaves the files."""
        database, name, location = renamed.database, renamed.name, renamed.storage.location
        if self._metastore.entry(database, name).storage.location == location:
            return
        with self._metastore.locked(database, name):
            now = self._metastore.entry(database, name)
            storage = msgspec.structs.replace(now.storage, location=location)
            self._metastore.replace(now, msgspec.structs.replace(now, storage=storage))

    def _move(self, before: Entry, after: Entry) -> None:
        """An entry of the new name, and none of the old: both are there for a moment, but at no time neither."""
        self._metastore.create(after)
        try:
            now = self._metastore.entry(before.database, before.name)
            if now.parameter(LOCATION) != before.parameter(LOCATION):
                raise ours.ConflictError(f"{before.database}.{before.name} was changed by somebody else")
            self._metastore.drop(now, delete_data=False)
        except ours.HeadwaterError:
            # What failed may have been done all the same: the new entry goes only if the old one is there.
            if self._is_there(before):
                with contextlib.suppress(ours.NoSuchTableError):
                    self._metastore.drop(self._metastore.entry(after.database, after.name), delete_data=False)
                raise

    def _is_there(self, entry: Entry) -> bool:
        try:
            self._metastore.entry(entry.database, entry.name)
        except ours.NoSuchTableError:
            return False
        return True

    # --- new and changed tables ------------------------------------------------------------------------------------

    def create_table(
        self,
        identifier: str | Identifier,
        schema: Any,
        location: str | None = None,
        partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        sort_order: SortOrder = UNSORTED_SORT_ORDER,
        properties: Properties = EMPTY_DICT,
    ) -> Table:
        """The first metadata file, then the entry."""
        refuse_marks(properties)
        staged = self._create_staged_table(identifier, schema, location, partition_spec, sort_order, properties)
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        self._publish(staged, lambda: self._create(staged))
        return Table(staged.name(), staged.metadata, staged.metadata_location, staged.io, self)

    def register_table(self, identifier: str | Identifier, metadata_location: str, overwrite: bool = False) -> Table:
        """An entry for a metadata file that is there."""
        if overwrite:
            raise NotImplementedError("An existing table can't be overwritten")
        io = self._load_file_io(location=metadata_location)
        name = self.identifier_to_database_and_table(identifier)
        staged = StagedTable(name, _metadata(io, metadata_location), metadata_location, io, self)
        with _speaking_pyiceberg():
            self._create(staged)
        return Table(name, staged.metadata, metadata_location, io, self)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """The next metadata file, then the entry, if it still points to the file that the changes start from."""
        refuse_marks(key for u in updates if isinstance(u, SetPropertiesUpdate) for key in u.updates)
        current = None if isinstance(table, StagedTable) else table
        staged = self._update_and_stage_table(current, table.name(), requirements, updates)
        if current is not None and staged.metadata == current.metadata:
            return _committed(current)
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        self._publish(staged, lambda: self._create(staged) if current is None else self._replace(current, staged))
        return _committed(staged)

    def _create(self, staged: StagedTable) -> None:
        database, name = staged.name()
        entry = Entry(database, name, kind=EXTERNAL_TABLE)
        self._metastore.create(self._style(entry, None, staged.metadata, staged.metadata_location))

    def _replace(self, current: Table, staged: StagedTable) -> None:
        database, name = staged.name()
        with self._metastore.locked(database, name):
            before = self.entry((database, name))
            if before.parameter(LOCATION) != current.metadata_location:
                raise ours.ConflictError(f"{database}.{name} was changed by somebody else")
            self._rewrite(before, self._style(before, current.metadata, staged.metadata, staged.metadata_location))

    def _rewrite(self, before: Entry, after: Entry) -> None:
        """Replace the entry; where the metastore minds how columns change, by one without columns in between.

        The Hive Metastore compares the types of columns place by place, unless it is told not to. Iceberg's readers do
        not look at those columns, and the first step is the one that counts.
        """
        try:
            self._metastore.replace(before, after)
        except ours.IllegalArgumentError:
            if after.storage.columns == before.storage.columns:
                raise
            bare = msgspec.structs.replace(after, storage=msgspec.structs.replace(after.storage, columns=[]))
            self._metastore.replace(before, bare)
            self._metastore.replace(self._metastore.entry(after.database, after.name), after)

    def _publish(self, staged: StagedTable, publish: Callable[[], None]) -> None:
        """Make the entry point to a metadata file. One that lost a race goes; one that may yet count stays."""
        try:
            publish()
        except Exception as e:
            if self._points_to(staged):
                return  # it was done, and the answer got lost
            if isinstance(e, (*_REFUSALS, ice.NoSuchTableError)):
                with contextlib.suppress(OSError):
                    staged.io.delete(staged.metadata_location)
            with _speaking_pyiceberg():
                raise

    def _points_to(self, staged: StagedTable) -> bool:
        try:
            return self._metastore.entry(*staged.name()).parameter(LOCATION) == staged.metadata_location
        except ours.HeadwaterError:
            return False

    # --- views: none of them are served here ------------------------------------------------------------------------

    def list_views(self, namespace: str | Identifier) -> list[Identifier]:
        """Not known here."""
        raise NotImplementedError("Views are not served here")

    def view_exists(self, identifier: str | Identifier) -> bool:
        """Not known here."""
        raise NotImplementedError("Views are not served here")

    def load_view(self, identifier: str | Identifier) -> View:
        """Not known here."""
        raise NotImplementedError("Views are not served here")

    def register_view(self, identifier: str | Identifier, metadata_location: str) -> View:
        """Not known here."""
        raise NotImplementedError("Views are not served here")

    def drop_view(self, identifier: str | Identifier) -> None:
        """Not known here."""
        raise NotImplementedError("Views are not served here")


def _metadata(io: FileIO, location: str) -> TableMetadata:
    with io.new_input(location).open() as stream:
        return TableMetadataUtil.parse_raw(unzipped(stream.read()).decode())


def _refuse_managed(entry: Entry) -> None:
    """With its name the Hive Metastore moves such an entry's folder; metadata and data are then not found any more."""
    if entry.kind == MANAGED_TABLE:
        raise ours.UnsupportedOperationError(
            f"Table {entry.database}.{entry.name} can't be renamed: its entry is a {MANAGED_TABLE}, whose folder "
            "the Hive Metastore moves, away from where Iceberg looks for its files. Make it external first, with an "
            f"engine: ALTER TABLE {entry.database}.{entry.name} SET TBLPROPERTIES('EXTERNAL'='TRUE')"
        )


def _committed(table: Table) -> CommitTableResponse:
    return CommitTableResponse.model_validate(
        {"metadata": table.metadata, "metadata-location": table.metadata_location}
    )


def _properties(database: Database) -> dict[str, str]:
    told = {"comment": database.comment, "location": database.location}
    return {**database.parameters, **{k: v for k, v in told.items() if v is not None}}


def _with(database: Database, properties: Properties) -> Database:
    rest = {k: v for k, v in properties.items() if k not in ("comment", "location")}
    comment, location = properties.get("comment"), properties.get("location")
    return msgspec.structs.replace(database, comment=comment, location=location, parameters=rest)
