"""The rows of the store as Python objects."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

import msgspec

from headwater.model.nouns import Audit

ROOT_ID = 0
"""The parent of all metalakes."""

PATH_JOINT = "\x1f"
"""Stands between a schema and what lies in it in the path of a kept entry: no name that we make may contain it."""


def new_id() -> int:
    """A positive 62-bit number that nobody else draws."""
    return secrets.randbits(62) or 1


def now() -> str:
    """This moment as the wire writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Body(msgspec.Struct, omit_defaults=True):
    """What an object is, apart from its name: the part of it that is stored as JSON."""

    comment: str | None = None
    properties: dict[str, str] = {}
    type: str = ""
    provider: str = ""
    locations: dict[str, str] = {}


class Row(msgspec.Struct, frozen=True):
    """A stored object."""

    id: int
    kind: str
    parent_id: int
    name: str
    version: int
    in_use: bool
    body: Body
    secrets: dict[str, str]
    """Hidden properties, encrypted."""
    creator: str
    created: str
    modifier: str | None = None
    modified: str | None = None

    @property
    def audit(self) -> Audit:
        """Who made it and who changed it last."""
        return Audit(self.creator, self.created, self.modifier, self.modified)

    def changed(self, actor: str, **fields: object) -> Row:
        """This row with other fields, the next version, and who did it."""
        stamp = {"version": self.version + 1, "modifier": actor, "modified": now()}
        return msgspec.structs.replace(self, **stamp, **fields)


def new_row(kind: str, parent_id: int, name: str, body: Body, actor: str) -> Row:
    """The first version of an object."""
    return Row(new_id(), kind, parent_id, name, 1, True, body, {}, actor, now())


class Kept(msgspec.Struct, frozen=True):
    """What is remembered about an object of an outside catalog."""

    catalog_id: int
    kind: str
    path: str
    identity: str
    creator: str
    created: str
    modifier: str | None = None
    modified: str | None = None

    @property
    def audit(self) -> Audit:
        """Who made it and who changed it last."""
        return Audit(self.creator or None, self.created or None, self.modifier, self.modified)
