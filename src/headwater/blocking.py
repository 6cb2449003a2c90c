"""Blocking calls beside the event loop: a bounded pool of daemon threads, and a check that many requests share."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import queue
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from headwater.model.errors import BackendBusyError, BackendTimeoutError

T = TypeVar("T")


class _State(enum.Enum):
    QUEUED = enum.auto()
    RUNNING = enum.auto()
    GIVEN_UP = enum.auto()
    """Nobody waits any more, and no thread has begun it."""
    LATE = enum.auto()
    """Nobody waits any more, but a thread is still in it."""


class _Job:
    __slots__ = ("args", "context", "fn", "future", "loop", "state")

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], loop: asyncio.AbstractEventLoop) -> None:
        self.fn, self.args, self.loop = fn, args, loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.state = _State.QUEUED
        # What the caller's task knows, who asks for one, is known in the thread too.
        self.context = contextvars.copy_context()


class Pool:
    """At most `threads` calls at once, `waiting` more in the queue, each answered within `timeout` seconds.

    A full queue is BackendBusyError, a late answer BackendTimeoutError. A late thread keeps its place until it
    returns, so a backend that hangs can't make threads without end; while all are lost, calls are refused at once.
    All counters but the queue itself belong to the event loop. Threads are daemons: they never hold up the exit.
    """

    def __init__(self, name: str, threads: int = 8, waiting: int = 64, timeout: float = 30.0) -> None:
        self.name, self.max_threads, self.max_waiting, self.timeout = name, threads, waiting, timeout
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self.threads = self.running = self.queued = self.lost = 0

    async def call(self, fn: Callable[..., T], *args: Any) -> T:
        """`fn(*args)` in a thread of the pool."""
        if self.lost >= self.max_threads:
            raise BackendBusyError(f"{self.name} does not answer: all {self.lost} calls in flight are overdue")
        if self.queued >= self.max_waiting:
            raise BackendBusyError(f"{self.name} is busy: {self.queued} calls wait already")
        job = _Job(fn, args, asyncio.get_running_loop())
        self.queued += 1
        self._jobs.put(job)
        if self._closed or (self.threads < self.max_threads and self.queued > self.threads - self.running):
            self.threads += 1
            threading.Thread(target=self._work, name=f"headwater-{self.name}", daemon=True).start()
        timer = job.loop.call_later(self.timeout, self._late, job)
        try:
            return await job.future  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            self._abandon(job)
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        """Let threads end when nothing is left to do; a call that comes later still gets a thread of its own."""
        self._closed = True
        for _ in range(self.threads):
            self._jobs.put(None)

    def _late(self, job: _Job) -> None:
        if not job.future.done():
            self._abandon(job)
            job.future.set_exception(BackendTimeoutError(f"{self.name} did not answer within {self.timeout:g} seconds"))

    def _abandon(self, job: _Job) -> None:
        if job.state is _State.QUEUED:
            self.queued -= 1
            job.state = _State.GIVEN_UP
        elif job.state is _State.RUNNING:
            self.lost += 1
            job.state = _State.LATE

    def _started(self, job: _Job) -> None:
        if job.state is _State.QUEUED:
            self.queued -= 1
            job.state = _State.RUNNING
        elif job.state is _State.GIVEN_UP:  # given up between the thread's look at it and this call
            self.lost += 1
            job.state = _State.LATE
        self.running += 1

    def _done(self, job: _Job, result: Any, error: BaseException | None) -> None:
        self.running -= 1
        if job.state is _State.LATE:
            self.lost -= 1
        elif not job.future.done():
            job.state = _State.GIVEN_UP
            if error is None:
                job.future.set_result(result)
            else:
                job.future.set_exception(error)

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(block=not self._closed)
            except queue.Empty:
                return
            if job is None or job.state is _State.GIVEN_UP:
                continue  # None only wakes up: whether to go on is decided above
            result: Any = None
            error: BaseException | None = None
            try:
                job.loop.call_soon_threadsafe(self._started, job)
                try:
                    result = job.context.run(job.fn, *job.args)
                except StopIteration as e:
                    error = RuntimeError(f"StopIteration left the call: {e}")  # a future can't carry it
                except BaseException as e:  # noqa: BLE001 - handed to the one who waits
                    error = e
                job.loop.call_soon_threadsafe(self._done, job, result, error)
            except RuntimeError:
                return  # the event loop is closed: the process is going down
            del job, result, error


class OncePerTurn(Generic[T]):
    """Reads a value once per turn of the event loop, however many ask for it in that turn.

    Still as fresh as a read of one's own: callbacks run first in, first out, so whoever gets the kept value was ready
    to run before it was read, and whoever becomes ready later runs after it is forgotten.
    """

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._kept: tuple[T] | None = None

    def get(self) -> T:
        """The value of this turn."""
        if self._kept is None:
            self._kept = (self._read(),)
            asyncio.get_running_loop().call_soon(self.forget)
        return self._kept[0]

    def forget(self) -> None:
        """The next one to ask reads anew."""
        self._kept = None


class Gate(Generic[T]):
    """One check answers everybody who asked before it began; nobody joins a check that is under way.

    So each answer is as fresh as a check of one's own, at a fraction of the cost under load.
    """

    def __init__(self, check: Callable[[], Awaitable[T]]) -> None:
        self._check = check
        self._next: asyncio.Future[T] | None = None
        self._task: asyncio.Task[None] | None = None

    async def ask(self) -> T:
        """The answer of the next check."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._run())
        return await asyncio.shield(self._next)

    async def _run(self) -> None:
        while self._next is not None:
            waiting, self._next = self._next, None
            try:
                waiting.set_result(await self._check())
            except Exception as e:  # noqa: BLE001 - handed to everybody who waits
                waiting.set_exception(e)
                waiting.exception()  # they may all have gone away: then nobody is told, and that is fine
