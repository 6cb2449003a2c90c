"""What the core asks of a catalog provider.

A provider is a class found by the entry point group `headwater.catalogs`. It declares its name, its type and its
properties, and implements the protocols below that its backend can do; the core picks the strategy from that. All
methods are blocking: the core calls them in the bounded thread pool that belongs to the catalog. Only `token` is
called in the event loop and may never block.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from headwater.model.changes import SchemaChange, TableChange
from headwater.model.nouns import CatalogType, Schema
from headwater.model.properties import Properties
from headwater.model.tables import Column, Distribution, Index, Partition, Partitioning, SortOrder, Table

SchemaName = tuple[str, ...]
"""The levels of a schema's name, outermost first."""

T = TypeVar("T")

caller: ContextVar[str] = ContextVar("caller", default="")
"""Who asked for what a provider does now: backends that know owners are told."""

deleted: ContextVar[list[str] | None] = ContextVar("deleted", default=None)
"""Where a cascade writes down what it deleted, for the audit record; the core sets a new list before it asks."""


class Page(msgspec.Struct, frozen=True):
    """Which part of a list is wanted; names come in byte order."""

    limit: int | None = None
    after: str = ""
    prefix: str = ""

    @property
    def fetch(self) -> int | None:
        """How many names to fetch: one more than the limit, which tells whether there is another page."""
        return None if self.limit is None else self.limit + 1

    def cut(self, names: Iterable[str]) -> list[str]:
        """The wanted names out of all, for a backend that can't page by itself."""
        wanted = sorted(n for n in names if n > self.after and n.startswith(self.prefix))
        return wanted[: self.fetch]


class Found(msgspec.Struct, Generic[T]):
    """An object of the outside catalog, and the mark that tells it from another one of the same name."""

    value: T
    identity: str = ""


class NewTable(msgspec.Struct):
    """A table to be made."""

    name: str
    columns: Sequence[Column]
    comment: str | None = None
    properties: dict[str, str] = {}
    partitioning: Sequence[Partitioning] = ()
    distribution: Distribution | None = None
    sort_orders: Sequence[SortOrder] = ()
    indexes: Sequence[Index] = ()


class Context(msgspec.Struct, frozen=True):
    """What a catalog gets to know when it is opened. `properties` hold the secrets too."""

    name: str
    """Metalake and catalog, as they stand in messages."""
    properties: Mapping[str, str]
    scratch: Path
    """A folder of the server's own that a provider may use."""
    timeout: float
    """Seconds after which the core gives up on a call: a driver's own time-outs must lie below."""
    many_processes: bool
    """Several server processes share this catalog: what lives in one process's memory is not seen by the others."""
    check_local: Callable[[str, str], None]
    """`check_local(field, location)` refuses a local path that lies outside the folders the server may touch."""
    check_removable: Callable[[str, str], None]
    """`check_removable(field, location)` refuses a folder that may not be removed with what owns it."""
    allowed_classes: frozenset[str] = frozenset()
    """Python classes that the server's config lets a catalog's properties name."""


class Provider:
    """Base of all providers. The constructor checks properties and does no I/O."""

    name: ClassVar[str]
    type: ClassVar[CatalogType]
    summary: ClassVar[str]
    catalog_properties: ClassVar[Properties] = Properties()
    schema_properties: ClassVar[Properties] = Properties()
    table_properties: ClassVar[Properties] = Properties()
    fileset_properties: ClassVar[Properties] = Properties()

    def __init__(self, context: Context) -> None:
        self.context = context

    def check_name(self, kind: str, name: str) -> None:
        """Refuse a name that is legal in general but not in this catalog."""

    def fold(self, name: str) -> str:
        """A name as this backend keeps it: a catalog that knows no upper case answers it in lower case."""
        return name

    def check_changes(self, changes: Sequence[TableChange]) -> None:
        """Refuse table changes that can't be made together, before anything is touched."""

    def test(self) -> None:
        """Reach the backend, or raise ConnectionFailedError."""

    def close(self) -> None:
        """Let go of connections."""

    def token(self) -> Hashable | None:
        """A mark of the backend's state that changes with every change, or None if that can't be told at once."""
        return None


