"""The embedded store: reads in the event loop, writes in one thread per process, a lock file between processes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite as dialect

from headwater.blocking import OncePerTurn
from headwater.model.errors import ConflictError, StoreUnavailableError
from headwater.store.base import Work
from headwater.store.session import Session, Sql
from headwater.store.tables import HEAD
from headwater.store.upgrade import StoreVersionError, check_version, upgrade

T = TypeVar("T")
_BUSY_PAUSES = (0.001, 0.005, 0.02, 0.1, 0.3)
_INTEGRITY_TRIES = 3


class SqliteStore:
    """A file `headwater.db` with its write-ahead log."""

    def __init__(self, path: Path, *, timeout: float = 30.0, many_processes: bool = False) -> None:
        self.path, self.many_processes = path, many_processes
        self._timeout = timeout
        self._sql = Sql(dialect.dialect(paramstyle="named"))
        self._reader: sqlite3.Connection | None = None
        self._opened = 0
        self._write_failed = False
        self._token = OncePerTurn(self._read_token)
        self._writer = _Writer(path, self._sql)

    async def token(self) -> Hashable:
        """SQLite's own change counter: it moves with every commit of every other connection."""
        if self._reader is not None:
            with contextlib.suppress(sqlite3.Error):  # then the patient way finds out what is wrong
                return self._token.get()
        version = await self._patiently(_data_version)
        return (self._opened, version)

    def _read_token(self) -> Hashable:
        assert self._reader is not None
        return (self._opened, _data_version(self._reader))

    async def read(self, work: Work[T]) -> T:
        """In the loop: a question costs a few microseconds."""
        return await self._patiently(lambda c: work(Session(c, self._sql)))

    async def write(self, work: Work[T]) -> T:
        """In the writer's thread."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._writer.put(work, future)
        try:
            result = await asyncio.wait_for(future, self._timeout)
        except TimeoutError:
            self._write_failed = True
            raise StoreUnavailableError(f"The store did not take the change within {self._timeout:g} seconds") from None
        except StoreUnavailableError:
            self._write_failed = True
            raise
        self._write_failed = False
        return result

    async def probe(self) -> None:
        """Read, and write if that failed the last time."""
        await self.token()
        if self._write_failed:
            await self.write(Session.touch)

    async def close(self) -> None:
        """Let go of both connections."""
        self._writer.stop()
        if self._reader is not None:
            self._reader.close()

    async def _patiently(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A busy store (another connection recovers or checkpoints) is asked again, without blocking the loop."""
        for pause in (*_BUSY_PAUSES, None):
            try:
                return work(self._reader or self._open())
            except sqlite3.Error as e:
                if pause is None or "locked" not in str(e):
                    self._forget()
                    raise _unavailable(e) from e
                await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    def _open(self) -> sqlite3.Connection:
        # A connection of its own: data_version does not move with the commits of the connection that asks.
        self._reader = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=0, cached_statements=256
        )
        self._opened += 1
        return self._reader

    def _forget(self) -> None:
        self._token.forget()
        if self._reader is not None:
            self._reader.close()
            self._reader = None


class _Writer:
    """One thread, one connection; the lock file keeps processes from starving each other in SQLite's busy loop."""

    def __init__(self, path: Path, sql: Sql) -> None:
        self._path, self._sql = path, sql
        self._jobs: queue.SimpleQueue[tuple[Work[Any], asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._connection: sqlite3.Connection | None = None
        self._thread: threading.Thread | None = None

    def put(self, work: Work[Any], future: asyncio.Future[Any]) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="headwater-store", daemon=True)
            self._thread.start()
        self._jobs.put((work, future))

    def stop(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, future = job
            if future.cancelled():
                continue
            result, error = None, None
            try:
                result = self._commit(work)
            except BaseException as e:  # noqa: BLE001 - handed to the one who waits
                error = e
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                future.get_loop().call_soon_threadsafe(_answer, future, result, error)
        if self._connection is not None:
            self._connection.close()

    def _commit(self, work: Work[T]) -> T:
        for _ in range(_INTEGRITY_TRIES):
            try:
                with locked(self._path):
                    return self._transaction(work)
            except sqlite3.IntegrityError:
                continue  # somebody made or dropped a row that `work` had looked for: it sees that now
            except (sqlite3.Error, OSError) as e:
                raise _unavailable(e) from e
        raise ConflictError("The store's rows changed too often while this change was made; try again")

    def _transaction(self, work: Work[T]) -> T:
        connection = self._connection or connect_for_writing(self._path)
        self._connection = connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            result = work(Session(connection, self._sql))
            connection.execute("COMMIT")
        except BaseException:
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            except sqlite3.Error:
                connection.close()
                self._connection = None
            raise
        return result


def _answer(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if not future.done():
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _data_version(connection: sqlite3.Connection) -> int:
    found: int = connection.execute("PRAGMA data_version").fetchall()[0][0]  # to the end: else it would not move
    return found


def _unavailable(error: Exception) -> StoreUnavailableError:
    return StoreUnavailableError(f"The store can't be used: {error}")


def connect_for_writing(path: Path) -> sqlite3.Connection:
    """A connection that loses nothing that was acknowledged, not even when the power fails."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=5, check_same_thread=False, cached_statements=256)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    return connection


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the store's lock file: at most one process writes."""
    handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_version(path: Path) -> str | None:
    """The migration that the file is at; None for an empty one."""
    if not path.exists():
        return None
    with contextlib.closing(sqlite3.connect(path, timeout=5)) as connection:
        if not connection.execute("select 1 from sqlite_master where name = 'alembic_version'").fetchall():
            return None
        rows = connection.execute("select version_num from alembic_version").fetchall()
        return rows[0][0] if rows else None


def prepare(path: Path, to: str = HEAD) -> str | None:
    """Make the store or upgrade it where that is needed; the answer is the version that it was at."""
    found = read_version(path)
    if found == HEAD:
        return found
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path):
        found = read_version(path)
        if found is not None and found > HEAD:
            check_version(found)
        if found == to:
            return found
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.close(handle)
        engine = sa.create_engine(f"sqlite:///{path}")
        sa.event.listen(engine, "connect", lambda c, _: setattr(c, "isolation_level", None))
        sa.event.listen(engine, "begin", lambda c: c.exec_driver_sql("BEGIN IMMEDIATE"))
        try:
            with engine.begin() as connection:
                upgrade(connection, to)
        finally:
            engine.dispose()
    return found


def check_writable(path: Path) -> None:
    """Find out before the server starts whether its store can be written."""
    with locked(path), contextlib.closing(connect_for_writing(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        # A file that may only be read lets a transaction begin, but not write.
        connection.execute("UPDATE objects SET version = version WHERE id = 0")
        connection.execute("ROLLBACK")


@contextlib.contextmanager
def usable(path: Path) -> Iterator[None]:
    """What goes wrong with the file leaves the block as one clear error that names it."""
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        # Not even opened: SQLite would put files beside it that bear the same permissions and stay.
        raise StoreUnavailableError(f"The store {path} can't be used: permission denied")
    try:
        yield
    except sqlite3.Error as e:
        raise StoreUnavailableError(f"The store {path} can't be used: {e}") from None
    except sa.exc.DBAPIError as e:
        raise StoreUnavailableError(f"The store {path} can't be used: {e.orig}") from None


__all__ = [
    "SqliteStore",
    "StoreVersionError",
    "check_writable",
    "connect_for_writing",
    "prepare",
    "read_version",
    "usable",
]
