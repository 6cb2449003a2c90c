"""Who may do what. One policy is asked by the operation pipeline, for every verb, before anything else happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec


class Actor(msgspec.Struct, frozen=True):
    """Who asks, and from where."""

    name: str
    peer: str


class Subject(msgspec.Struct, frozen=True):
    """What is asked about: a noun and the names that lead to it, the metalake's first. `()` is the whole server."""

    noun: str
    names: tuple[str, ...]


class Policy(Protocol):
    """Decides. A decision that needs the store may take its time; nothing behind it starts before."""

    async def allows(self, actor: Actor, privilege: str, subject: Subject) -> bool:
        """May the actor do this here?"""
        ...

    async def visible(self, actor: Actor, privilege: str, parent: Subject, names: Sequence[str]) -> Sequence[str]:
        """Which of the objects below `parent` may the actor see? One call for the whole list, order kept."""
        ...


class AllowAll:
    """Everybody may do everything."""

    async def allows(self, actor: Actor, privilege: str, subject: Subject) -> bool:
        """Always."""
        return True

    async def visible(self, actor: Actor, privilege: str, parent: Subject, names: Sequence[str]) -> Sequence[str]:
        """All of them."""
        return names
