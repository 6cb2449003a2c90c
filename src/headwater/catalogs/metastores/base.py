"""What is asked of a metastore's transport: the Hive Metastore by Thrift, AWS Glue by HTTP.

All methods block. They raise the product's own errors: NoSuchSchemaError, NoSuchTableError, SchemaAlreadyExistsError,
TableAlreadyExistsError, PartitionAlreadyExistsError, ConflictError (somebody else changed it since),
ConnectionFailedError (unreachable, refused credentials), BackendBusyError (throttled: 503 with Retry-After),
IllegalArgumentError. No driver's exception leaves a transport. Names are given as the metastore keeps them, in lower
case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from headwater.catalogs.metastores.entries import Database, Entry, Listed, PartitionEntry


class Metastore(Protocol):
    """A metastore that answers. `name` is the catalog's, as it stands in messages (`metalake.catalog`)."""

    name: str
    renames: bool
    """Whether it can give a table another name."""
    deletes_data: bool
    """Whether it deletes the data of a dropped table itself, as the Hive Metastore does with managed ones."""

    def probe(self) -> None:
        """One cheap call that shows that address, credentials and region are right, or ConnectionFailedError."""
        ...

    def close(self) -> None:
        """Let go of connections. A later call opens new ones."""
        ...

    # --- databases ---

    def databases(self) -> list[str]:
        """All names."""
        ...

    def database(self, name: str) -> Database:
        """One, or NoSuchSchemaError."""
        ...

    def create_database(self, database: Database) -> None:
        """Make it, or SchemaAlreadyExistsError. Without a location the metastore chooses one, or none."""
        ...

    def alter_database(self, before: Database, after: Database) -> None:
        """Replace it. `before` is what `database` answered."""
        ...

    def check_droppable(self, name: str) -> None:
        """Refuse a database that could not be dropped even if its tables were gone."""
        ...

    def drop_database(self, name: str) -> None:
        """Drop one that the caller saw to be empty; NoSuchSchemaError, or NonEmptySchemaError if it can tell."""
        ...

    # --- tables ---

    def listed(self, database: str) -> list[Listed]:
        """Name and kind of all entries, views too, by the cheapest calls there are; NoSuchSchemaError."""
        ...

    def entries(self, database: str) -> Iterator[Entry]:
        """All entries whole, views too, in pages; NoSuchSchemaError."""
        ...

    def entry(self, database: str, name: str) -> Entry:
        """One, or NoSuchTableError (NoSuchSchemaError when the database is not there)."""
        ...

    def create(self, entry: Entry) -> None:
        """Make it, or TableAlreadyExistsError, or NoSuchSchemaError."""
        ...

    def replace(self, before: Entry, after: Entry) -> None:
        """Write `after` over the entry read as `before`: what `after` does not model is kept from `before.raw`.

        ConflictError if somebody else has written since `before` was read, as far as the metastore can tell;
        call it inside of `locked`, with `before` read there. Another name or database in `after` is a rename.
        """
        ...

    def locked(self, database: str, name: str) -> AbstractContextManager[None]:
        """Holds off other writers that lock, where the metastore has locks; else does nothing."""
        ...

    def drop(self, entry: Entry, delete_data: bool) -> None:
        """Remove the entry; with `delete_data` the data of a managed table too, where the metastore does that."""
        ...

    # --- partitions ---

    def partition_names(self, entry: Entry) -> list[str]:
        """Names `k=v/k=v` of all partitions, escaped as Hive escapes them."""
        ...

    def partitions(self, entry: Entry, values: Sequence[Sequence[str]] | None = None) -> Iterator[PartitionEntry]:
        """All partitions, or those of these values that are there; in batches."""
        ...

    def partition(self, entry: Entry, values: Sequence[str]) -> PartitionEntry | None:
        """One, or None."""
        ...

    def add_partitions(self, entry: Entry, partitions: Sequence[PartitionEntry]) -> list[PartitionEntry]:
        """Add all; the answer is what they are then, in the given order.

        PartitionAlreadyExistsError, or an error that names those that were added before one failed.
        """
        ...

    def drop_partitions(self, entry: Entry, values: Iterable[Sequence[str]], delete_data: bool) -> int:
        """Drop those that are there; the answer is how many that were."""
        ...
