"""What happened: one event type, one bus, listeners found by the entry point group `headwater.listeners`."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

import msgspec
import structlog

log = structlog.get_logger(__name__)

GROUP = "headwater.listeners"


class Event(msgspec.Struct, omit_defaults=True):
    """One step of one operation.

    A change sends two: `before` (checked and allowed, the backend not called yet) and `after`. A read, and whatever
    was refused, sends `after` only. Both events of an operation have the same `id`.
    """

    id: str
    time: float
    kind: str
    phase: str
    noun: str
    subject: tuple[str, ...]
    actor: str
    peer: str
    request_id: str
    changes: bool = False
    status: int = 0
    error: str | None = None
    duration: float = 0.0
    details: dict[str, Any] = {}


class Listener(Protocol):
    """Gets every event. For a change the answer may be awaitable: then the operation waits for it.

    An error on `before` stops the change; one on `after` is logged.
    """

    def handle(self, event: Event) -> Awaitable[None] | None:
        """Take note of an event; called in the event loop, so it may not block."""
        ...

    async def close(self) -> None:
        """Write down what is still to be written."""
        ...


class Bus:
    """Hands each event to all listeners."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self.listeners = tuple(listeners)

    def tell(self, event: Event) -> None:
        """A read: nobody waits."""
        for listener in self.listeners:
            try:
                listener.handle(event)
            except Exception:
                log.exception("listener failed", listener=type(listener).__name__, event_kind=event.kind)

    async def announce(self, event: Event) -> None:
        """A change is about to be made: every listener has taken note when this returns, or it raises."""
        for listener in self.listeners:
            waiting = listener.handle(event)
            if waiting is not None:
                await waiting

    async def report(self, event: Event) -> None:
        """A change was made or failed."""
        for listener in self.listeners:
            try:
                waiting = listener.handle(event)
                if waiting is not None:
                    await waiting
            except Exception:
                log.exception("listener failed", listener=type(listener).__name__, event_kind=event.kind)

    async def close(self) -> None:
        """Close all listeners."""
        for listener in self.listeners:
            await listener.close()
