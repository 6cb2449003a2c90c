"""Folders of tables: where a new one lies, and that nobody owns what belongs to others."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headwater.catalogs.metastores.entries import Database, Entry
from headwater.model.errors import IllegalArgumentError

_SPELLINGS = ((re.compile(r"^file:/+"), "/"), (re.compile(r"^s3[an]://"), "s3://"))


def plain(location: str) -> str:
    """A location in one of its spellings, so that two of them can be compared.

    >>> plain("file:///data/x/"), plain("s3a://bucket/x")
    ('/data/x', 's3://bucket/x')
    """
    for spelling, same in _SPELLINGS:
        location = spelling.sub(same, location)
    return location.rstrip("/")


def covers(outer: str, inner: str) -> bool:
    """Whether a folder is another one, or holds it."""
    return plain(inner) == plain(outer) or plain(inner).startswith(plain(outer) + "/")


def default_folder(database: Database, warehouse: str | None, name: str) -> str:
    """Where a new table lies that names no place, in a metastore that finds none by itself."""
    folder = database.location or (f"{warehouse.rstrip('/')}/{database.name}.db" if warehouse else None)
    if folder is None:
        raise IllegalArgumentError(
            "properties.location: required, since neither the schema has a location nor the catalog a warehouse"
        )
    return f"{folder.rstrip('/')}/{name}"


def check_owned(location: str, database: Database, others: Iterable[Entry]) -> None:
    """Refuse a folder for a managed table, which is deleted with it, when somebody else's files lie in it."""
    owner = None
    if database.location is not None and covers(location, database.location):
        owner = f"the schema {database.name}"
    for other in others:
        theirs = other.storage.location
        if theirs and (covers(location, theirs) or covers(theirs, location)):
            owner = f"the table {other.name}"
    if owner is not None:
        raise IllegalArgumentError(
            f"properties.location: {location!r} belongs to {owner}, and a managed table's folder is deleted with it; "
            "take another folder, or make it external (table-type=EXTERNAL_TABLE)"
        )


def check_partition(field: str, table: Entry, location: str) -> None:
    """Refuse a folder for a partition of a managed table, which is deleted with it, outside of the table's own."""
    own = table.storage.location
    if own is None or not covers(own, location) or plain(own) == plain(location):
        raise IllegalArgumentError(
            f"{field}: {location!r} lies outside of the table's folder {own!r}, and the folder of a managed table's "
            "partition is deleted with it"
        )
