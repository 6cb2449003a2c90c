"""The Hive Metastore as a `Metastore`: which calls are made, and what its refusals mean."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, TypeVar

from hive_metastore import ttypes
from thrift.Thrift import TApplicationException, TException

from headwater.catalogs.base import caller
from headwater.catalogs.metastores.entries import Database, Entry, Listed, PartitionEntry
from headwater.catalogs.metastores.partitions import partition_name
from headwater.catalogs.metastores.thrift import DEFAULT_CATALOG, convert
from headwater.catalogs.metastores.thrift.limits import check_lengths
from headwater.catalogs.metastores.thrift.locks import exclusive
from headwater.catalogs.metastores.thrift.pool import NOBODY, ConnectionPool
from headwater.catalogs.metastores.thrift.refusals import (
    AlreadyExists,
    InvalidObject,
    InvalidOperation,
    Meta,
    NoSuchObject,
    Refused,
    refusal,
)
from headwater.model.errors import (
    BackendLockedError,
    ConnectionFailedError,
    HeadwaterError,
    IllegalArgumentError,
    NonEmptySchemaError,
    NoSuchSchemaError,
    NoSuchTableError,
    PartitionAlreadyExistsError,
    SchemaAlreadyExistsError,
    TableAlreadyExistsError,
    UnsupportedOperationError,
)

T = TypeVar("T")

_NAME = re.compile(r"[^\s*|.'\"\\/]+")
"""Names that a Metastore can hold at all; others would be patterns to some of its calls."""
_DEFAULT = "default"
_BATCH = 500
"""Tables or partitions in one answer or request."""
_NAMED = 100
"""Partitions that an error names."""

_CAPABILITIES = [
    "ACCEPTS_UNMODIFIED_METADATA",
    "EXTREAD",
    "EXTWRITE",
    "HIVEBUCKET2",
    "HIVEFULLACIDREAD",
    "HIVEMANAGEDINSERTREAD",
    "HIVECACHEINVALIDATE",
    "CONNECTORREAD",
]
"""What version 4 asks of readers before it shows them an entry as it is, with its buckets for one."""


class ThriftMetastore:
    """A Hive Metastore, 3.1 or 4.x; calls that older ones lack are made in their older form."""

    renames = True
    deletes_data = True

    def __init__(self, name: str, pool: ConnectionPool, catalog: str, patience: float) -> None:
        self.name, self.catalog = name, catalog
        self._patience = patience
        self._pool = pool
        self._unknown: set[str] = set()
        self._turns: weakref.WeakValueDictionary[tuple[str, str], threading.Lock] = weakref.WeakValueDictionary()

    def probe(self) -> None:
        """Count the databases of the catalog."""
        self._read("get_databases", self._scoped("*"))

    def close(self) -> None:
        """Hang up; a later call connects anew."""
        self._pool.close()

    # --- databases -------------------------------------------------------------------------------------------------

    def databases(self) -> list[str]:
        """All names."""
        return list(self._read("get_databases", self._scoped("*")))

    def database(self, name: str) -> Database:
        """One, or NoSuchSchemaError."""
        self._check_possible(name)
        try:
            return convert.database(self._read("get_database", self._scoped(name)))
        except NoSuchObject:
            raise self._no_schema(name) from None

    def create_database(self, database: Database) -> None:
        """Make it, or SchemaAlreadyExistsError."""
        database.owner = database.owner or caller.get() or NOBODY
        try:
            self._write("create_database", convert.raw_database(database, self.catalog))
        except AlreadyExists:
            raise SchemaAlreadyExistsError(f"Schema {self.name}.{database.name} already exists") from None

    def alter_database(self, before: Database, after: Database) -> None:
        """Replace it."""
        raw = convert.raw_database(after, self.catalog, before.raw)
        try:
            self._write("alter_database", self._scoped(before.name), raw)
        except NoSuchObject:
            raise self._no_schema(before.name) from None

    def check_droppable(self, name: str) -> None:
        """The default database stays; functions are not ours to drop."""
        if name == _DEFAULT:
            raise UnsupportedOperationError(f"Schema {self.name}.{name}: the Hive Metastore keeps its default database")
        if functions := list(self._read("get_functions", self._scoped(name), "*")):
            raise NonEmptySchemaError(
                f"Schema {self.name}.{name} has functions, which are not served here: {_some(functions)}"
            )

    def drop_database(self, name: str) -> None:
        """Drop an empty one. Its folder stays: files of tables that were dropped without theirs may lie in it."""
        self._check_possible(name)
        try:
            self._write("drop_database", self._scoped(name), False, False)
        except NoSuchObject:
            raise self._no_schema(name) from None
        except InvalidOperation as e:
            raise NonEmptySchemaError(f"Schema {self.name}.{name} is not empty: {e.message}") from None

    # --- tables ----------------------------------------------------------------------------------------------------

    def listed(self, database: str) -> list[Listed]:
        """Names and kinds by one call; a second one when there are none."""
        self._check_possible(database)
        found = self._read("get_table_meta", self._scoped(database), "*", [])
        if not found:
            self.database(database)
        return [Listed(meta.tableName, meta.tableType) for meta in found]

    def entries(self, database: str) -> Iterator[Entry]:
        """All entries, as many at once as fit into an answer."""
        names = iter([one.name for one in self.listed(database)])
        while batch := list(islice(names, _BATCH)):
            request = ttypes.GetTablesRequest(
                dbName=database,
                tblNames=batch,
                catName=self.catalog,
                capabilities=_CLIENT,
                processorCapabilities=_CAPABILITIES,
                processorIdentifier=NOBODY,
            )
            for raw in self._read("get_table_objects_by_name_req", request).tables:
                yield convert.entry(raw)

    def entry(self, database: str, name: str) -> Entry:
        """One, or NoSuchTableError."""
        self._check_possible(database)
        request = ttypes.GetTableRequest(
            dbName=database,
            tblName=name,
            catName=self.catalog,
            capabilities=_CLIENT,
            processorCapabilities=_CAPABILITIES,
            processorIdentifier=NOBODY,
        )
        try:
            return convert.entry(self._get_table(request))
        except NoSuchObject:
            self.database(database)
            raise NoSuchTableError(f"Table {self.name}.{database}.{name} does not exist") from None

    def _get_table(self, request: Any) -> Any:
        """By the request-style call, which version 4 insists on; servers before it may not know it."""
        if "get_table_req" not in self._unknown:
            try:
                return self._read("get_table_req", request).table
            except TApplicationException as e:
                if e.type != TApplicationException.UNKNOWN_METHOD:
                    raise
                self._unknown.add("get_table_req")
        return self._read("get_table", self._scoped(request.dbName), request.tblName)

    def create(self, entry: Entry) -> None:
        """Make it, in the name of the caller."""
        check_lengths(entry)
        entry.owner = entry.owner or caller.get() or NOBODY
        raw = convert.raw_entry(entry, self.catalog)
        try:
            self._write("create_table", raw)
        except AlreadyExists:
            where = f"{self.name}.{entry.database}.{entry.name}"
            raise TableAlreadyExistsError(f"Table {where} already exists") from None
        except (NoSuchObject, InvalidObject) as e:
            self.database(entry.database)
            raise IllegalArgumentError(f"Table {entry.name}: the Hive Metastore refuses it: {e.message}") from None

    def replace(self, before: Entry, after: Entry) -> None:
        """Write it over the old one; with another name that is a rename, which moves a managed table's folder."""
        check_lengths(after, before)
        raw = convert.raw_entry(after, self.catalog, before)
        moves = (before.database, before.name) != (after.database, after.name)
        if moves:
            self.database(after.database)
            self._refuse_taken(after)
        environment = ttypes.EnvironmentContext(properties={"DO_NOT_UPDATE_STATS": "true"})
        try:
            self._write(
                "alter_table_with_environment_context", self._scoped(before.database), before.name, raw, environment
            )
        except InvalidOperation as e:
            if moves and "exists" in str(e.message):
                raise TableAlreadyExistsError(f"Table {self.name}.{after.database}.{after.name} exists") from None
            self._raise_refused(before, e)
        except Meta as e:
            self._raise_refused(before, e)

    def _refuse_taken(self, after: Entry) -> None:
        with suppress(NoSuchTableError):
            self.entry(after.database, after.name)
            raise TableAlreadyExistsError(f"Table {self.name}.{after.database}.{after.name} already exists")

    def _raise_refused(self, before: Entry, error: Any) -> None:
        self.entry(before.database, before.name)  # it may be gone: that is then the error
        raise IllegalArgumentError(f"updates: the Hive Metastore refuses the change: {error.message}") from None

    def drop(self, entry: Entry, delete_data: bool) -> None:
        """Remove it; the Metastore deletes a managed table's data itself."""
        try:
            self._write("drop_table", self._scoped(entry.database), entry.name, delete_data)
        except NoSuchObject:
            raise NoSuchTableError(f"Table {self.name}.{entry.database}.{entry.name} does not exist") from None

    # --- locks -----------------------------------------------------------------------------------------------------

    @contextmanager
    def locked(self, database: str, name: str) -> Iterator[None]:
        """The Metastore's lock of a table, for which the threads of this process take turns.

        So they don't wait for each other over the wire, and version 4.0 on Derby has no deadlocks among many waiters.
        """
        label = f"{self.name}.{database}.{name}"
        turn = self._turns.setdefault((database, name), threading.Lock())
        if not turn.acquire(timeout=self._patience):
            raise BackendLockedError(f"Table {label} is being changed by others all the time")
        try:
            with exclusive(self._write, label, database, name, self._patience):
                yield
        finally:
            turn.release()

    # --- partitions ------------------------------------------------------------------------------------------------

    def partition_names(self, entry: Entry) -> list[str]:
        """All names."""
        return list(self._read("get_partition_names", self._scoped(entry.database), entry.name, -1))

    def partitions(self, entry: Entry, values: Sequence[Sequence[str]] | None = None) -> Iterator[PartitionEntry]:
        """All, or those of these values, in batches."""
        keys = [key.name for key in entry.partition_keys]
        found = self.partition_names(entry) if values is None else [partition_name(keys, v) for v in values]
        names = iter(found)
        while batch := list(islice(names, _BATCH)):
            for raw in self._partitions_by_names(entry, batch):
                yield convert.partition(raw)

    def _partitions_by_names(self, entry: Entry, names: list[str]) -> list[Any]:
        if "get_partitions_by_names_req" not in self._unknown:
            request = ttypes.GetPartitionsByNamesRequest(
                db_name=self._scoped(entry.database),
                tbl_name=entry.name,
                names=names,
                processorCapabilities=_CAPABILITIES,
                processorIdentifier=NOBODY,
            )
            try:
                return list(self._read("get_partitions_by_names_req", request).partitions)
            except TApplicationException as e:
                if e.type != TApplicationException.UNKNOWN_METHOD:
                    raise
                self._unknown.add("get_partitions_by_names_req")
        return list(self._read("get_partitions_by_names", self._scoped(entry.database), entry.name, names))

    def partition(self, entry: Entry, values: Sequence[str]) -> PartitionEntry | None:
        """One, or None."""
        try:
            return convert.partition(
                self._read("get_partition", self._scoped(entry.database), entry.name, list(values))
            )
        except NoSuchObject:
            return None

    def add_partitions(self, entry: Entry, partitions: Sequence[PartitionEntry]) -> list[PartitionEntry]:
        """Add them in batches, each of which is all or nothing to the Metastore."""
        keys = [key.name for key in entry.partition_keys]
        named = [(partition_name(keys, p.values), p) for p in partitions]
        made: dict[tuple[str, ...], PartitionEntry] = {}
        for start in range(0, len(named), _BATCH):
            batch = named[start : start + _BATCH]
            request = ttypes.AddPartitionsRequest(
                dbName=entry.database,
                tblName=entry.name,
                parts=[convert.raw_partition(entry, p, name, self.catalog) for name, p in batch],
                ifNotExists=False,
                needResult=True,
                catName=self.catalog,
            )
            try:
                found = self._write("add_partitions_req", request).partitions
            except AlreadyExists:
                raise self._there_already(entry, batch, [name for name, _ in named[:start]]) from None
            except (Refused, HeadwaterError) as e:
                raise _partly_added(e, [name for name, _ in named[:start]]) from None
            made |= {tuple(raw.values): convert.partition(raw) for raw in found}
        return [made[tuple(p.values)] for p in partitions]

    def _there_already(
        self, entry: Entry, batch: Sequence[tuple[str, PartitionEntry]], added: list[str]
    ) -> PartitionAlreadyExistsError:
        found = {tuple(p.values) for p in self.partitions(entry, [p.values for _, p in batch])}
        names = [name for name, p in batch if tuple(p.values) in found]
        return PartitionAlreadyExistsError(
            f"Partitions of table {self.name}.{entry.database}.{entry.name} exist already: "
            f"{_some(names)}; {_added(added)}"
        )

    def drop_partitions(self, entry: Entry, values: Iterable[Sequence[str]], delete_data: bool) -> int:
        """Drop those that are there."""
        dropped = 0
        for one in values:
            try:
                dropped += bool(
                    self._write("drop_partition", self._scoped(entry.database), entry.name, list(one), delete_data)
                )
            except NoSuchObject:
                continue
        return dropped

    # --- calls -----------------------------------------------------------------------------------------------------

    def _read(self, method: str, *args: Any) -> Any:
        return self._call(method, args, again=True)

    def _write(self, method: str, *args: Any) -> Any:
        return self._call(method, args, again=False)

    def _call(self, method: str, args: tuple[Any, ...], *, again: bool) -> Any:
        try:
            return self._pool.run(lambda client: getattr(client, method)(*args), again=again)
        except TApplicationException as e:
            if e.type == TApplicationException.UNKNOWN_METHOD:
                raise
            raise ConnectionFailedError(f"The Hive Metastore failed in {method}: {e.message}") from None
        except TException as e:
            refused = refusal(method, e)
            if refused is not None:
                raise refused from None
            said = getattr(e, "message", None) or type(e).__name__
            raise ConnectionFailedError(f"The Hive Metastore refused {method}: {said}") from None

    def _scoped(self, database: str) -> str:
        """A database's name for the calls that are older than catalogs."""
        return database if self.catalog == DEFAULT_CATALOG else f"@{self.catalog}#{database}"

    def _check_possible(self, database: str) -> None:
        if _NAME.fullmatch(database) is None:
            raise self._no_schema(database)

    def _no_schema(self, name: str) -> NoSuchSchemaError:
        return NoSuchSchemaError(f"Schema {self.name}.{name} does not exist")


_CLIENT = ttypes.ClientCapabilities(values=[ttypes.ClientCapability.INSERT_ONLY_TABLES])


def _partly_added(error: Exception, added: list[str]) -> HeadwaterError:
    said = getattr(error, "message", None) or str(error)
    if isinstance(error, HeadwaterError):
        return type(error)(f"{said}; {_added(added)}")
    return IllegalArgumentError(f"partitions: the Hive Metastore refuses them: {said}; {_added(added)}")


def _added(names: list[str]) -> str:
    return f"added before that: {_some(names)}" if names else "none was added"


def _some(names: list[str]) -> str:
    """The names, or the first of very many."""
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
