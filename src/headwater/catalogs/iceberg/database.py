"""The database of a jdbc catalog: its address, and quick questions that need none of pyiceberg's objects."""

from __future__ import annotations

import contextlib
import importlib.util
import sqlite3
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from headwater.blocking import OncePerTurn
from headwater.catalogs.base import Context, Page
from headwater.model.errors import IllegalArgumentError

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

_LAST = "\U0010ffff"


def address(context: Context) -> sa.URL:
    """The database's URL for SQLAlchemy; checks everything that can be checked without I/O."""
    text = context.properties["uri"].removeprefix("jdbc:")
    if text.startswith("sqlite:") and not text.startswith("sqlite://"):
        text = "sqlite:///" + text.removeprefix("sqlite:")
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise IllegalArgumentError(
            "properties.uri: not a database URL; sqlite:// and postgresql:// are allowed"
        ) from None
    if url.password or any("password" in k.lower() for k in url.query):
        raise IllegalArgumentError("properties.uri: it may not hold a password; use jdbc-user and jdbc-password")
    backend = url.get_backend_name()
    if backend == "sqlite":
        return _sqlite(context, url)
    if backend in ("postgresql", "postgres"):
        return _postgres(context, url)
    raise IllegalArgumentError(f"properties.uri: {backend!r} is not supported; sqlite:// and postgresql:// are allowed")


def _sqlite(context: Context, url: sa.URL) -> sa.URL:
    if not url.database or url.database == ":memory:":
        raise IllegalArgumentError(
            "properties.uri: name a file, as in sqlite:////absolute/path; or use the memory backend"
        )
    if not url.database.startswith("/"):
        raise IllegalArgumentError("properties.uri: the path must be absolute, as in sqlite:////absolute/path")
    context.check_local("properties.uri", url.database)
    if "?" in str(url) or "#" in url.database:
        raise IllegalArgumentError("properties.uri: only a path may follow sqlite://")
    return sa.URL.create("sqlite", database=url.database)


def _postgres(context: Context, url: sa.URL) -> sa.URL:
    if importlib.util.find_spec("psycopg") is None:
        raise IllegalArgumentError("properties.uri: this server lacks the driver: pip install 'headwater[postgres]'")
    seconds = max(2, int(context.timeout * 0.8))
    limits = {
        "connect_timeout": str(max(2, min(10, seconds // 2))),
        "options": f"-c statement_timeout={seconds * 1000}",
        "tcp_user_timeout": str(seconds * 1000),
    }
    return url.set(
        drivername="postgresql+psycopg",
        username=context.properties.get("jdbc-user", url.username),
        password=context.properties.get("jdbc-password"),
        query={**url.query, **limits},
    )


def prepare_sqlite(path: Path) -> None:
    """Make the file in write-ahead mode, so that readers and writers don't stand in each other's way.

    A file that is there already is somebody else's: it keeps its mode.
    """
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
        connection.execute("PRAGMA journal_mode=WAL").fetchall()


def file_identity(path: Path) -> Hashable:
    """Tells a file from another one that was put in its place; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


class ChangeToken:
    """SQLite's own change counter, read in the event loop in microseconds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._opened = 0
        self._file: Hashable = None
        self._this_turn = OncePerTurn(self._read)

    def read(self) -> Hashable | None:
        """A mark of the file's state, or None when it can't be told without waiting."""
        return self._this_turn.get()

    def _read(self) -> Hashable | None:
        try:
            if file_identity(self._path) != self._file:
                self.close()  # another file lies there now
            if self._connection is None:
                uri = f"{self._path.as_uri()}?mode=ro"
                self._connection = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)
                self._opened += 1
                self._file = file_identity(self._path)
            return (self._opened, self._connection.execute("PRAGMA data_version").fetchall()[0][0])
        except sqlite3.Error:
            self.close()
            return None

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Questions:
    """What is asked often: pointers, names, a namespace's properties. One statement each."""

    def __init__(self, catalog: SqlCatalog) -> None:
        from pyiceberg.catalog.sql import IcebergNamespaceProperties, IcebergTables

        self._engine = catalog.engine
        self._tables: Any = IcebergTables.__table__
        self._spaces: Any = IcebergNamespaceProperties.__table__
        self._name = catalog.name
        self._kinds = getattr(catalog, "_schema_version", "v0") == "v1"

    def _rows(self, statement: sa.Select[Any]) -> list[Any]:
        with self._engine.connect() as connection:
            return list(connection.execute(statement).fetchall())

    def _bytewise(self, column: Any) -> Any:
        return sa.collate(column, "C") if self._engine.dialect.name == "postgresql" else column

    def _only_tables(self, statement: sa.Select[Any]) -> sa.Select[Any]:
        if not self._kinds:
            return statement
        kind = self._tables.c.iceberg_type
        return statement.where((kind == "TABLE") | kind.is_(None))

    def pointer(self, namespace: str, name: str) -> str | None:
        """Where the table's current metadata lies; None if there is no such table."""
        t = self._tables.c
        where = (t.catalog_name == self._name) & (t.table_namespace == namespace) & (t.table_name == name)
        rows = self._rows(self._only_tables(sa.select(t.metadata_location).where(where)))
        return rows[0][0] if rows else None

    def views(self, namespace: str) -> list[str]:
        """The views that other tools keep in a namespace: they are not served here, but they are there."""
        if not self._kinds:
            return []
        t = self._tables.c
        where = (t.catalog_name == self._name) & (t.table_namespace == namespace) & (t.iceberg_type == "VIEW")
        return [r[0] for r in self._rows(sa.select(t.table_name).where(where).order_by(t.table_name))]

    def table_names(self, namespace: str, page: Page) -> list[str]:
        """The wanted part of a namespace's tables."""
        t = self._tables.c
        name = self._bytewise(t.table_name)
        where = (t.catalog_name == self._name) & (t.table_namespace == namespace)
        part = (name > page.after) & (name >= page.prefix) & (name < page.prefix + _LAST)
        statement = sa.select(t.table_name).where(where & part).order_by(name).limit(page.fetch)
        return [r[0] for r in self._rows(self._only_tables(statement))]

    def namespace_properties(self, namespace: str) -> dict[str, str]:
        """The properties of a namespace; empty if it has none or is not there."""
        s = self._spaces.c
        where = (s.catalog_name == self._name) & (s.namespace == namespace)
        return {r[0]: r[1] for r in self._rows(sa.select(s.property_key, s.property_value).where(where))}
