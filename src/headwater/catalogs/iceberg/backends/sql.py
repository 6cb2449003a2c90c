"""Iceberg's JDBC layout in a database: SQLite or PostgreSQL, or a SQLite file that lives as long as this process."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from headwater.catalogs.base import Context, Page, SchemaName
from headwater.catalogs.iceberg import database
from headwater.catalogs.iceberg.backends.base import PointerBackend
from headwater.catalogs.iceberg.database import ChangeToken, Questions, file_identity
from headwater.catalogs.iceberg.errors import no_such_schema
from headwater.model.errors import ConnectionFailedError, IllegalArgumentError
from headwater.model.properties import Kind, Property

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

_EXISTS = "exists"
"""Iceberg's own mark of a namespace: rows of properties are all that one is made of, so one row must stay."""


class SqlBackend(PointerBackend):
    """Asks the database itself what is asked often; changes go through pyiceberg."""

    def __init__(self, context: Context, url: sa.URL) -> None:
        super().__init__(context)
        self._url = url
        self._file = Path(url.database) if url.drivername == "sqlite" and url.database else None
        self._asking: Questions | None = None
        self._identity: Hashable = None
        self._token = ChangeToken(self._file) if self._file else None

    # --- connection ------------------------------------------------------------------------------------------------

    def catalog(self) -> SqlCatalog:
        """The open catalog; opened anew when another database file lies in the old one's place."""
        with self._opening:
            self._check_file()
            if self._catalog is None:
                self._catalog = self.connect()
                self._asking = Questions(self._catalog)
                self._identity = file_identity(self._file) if self._file else None
            return self._catalog  # type: ignore[return-value]

    def connect(self) -> SqlCatalog:
        """Connect, and make Iceberg's tables in the database if they are wanted and not there."""
        from headwater.catalogs.iceberg.sqlcatalog import ExactSqlCatalog

        if self._file is not None:
            database.prepare_sqlite(self._file)
        given = self.context.properties
        properties = {
            **self.file_properties(),
            "uri": self._url.render_as_string(hide_password=False),
            "pool_pre_ping": "true",
            "init_catalog_tables": given.get("jdbc-initialize", "true"),
        }
        if self.warehouse is not None:
            properties["warehouse"] = self.warehouse
        return ExactSqlCatalog(given.get("catalog-backend-name", given["catalog-backend"].lower()), **properties)

    def _check_file(self) -> None:
        """Notice that the database file was replaced or taken away: what is open is no longer what others see."""
        if self._catalog is None or self._file is None:
            return
        found = file_identity(self._file)
        if found is None:
            raise ConnectionFailedError(f"The catalog's database {self._file} is gone")
        if found != self._identity:
            self._catalog.close()
            self._catalog = self._asking = None

    def probe(self) -> None:
        """Reach the database as it is: a file that is not there yet only needs a folder where it can be made."""
        if self._file is not None and not self._file.exists():
            folder = next(p for p in self._file.parents if p.exists())
            if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
                raise ConnectionFailedError(
                    f"properties.uri: {str(self._file)!r} can't be made: {folder} is not writable"
                )
            return
        engine = sa.create_engine(self._url, poolclass=sa.NullPool)
        try:
            with engine.connect() as connection:
                connection.execute(sa.text("select 1"))
                if self._file is not None:
                    connection.execute(sa.text("select count(*) from sqlite_master"))
        finally:
            engine.dispose()

    def close(self) -> None:
        """Let go of the database."""
        if self._token is not None:
            self._token.close()
        super().close()
        self._asking = None

    def token(self) -> Hashable | None:
        """Exact for a SQLite file; other databases are asked at every load."""
        return None if self._token is None or self._catalog is None else self._token.read()

    def _ask(self) -> Questions:
        catalog = self.catalog()
        return self._asking or Questions(catalog)

    # --- namespaces ------------------------------------------------------------------------------------------------

    def check_schema_name(self, schema: SchemaName) -> None:
        """A dot can't be part of a level: it separates them in the database."""
        if any("." in level for level in schema):
            raise IllegalArgumentError(
                "name: a dot separates levels in this catalog's database; write nested names as a:b"
            )

    def namespace(self, schema: SchemaName) -> Mapping[str, str]:
        """Its properties, by one statement; a second one when there are none."""
        properties = self._ask().namespace_properties(".".join(schema))
        if not properties and not self.has_namespace(schema):
            raise no_such_schema(self.context, schema)
        return properties

    def create_namespace(self, schema: SchemaName, properties: dict[str, str]) -> None:
        """Make it; made by somebody else at the same moment, it is there already."""
        from pyiceberg.exceptions import NamespaceAlreadyExistsError

        try:
            super().create_namespace(schema, {**properties, _EXISTS: "true"})
        except sa.exc.IntegrityError:
            raise NamespaceAlreadyExistsError(".".join(schema)) from None

    def update_namespace(self, schema: SchemaName, removals: set[str], updates: dict[str, str]) -> None:
        """One row of properties stays, whatever is removed."""
        super().update_namespace(schema, removals, {**updates, _EXISTS: "true"})

    def views(self, schema: SchemaName) -> list[str]:
        """The views that other tools keep in it."""
        return self._ask().views(".".join(schema))

    # --- tables ----------------------------------------------------------------------------------------------------

    def table_names(self, schema: SchemaName, page: Page) -> list[str]:
        """One statement; a second one when nothing was found."""
        names = self._ask().table_names(".".join(schema), page)
        if not names and not self.has_namespace(schema):
            raise no_such_schema(self.context, schema)
        return names

    def pointer(self, schema: SchemaName, name: str) -> str:
        """One statement."""
        location = self._ask().pointer(".".join(schema), name)
        if location is None:
            raise self.missing(schema, name)
        return location


class DatabaseBackend(SqlBackend):
    """`jdbc`: the database that `uri` names."""

    properties = (
        Property(name="jdbc-user", description="User of the database.", hidden=True),
        Property(name="jdbc-password", description="Password of the database.", hidden=True),
        Property(name="jdbc-driver", description="Accepted for engines; the server needs none."),
        Property(
            name="jdbc-initialize",
            description="Make the catalog's tables in the database if they are not there.",
            kind=Kind.BOOLEAN,
            default="true",
        ),
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context, database.address(context))
        self.warehouse = self.given_warehouse()


class MemoryBackend(SqlBackend):
    """`memory`: a file of this process's own, for a database that is really in memory can't be shared by threads."""

    def __init__(self, context: Context) -> None:
        if context.many_processes:
            raise IllegalArgumentError(
                "properties.catalog-backend: 'memory' lives in one process, and this server has several; use jdbc"
            )
        file = context.scratch / f"memory-{os.getpid()}.db"
        super().__init__(context, sa.URL.create("sqlite", database=str(file)))
        self.warehouse = self.given_warehouse() or f"file://{context.scratch}/warehouse"

    def connect(self) -> SqlCatalog:
        """Start empty."""
        _sweep(self.context.scratch)
        return super().connect()


def _sweep(folder: Path) -> None:
    """Remove what processes before this one left; one that still lives would not see what this one keeps."""
    for old in folder.glob("memory-*.db*"):
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
