"""What the core asks of the store."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

from headwater.store.session import Session

T = TypeVar("T")

Work = Callable[[Session], T]
"""What is done in one transaction. It may run more than once, so it changes nothing but through the session."""


class Store(Protocol):
    """Headwater's memory: SQLite for one machine, PostgreSQL for several."""

    many_processes: bool
    """Other server processes may use the same store."""

    async def token(self) -> Hashable:
        """A mark of all that is committed now, by any process: equal marks mean that nothing has changed."""
        ...

    async def read(self, work: Work[T]) -> T:
        """Ask questions."""
        ...

    async def write(self, work: Work[T]) -> T:
        """Run `work` in one transaction; answered after the commit."""
        ...

    async def probe(self) -> None:
        """Find out whether the store can be read, and written if the last write failed, or StoreUnavailableError."""
        ...

    async def close(self) -> None:
        """Let go of all connections."""
        ...