@runtime_checkable
class SupportsSchemas(Protocol):
    """The backend has schemas of its own. A provider without this gets schemas that Headwater keeps itself."""

    def list_schemas(self, parent: SchemaName, page: Page) -> list[str]:
        """Names right below `parent` (`()` is the catalog), joined for the wire."""
        ...

    def load_schema(self, schema: SchemaName) -> Found[Schema]:
        """The schema, or NoSuchSchemaError."""
        ...

    def create_schema(self, schema: SchemaName, comment: str | None, properties: dict[str, str]) -> Found[Schema]:
        """Make it, or SchemaAlreadyExistsError."""
        ...

    def alter_schema(self, schema: SchemaName, changes: Sequence[SchemaChange]) -> Found[Schema]:
        """Apply all changes or none."""
        ...

    def drop_schema(self, schema: SchemaName, cascade: bool) -> bool:
        """False if it was not there; NonEmptySchemaError if it is not empty and `cascade` is not set."""
        ...


@runtime_checkable
class SupportsTables(Protocol):
    """The backend holds tables."""

    def list_tables(self, schema: SchemaName, page: Page) -> list[str]:
        """Names of the tables in a schema, or NoSuchSchemaError."""
        ...

    def load_table(self, schema: SchemaName, name: str) -> Found[Table]:
        """The table, or NoSuchTableError."""
        ...

    def create_table(self, schema: SchemaName, table: NewTable) -> Found[Table]:
        """Make it, or TableAlreadyExistsError, or NoSuchSchemaError."""
        ...

    def alter_table(self, schema: SchemaName, name: str, changes: Sequence[TableChange]) -> Found[Table]:
        """Apply all changes in one commit or none; the answer is the table as it is then, under its new name."""
        ...

    def drop_table(self, schema: SchemaName, name: str, purge: bool) -> bool:
        """False if it was not there."""
        ...


@runtime_checkable
class SupportsPartitions(Protocol):
    """The backend keeps a list of a table's partitions. A table without any is UnsupportedOperationError."""

    def list_partitions(self, schema: SchemaName, table: str, page: Page) -> list[str]:
        """Names of a table's partitions."""
        ...

    def load_partitions(self, schema: SchemaName, table: str, page: Page) -> list[Partition]:
        """A table's partitions in the order of their names."""
        ...

    def load_partition(self, schema: SchemaName, table: str, name: str) -> Partition:
        """One, or NoSuchPartitionError."""
        ...

    def add_partitions(self, schema: SchemaName, table: str, new: Sequence[Partition]) -> list[Partition]:
        """Add all, or PartitionAlreadyExistsError; an error says what was added before it came."""
        ...

    def drop_partitions(self, schema: SchemaName, table: str, names: Sequence[str], purge: bool) -> int:
        """Drop those that are there; how many that were."""
        ...


class FileInfo(msgspec.Struct, frozen=True):
    """One entry of a fileset's folder."""

    name: str
    is_dir: bool
    size: int
    last_modified: int
    path: str


@runtime_checkable
class SupportsFilesets(Protocol):
    """The backend stores files; names and properties of filesets are kept by Headwater."""

    def make_folders(self, locations: Sequence[str]) -> None:
        """Make each folder if it is not there."""
        ...

    def claim_folders(self, locations: Sequence[str]) -> None:
        """Make each folder; one that is there must be empty, for it will be removed with its fileset."""
        ...

    def remove_folders(self, locations: Sequence[str]) -> None:
        """Remove each folder with all that is in it; one that is gone already is fine."""
        ...

    def remove_empty_folders(self, locations: Sequence[str]) -> None:
        """Remove each folder that is there and empty."""
        ...

    def list_files(self, location: str, sub_path: str) -> list[FileInfo]:
        """What lies in the folder `sub_path` of `location`."""
        ...
