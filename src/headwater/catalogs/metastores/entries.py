"""What a metastore holds, whichever it is: databases, tables and partitions as data."""

from __future__ import annotations

from typing import Any

import msgspec

VIRTUAL_VIEW = "VIRTUAL_VIEW"
MANAGED_TABLE = "MANAGED_TABLE"
EXTERNAL_TABLE = "EXTERNAL_TABLE"
MATERIALIZED_VIEW = "MATERIALIZED_VIEW"

VIEWS = frozenset({VIRTUAL_VIEW, MATERIALIZED_VIEW})
"""The kinds of entries that are no tables."""

IDENTITY = "headwater.id"
"""Parameter of what was made here: tells it from another one of the same name that was made in the same second."""


class Field(msgspec.Struct, frozen=True):
    """A column: its type is a Hive type string."""

    name: str
    type: str
    comment: str | None = None


class Serde(msgspec.Struct):
    """How rows are read from bytes and written to them."""

    library: str | None = None
    name: str | None = None
    parameters: dict[str, str] = {}


class SortColumn(msgspec.Struct, frozen=True):
    """A column that rows are sorted by inside of a bucket."""

    name: str
    ascending: bool = True


class Storage(msgspec.Struct):
    """Where and how data lies: Hive's StorageDescriptor."""

    columns: list[Field] = []
    location: str | None = None
    input_format: str | None = None
    output_format: str | None = None
    compressed: bool = False
    buckets: int = -1
    serde: Serde = msgspec.field(default_factory=Serde)
    bucket_columns: list[str] = []
    sort_columns: list[SortColumn] = []
    parameters: dict[str, str] = {}


class Database(msgspec.Struct):
    """A database. `raw` is the transport's own object: a change starts from it, so that nothing is lost."""

    name: str
    comment: str | None = None
    location: str | None = None
    parameters: dict[str, str] = {}
    owner: str | None = None
    created: float | None = None
    """Seconds since 1970, where the metastore knows."""
    raw: Any = None


class Entry(msgspec.Struct):
    """A table, or a view that is kept among the tables.

    `parameters` are all there are, without exception. `comment` is where the transport keeps it: Glue has a field of
    its own, Hive a parameter of that name. `raw` is the transport's own object: a change starts from it, so that what
    is not modelled here stays.
    """

    database: str
    name: str
    storage: Storage = msgspec.field(default_factory=Storage)
    partition_keys: list[Field] = []
    parameters: dict[str, str] = {}
    kind: str = MANAGED_TABLE
    comment: str | None = None
    owner: str | None = None
    created: float | None = None
    accessed: float | None = None
    changed: float | None = None
    view_original_text: str | None = None
    view_expanded_text: str | None = None
    version: str | None = None
    """The metastore's own mark of this state of the entry, where it has one (Glue's VersionId)."""
    raw: Any = None

    @property
    def is_view(self) -> bool:
        """Whether this is no table."""
        return self.kind in VIEWS

    def parameter(self, key: str) -> str | None:
        """A parameter whose key is compared in any case, as Hive's readers do."""
        if key in self.parameters:
            return self.parameters[key]
        return next((v for k, v in self.parameters.items() if k.lower() == key), None)


class PartitionEntry(msgspec.Struct):
    """A partition: one text per partition column. `storage` is None when it is to be as the table's."""

    values: list[str]
    storage: Storage | None = None
    parameters: dict[str, str] = {}
    created: float | None = None
    raw: Any = None


class Listed(msgspec.Struct, frozen=True):
    """A table's name and kind, for lists."""

    name: str
    kind: str
