"""Opens the pyiceberg catalog that a Headwater catalog stands for. pyiceberg is imported here, when it is needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from headwater.catalogs.base import Context
from headwater.catalogs.iceberg import database
from headwater.model.errors import ConnectionFailedError, IllegalArgumentError
from headwater.model.properties import DRIVER_PREFIX

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

_S3 = {
    "s3-endpoint": "s3.endpoint",
    "s3-region": "s3.region",
    "s3-access-key-id": "s3.access-key-id",
    "s3-secret-access-key": "s3.secret-access-key",
}
_SCHEMES = ("/", "file:/", "s3://", "s3a://")


def _sweep(file: Path) -> None:
    """Remove what processes before this one left; one that still lives would not see what this one keeps."""
    for old in file.parent.glob("memory-*.db*"):
        pid = int(old.name.removeprefix("memory-").partition(".")[0])
        if pid == os.getpid():
            continue
        if _is_running(pid):
            raise IllegalArgumentError(
                f"properties.catalog-backend: 'memory' lives in one process, and process {pid} has it open; use jdbc"
            )
        old.unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Backend:
    """The checked properties of a catalog, and how to open it. Making one does no I/O."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.kind = context.properties["catalog-backend"].lower()
        if self.kind == "memory" and context.many_processes:
            raise IllegalArgumentError(
                "properties.catalog-backend: 'memory' lives in one process, and this server has several; use jdbc"
            )
        self.warehouse = self._warehouse()
        self._url = self._memory_url() if self.kind == "memory" else database.address(context)

    @property
    def file(self) -> Path | None:
        """The SQLite file, if that is what it is."""
        return Path(self._url.database) if self._url.drivername == "sqlite" and self._url.database else None

    def open(self) -> SqlCatalog:
        """Connect."""
        from headwater.catalogs.iceberg.sqlcatalog import ExactSqlCatalog

        if self.file is not None:
            if self.kind == "memory":
                _sweep(self.file)
            database.prepare_sqlite(self.file)
        name = self.context.properties.get("catalog-backend-name", self.kind)
        return ExactSqlCatalog(name, **self._properties())

    def probe(self) -> None:
        """Reach the database as it is: a file that is not there yet only needs a folder where it can be made."""
        if self.file is not None and not self.file.exists():
            folder = next(p for p in self.file.parents if p.exists())
            if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
                raise ConnectionFailedError(
                    f"properties.uri: {str(self.file)!r} can't be made: {folder} is not writable"
                )
            return
        engine = sa.create_engine(self._url, poolclass=sa.NullPool)
        try:
            with engine.connect() as connection:
                connection.execute(sa.text("select 1"))
                if self.file is not None:
                    connection.execute(sa.text("select count(*) from sqlite_master"))
        finally:
            engine.dispose()

    def normalised(self, field: str, location: str) -> str:
        """A location as it is written into metadata: local paths as file: URIs, checked against the server's bounds."""
        if not location.startswith(_SCHEMES):
            raise IllegalArgumentError(
                f"{field}: {location!r} is not allowed; allowed are an absolute path, file:/path and s3://bucket/path"
            )
        if location.startswith(("file:///", "/")) or (location.startswith("file:/") and location[6:7] != "/"):
            path = "/" + location.removeprefix("file:").strip("/")
            location = f"file://{path}"
        self.context.check_local(field, location)
        return location.rstrip("/")

    def _warehouse(self) -> str | None:
        given = self.context.properties.get("warehouse")
        if given is not None:
            return self.normalised("properties.warehouse", given)
        return f"file://{self.context.scratch}/warehouse" if self.kind == "memory" else None

    def _memory_url(self) -> sa.URL:
        # A file of this process's own: a database that is really in memory can't be shared by threads.
        return sa.URL.create("sqlite", database=str(self.context.scratch / f"memory-{os.getpid()}.db"))

    def _properties(self) -> dict[str, str]:
        given = self.context.properties
        mapped = {ours: given[key] for key, ours in _S3.items() if key in given}
        mapped |= {k.removeprefix(DRIVER_PREFIX): v for k, v in given.items() if k.startswith(f"{DRIVER_PREFIX}s3.")}
        mapped["uri"] = self._url.render_as_string(hide_password=False)
        mapped["pool_pre_ping"] = "true"
        mapped["init_catalog_tables"] = given.get("jdbc-initialize", "true")
        if self.warehouse is not None:
            mapped["warehouse"] = self.warehouse
        mapped["py-io-impl"] = "headwater.catalogs.iceberg.files.MetadataFiles"
        if given.get("s3-path-style-access", "false").lower() == "true":
            mapped["s3.force-virtual-addressing"] = "false"
        return mapped
