"""The server's own patience with changes that meet other changes of the same object."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from headwater.model.errors import BackendLockedError, ConflictError

T = TypeVar("T")

_LONGEST_PAUSE = 0.25


async def retrying(act: Callable[[], Awaitable[T]], *, seconds: float = 20.0) -> T:
    """`act` again and again while it meets other changes or a lock, with growing random pauses, for at most `seconds`.

    `act` must read the object afresh each time, so that a change that does not conflict is simply applied on top.
    """
    end = time.monotonic() + seconds
    pause = 0.005
    while True:
        try:
            return await act()
        except (ConflictError, BackendLockedError):
            if time.monotonic() + pause > end:
                raise
            await asyncio.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 1.6, _LONGEST_PAUSE)
