"""AWS Glue as a metastore."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from headwater.catalogs.aws import Access
from headwater.catalogs.metastores.entries import Database, Entry, Listed, PartitionEntry
from headwater.catalogs.metastores.glue import convert
from headwater.catalogs.metastores.glue.calls import Calls
from headwater.catalogs.metastores.glue.convert import Raw
from headwater.catalogs.metastores.glue.errors import may_have_happened
from headwater.catalogs.metastores.glue.partitions import Partitions
from headwater.catalogs.metastores.glue.shapes import check_lengths, fitted
from headwater.model.errors import (
    BackendTimeoutError,
    ConflictError,
    ForbiddenError,
    NoSuchSchemaError,
    NoSuchTableError,
    SchemaAlreadyExistsError,
    TableAlreadyExistsError,
    UnsupportedOperationError,
)

_NAME_AND_KIND = ["NAME", "TABLE_TYPE"]


class GlueMetastore:
    """The databases, tables and partitions of one Glue catalog.

    A call that is made again because its answer was lost can find its own work done: then the complaint that
    something exists, is gone or was changed meanwhile is not passed on.
    """

    renames = False
    deletes_data = False

    def __init__(self, name: str, access: Access) -> None:
        self.name = name
        self._calls = Calls(name, access)

    def probe(self) -> None:
        """One page of one database."""
        self._calls.one("get_databases", MaxResults=1)

    def close(self) -> None:
        """Let go of connections."""
        self._calls.close()

    # --- databases ---

    def databases(self) -> list[str]:
        """All names."""
        pages = self._calls.pages("get_databases", AttributesToGet=["NAME"])
        return [raw["Name"] for page in pages for raw in page["DatabaseList"]]

    def database(self, name: str) -> Database:
        """One, or NoSuchSchemaError."""
        return convert.database(self._calls.one("get_database", self._calls.schema(name), Name=name)["Database"])

    def create_database(self, database: Database) -> None:
        """Make it, or SchemaAlreadyExistsError. Glue keeps no owner of a database."""
        made = self._database_input("CreateDatabase", {}, database)
        try:
            self._calls.one("create_database", self._calls.schema(database.name), DatabaseInput=made)
        except SchemaAlreadyExistsError as e:
            if not (may_have_happened(e) and _holds(self.database(database.name).raw, made)):
                raise

    def alter_database(self, before: Database, after: Database) -> None:
        """Replace it; what a database holds that is not modelled stays."""
        if before.name != after.name:
            raise UnsupportedOperationError("AWS Glue can't give a database another name")
        made = self._database_input("UpdateDatabase", before.raw, after)
        self._calls.one("update_database", self._calls.schema(before.name), Name=before.name, DatabaseInput=made)

    def check_droppable(self, name: str) -> None:
        """Glue drops every database."""

    def drop_database(self, name: str) -> None:
        """Drop it with all that is in it: Glue never refuses."""
        try:
            self._calls.one("delete_database", self._calls.schema(name), Name=name)
        except NoSuchSchemaError as e:
            if not may_have_happened(e):
                raise

    # --- tables ---

    def listed(self, database: str) -> list[Listed]:
        """Name and kind of all entries; Glue is asked for no more than these."""
        pages = self._calls.pages(
            "get_tables", self._calls.schema(database), DatabaseName=database, AttributesToGet=_NAME_AND_KIND
        )
        return [Listed(raw["Name"], raw.get("TableType") or "") for page in pages for raw in page["TableList"]]

    def entries(self, database: str) -> Iterator[Entry]:
        """All entries whole, page by page."""
        for page in self._calls.pages("get_tables", self._calls.schema(database), DatabaseName=database):
            for raw in page["TableList"]:
                yield convert.entry(database, raw)

    def entry(self, database: str, name: str) -> Entry:
        """One, or NoSuchTableError; NoSuchSchemaError where the database is missing, as far as Glue lets us look."""
        about = self._calls.table(database, name)
        try:
            raw = self._calls.one("get_table", about, DatabaseName=database, Name=name)["Table"]
        except NoSuchTableError:
            with contextlib.suppress(ForbiddenError):
                self.database(database)
            raise
        return convert.entry(database, raw)

    def create(self, entry: Entry) -> None:
        """Make it, or TableAlreadyExistsError, or NoSuchSchemaError."""
        made = self._table_input("CreateTable", {}, convert.new_entry(entry))
        try:
            self._calls.one(
                "create_table",
                self._calls.table(entry.database, entry.name),
                DatabaseName=entry.database,
                TableInput=made,
            )
        except TableAlreadyExistsError as e:
            if not (may_have_happened(e) and _holds(self.entry(entry.database, entry.name).raw, made)):
                raise
        except NoSuchTableError:  # what is missing is the database
            raise self._calls.schema(entry.database).missing from None

    def replace(self, before: Entry, after: Entry) -> None:
        """Write what differs over what was read, if nobody else has written since."""
        if (before.database, before.name) != (after.database, after.name):
            raise UnsupportedOperationError("AWS Glue can't give a table another name or database")
        is_link = "TargetTable" in before.raw and "StorageDescriptor" not in before.raw
        if is_link and after.storage != before.storage:
            raise UnsupportedOperationError(
                f"Table {after.name} is a link to a table elsewhere: change its columns there"
            )
        made = self._table_input("UpdateTable", before.raw, convert.over_entry(before.raw, after))
        version = {} if before.version is None else {"VersionId": before.version}
        try:
            self._calls.one(
                "update_table",
                self._calls.table(before.database, before.name),
                DatabaseName=before.database,
                TableInput=made,
                **version,
            )
        except ConflictError as e:
            if not may_have_happened(e):
                raise
            now = self.entry(before.database, before.name)
            if _holds(now.raw, made):
                return
            if not _follows(now.version, before.version):
                raise BackendTimeoutError(f"{e.message}; it is not known whether the change was made before") from e
            raise

    def locked(self, database: str, name: str) -> AbstractContextManager[None]:
        """Glue has no locks: versions hold other writers off."""
        return contextlib.nullcontext()

    def drop(self, entry: Entry, delete_data: bool) -> None:
        """Remove the entry; Glue never touches data."""
        about = self._calls.table(entry.database, entry.name)
        try:
            self._calls.one("delete_table", about, DatabaseName=entry.database, Name=entry.name)
        except NoSuchTableError as e:
            if not may_have_happened(e):
                raise

    # --- partitions ---

    def partition_names(self, entry: Entry) -> list[str]:
        """Names `k=v/k=v` of all partitions."""
        return Partitions(self._calls, entry).names()

    def partitions(self, entry: Entry, values: Sequence[Sequence[str]] | None = None) -> Iterator[PartitionEntry]:
        """All partitions, or those of these values that are there."""
        found = Partitions(self._calls, entry)
        return found.all() if values is None else found.some(values)

    def partition(self, entry: Entry, values: Sequence[str]) -> PartitionEntry | None:
        """One, or None."""
        return Partitions(self._calls, entry).one(values)

    def add_partitions(self, entry: Entry, partitions: Sequence[PartitionEntry]) -> list[PartitionEntry]:
        """Add all. An error names what was added; trying again is safe and adds what is missing still."""
        return Partitions(self._calls, entry).add(partitions)

    def drop_partitions(self, entry: Entry, values: Iterable[Sequence[str]], delete_data: bool) -> int:
        """Drop those that are there; the answer is how many that were. Glue never touches data."""
        return Partitions(self._calls, entry).drop(values)

    # --- inputs ---

    def _database_input(self, operation: str, raw: Raw, database: Database) -> Raw:
        shape = self._calls.input_shape(operation, "DatabaseInput")
        made: Raw = fitted(shape, convert.over_database(raw, database))
        check_lengths(shape, made, raw)
        return made

    def _table_input(self, operation: str, raw: Raw, after: Raw) -> Raw:
        shape = self._calls.input_shape(operation, "TableInput")
        made: Raw = fitted(shape, after)
        check_lengths(shape, made, raw)
        return made


def _holds(raw: Raw, made: Raw) -> bool:
    """Whether Glue has just what was written."""
    return all(raw.get(key) == value for key, value in made.items())


def _follows(version: str | None, before: str | None) -> bool:
    """Whether one version is the very next after another, so that nothing came between them."""
    numbers = version or "", before or ""
    return all(n.isdecimal() for n in numbers) and int(numbers[0]) == int(numbers[1]) + 1
