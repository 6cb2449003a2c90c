"""Where tables lie: how a location is written down, and where a new table goes."""

from __future__ import annotations

import secrets
from pathlib import Path

from headwater.catalogs.base import Context, NewTable
from headwater.model.errors import IllegalArgumentError

_SCHEMES = ("/", "file:/", "s3://", "s3a://")


def local_path(location: str) -> Path | None:
    """The path on this machine that a location means: `/path`, `file:/path` (as Hadoop writes it) or `file:///path`."""
    path = location.removeprefix("file://") if location.startswith("file:///") else location.removeprefix("file:")
    return Path(path) if path.startswith("/") and not path.startswith("//") else None


def normalised(context: Context, field: str, location: str) -> str:
    """A location as it is written into metadata: local paths as file: URIs, checked against the server's bounds."""
    if not location.startswith(_SCHEMES):
        raise IllegalArgumentError(
            f"{field}: {location!r} is not allowed; allowed are an absolute path, file:/path and s3://bucket/path"
        )
    location = _as_uri(location)
    context.check_local(field, location)
    return location.rstrip("/")


def _as_uri(location: str) -> str:
    """A local path as a file: URI; anything else as it is."""
    if location.startswith(("file:///", "/")) or (location.startswith("file:/") and location[6:7] != "/"):
        path = "/" + location.removeprefix("file:").strip("/")
        return f"file://{path}"
    return location


def new_location(context: Context, table: NewTable, folder: str | None, warehouse: str | None) -> str:
    """The table's own location; else `folder`, the schema's, and the name; else `warehouse` and the name.

    `warehouse` is the part of the catalog's warehouse that belongs to the schema.
    """
    if (given := table.properties.get("location")) is not None:
        return normalised(context, "properties.location", given)
    above = folder or warehouse
    if above is None:
        raise IllegalArgumentError(
            "properties.location: required, because neither the schema has a location nor the catalog a warehouse"
        )
    location = _as_uri(f"{above.rstrip('/')}/{table.name}")
    context.check_local("the schema's location", location)
    return _free_folder(location)


def _free_folder(location: str) -> str:
    """The location, or one beside it if files lie there already: those of a table that was renamed or not purged.

    Two tables in one folder would lose files to each other's clean-up. Only local folders can be looked at cheaply.
    """
    path = local_path(location)
    taken = path is not None and path.is_dir() and any(path.iterdir())
    return f"{location}-{secrets.token_hex(4)}" if taken else location
