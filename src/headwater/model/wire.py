"""How model structs look on the wire: camelCase, absent instead of null, and what is always there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class Wire(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Base of everything that is sent or received: fields that are None are left out."""


def always(make: Callable[[], Any]) -> Any:
    """A default that is written even when it was not given (msgspec leaves out only defaults that it knows)."""
    return msgspec.field(default_factory=lambda: make())  # noqa: PLW0108 - msgspec would know `list` and leave it out
