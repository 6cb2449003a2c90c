"""The store of several servers: PostgreSQL through psycopg, in threads with a connection each."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg import errors as pg
from sqlalchemy.dialects.postgresql import psycopg as dialect

from headwater.blocking import Gate, Pool
from headwater.model.errors import BackendBusyError, BackendTimeoutError, ConflictError, StoreUnavailableError
from headwater.store.base import Work
from headwater.store.session import Session, Sql
from headwater.store.tables import HEAD
from headwater.store.upgrade import check_version, read_version, upgrade

T = TypeVar("T")
_TRIES = 8
_TOKEN = "select pg_current_snapshot()::text || pg_postmaster_start_time()::text"
_UPGRADE_LOCK = 4_237_190_421


class PostgresStore:
    """Tables in one PostgreSQL database."""

    many_processes = True

    def __init__(self, url: str, *, connections: int = 8, timeout: float = 10.0) -> None:
        self._url = url
        self._sql = Sql(dialect.dialect(paramstyle="pyformat"))  # type: ignore[no-untyped-call]
        self._local = threading.local()
        self._limits = {"connect_timeout": max(2, int(timeout / 3)), "tcp_user_timeout": int(timeout * 900)}
        self._options = f"-c statement_timeout={int(timeout * 900)} -c lock_timeout={int(timeout * 800)}"
        self._pool = Pool("store", threads=connections, waiting=4096, timeout=timeout)
        self._gate = Gate(self._check)

    async def token(self) -> Hashable:
        """The database's visible transactions: the text differs after every commit, whoever made it."""
        return await self._gate.ask()

    async def _check(self) -> Hashable:
        return await self._call(lambda: self._question(_ask_token))

    async def read(self, work: Work[T]) -> T:
        """Ask in a thread of the store's pool."""
        return await self._call(lambda: self._question(lambda c: work(Session(c, self._sql))))

    async def write(self, work: Work[T]) -> T:
        """Run `work` in one transaction, again if another one got in its way."""
        return await self._call(lambda: self._transaction(work))

    async def probe(self) -> None:
        """One round trip; what can be read there can be written."""
        await self.token()

    async def close(self) -> None:
        """Threads close their connections with the process."""
        self._pool.close()

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            return await self._pool.call(work)
        except (BackendTimeoutError, BackendBusyError) as e:
            raise StoreUnavailableError(f"The store can't be used: {e.message}") from None

    def _question(self, ask: Callable[[psycopg.Connection[Any]], T]) -> T:
        try:
            with self._connected() as connection:
                return ask(connection)
        except psycopg.OperationalError:
            # The connection may have been dead since before: ask once more on a new one.
            with _as_unavailable(), self._connected() as connection:
                return ask(connection)

    def _transaction(self, work: Work[T]) -> T:
        last: Exception | None = None
        for _ in range(_TRIES):
            with _as_unavailable():
                self._revive()
                try:
                    with self._connected() as connection, connection.transaction():
                        return work(Session(connection, self._sql))
                except (pg.SerializationFailure, pg.DeadlockDetected, pg.IntegrityError) as e:
                    last = e  # others changed what `work` had looked at: it sees that on the next round
        raise ConflictError("The store's rows changed too often while this change was made; try again") from last

    def _revive(self) -> None:
        """Find out before a change begins whether the connection is still there: later a retry could do it twice."""
        if getattr(self._local, "connection", None) is not None:
            with contextlib.suppress(psycopg.Error), self._connected() as connection:
                connection.execute("")

    @contextlib.contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        connection = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = psycopg.connect(self._url, autocommit=True, options=self._options, **self._limits)  # type: ignore[arg-type]
            self._local.connection = connection
        try:
            yield connection
        except psycopg.OperationalError:
            if connection.closed or connection.broken:
                connection.close()
                self._local.connection = None
            raise


@contextlib.contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as e:
        raise StoreUnavailableError(f"The store can't be used: {_first_line(e)}") from None


def _ask_token(connection: psycopg.Connection[Any]) -> Hashable:
    token: str = connection.execute(_TOKEN).fetchall()[0][0]
    return token


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def prepare(url: str, *, may_upgrade: bool) -> str | None:
    """Check the store's version, and upgrade it if that was asked for; the answer is the version that it was at."""
    engine = sa.create_engine(
        sa.make_url(url).set(drivername="postgresql+psycopg"),
        connect_args={"connect_timeout": 5},
        poolclass=sa.NullPool,
    )
    try:
        with engine.begin() as connection:
            found = read_version(connection)
            if found == HEAD or not may_upgrade or (found or "") > HEAD:
                check_version(found)
                return found
            # Several servers may start at once: one upgrades, the others wait and find it done.
            connection.execute(sa.text(f"select pg_advisory_xact_lock({_UPGRADE_LOCK})"))
            upgrade(connection)
            return found
    except sa.exc.OperationalError as e:
        raise StoreUnavailableError(f"The store can't be reached: {_first_line(e.orig or e)}") from None
