"""The audit log: who did what, from where, on what, with which outcome; one JSON document per line.

A change has two lines with the same `id`: its intent is on disk before any backend is called, its outcome before the
caller gets the answer. Reads have one line, written within a moment. Values of properties are never written.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import threading
import time
from collections.abc import Awaitable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import structlog

from headwater.events import Event
from headwater.model.errors import StoreUnavailableError
from headwater.settings import Settings

log = structlog.get_logger(__name__)

_READS_DELAY = 0.05
_MAX_READS = 50_000


class _Record(msgspec.Struct, omit_defaults=True, rename="camel"):
    time: datetime
    id: str
    request_id: str
    operation: str
    outcome: str
    user: str
    remote_address: str
    object_type: str
    object: tuple[str, ...]
    status: int = 0
    error: str | None = None
    duration_ms: float | None = None
    details: dict[str, Any] = {}


def _record(event: Event) -> _Record:
    outcome = "intent" if event.phase == "before" else ("success" if event.error is None else "failure")
    stamp = datetime.fromtimestamp(event.time, UTC)
    duration = None if event.phase == "before" else int(event.duration * 1e6) / 1000
    return _Record(
        stamp, event.id, event.request_id, event.kind, outcome, event.actor, event.peer, event.noun, event.subject,
        event.status, event.error, duration, event.details,
    )  # fmt: skip


class AuditLog:
    """Writes `audit.jsonl` in the data folder (or the configured file), which several processes may share."""

    def __init__(self, settings: Settings) -> None:
        config = settings.audit
        self._reads_wanted = config.reads
        self._reads: list[Event] = []
        self._dropped = 0
        path = Path(config.file) if config.file else settings.data_folder / "audit.jsonl"
        self._writer = _Writer(path, config.max_bytes, config.keep)

    def handle(self, event: Event) -> Awaitable[None] | None:
        """Changes are written at once and waited for; reads are gathered for a moment."""
        if event.changes:
            return self._writer.put([event], durable=True)
        if self._reads_wanted or event.error is not None:
            if not self._reads:
                asyncio.get_running_loop().call_later(_READS_DELAY, self._flush)
            self._reads.append(event)
        return None

    def _flush(self) -> None:
        events, self._reads = self._reads, []
        if events and self._writer.backlog < _MAX_READS:
            self._writer.put(events, durable=False)
        elif events:
            self._dropped += len(events)
            log.error("audit lines of reads were lost: the disk is too slow", lost=self._dropped)

    async def probe(self) -> None:
        """Try again to write, if that failed the last time; StoreUnavailableError if it still fails."""
        if self._writer.failed and (waiting := self._writer.put([], durable=True)) is not None:
            await waiting

    async def close(self) -> None:
        """Write what is still waiting."""
        self._flush()
        await asyncio.to_thread(self._writer.stop)


_encode = msgspec.json.Encoder().encode_lines
_Job = tuple[list[Event], "asyncio.Future[None] | None"]


class _Writer:
    """One daemon thread; what waits when it looks goes into one write and one fsync."""

    def __init__(self, path: Path, max_bytes: int, keep: int) -> None:
        self._path, self._max_bytes, self._keep = path, max_bytes, keep
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._file = -1
        self.failed = False
        self._owed = b""
        self.backlog = 0

    def put(self, events: list[Event], *, durable: bool) -> asyncio.Future[None] | None:
        """Have the events written; the answer is done when they are on disk."""
        future = asyncio.get_running_loop().create_future() if durable else None
        self.backlog += len(events)
        self._jobs.put((events, future))
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="headwater-audit", daemon=True)
            self._thread.start()
        return future

    def stop(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(timeout=5)

    def _run(self) -> None:
        last = False
        while not last:
            jobs, last = self._take()
            error: Exception | None = None
            try:
                error = self._work(jobs)
            except Exception as e:  # noqa: BLE001 - whatever it is, those who wait are told
                error = StoreUnavailableError(f"The audit log can't be written: {e}")
            for events, future in jobs:
                self.backlog -= len(events)
                if future is not None:
                    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                        future.get_loop().call_soon_threadsafe(_answer, future, error)

    def _work(self, jobs: list[_Job]) -> Exception | None:
        if not jobs:
            return None
        lines = b"".join(_encode([_record(e) for e in events]) for events, _ in jobs)
        error = self._try_write(lines, sync=any(f is not None for _, f in jobs))
        if error is not None:
            self._remember_outcomes(jobs)
        return error

    def _take(self) -> tuple[list[_Job], bool]:
        jobs: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            jobs.append(job)
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True

    def _remember_outcomes(self, jobs: list[_Job]) -> None:
        """The outcome of a change that is already made is owed to the log: it goes first as soon as there is room."""
        outcomes = [e for events, f in jobs if f is not None for e in events if e.phase == "after"]
        self._owed += _encode([_record(e) for e in outcomes])

    def _try_write(self, lines: bytes, *, sync: bool) -> Exception | None:
        try:
            owed, lines = self._owed, self._owed + lines
            with self._locked():
                self._open()
                self._write(lines)
            if sync or owed:
                os.fdatasync(self._file)
            self._owed = b""
            self.failed = False
        except OSError as e:
            self.failed = True
            log.error("the audit log can't be written", path=str(self._path), reason=e.strerror)
            return StoreUnavailableError(f"The audit log can't be written: {e.strerror}")
        return None

    def _write(self, lines: bytes) -> None:
        """All or nothing: a line that does not fit on the disk leaves no torn piece behind."""
        before = os.fstat(self._file).st_size
        try:
            while lines:
                lines = lines[os.write(self._file, lines) :]
        except OSError:
            os.ftruncate(self._file, before)
            raise

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The log is this process's alone: nobody else appends to it or sets it aside."""
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _open(self) -> None:
        try:
            current = self._path.stat()
        except FileNotFoundError:
            current = None
        if current is not None and current.st_size > self._max_bytes:
            self._set_aside()
            current = None
        if self._file >= 0 and (current is None or os.fstat(self._file).st_ino != current.st_ino):
            os.close(self._file)
            self._file = -1
        if self._file < 0:
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _set_aside(self) -> None:
        self._path.rename(self._path.with_name(f"{self._path.stem}-{time.time_ns()}{self._path.suffix}"))
        old = sorted(self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}"))
        for path in old[: max(0, len(old) - self._keep)]:
            path.unlink(missing_ok=True)


def _answer(future: asyncio.Future[None], error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
