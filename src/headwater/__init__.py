"""Headwater: one lake of metadata over every catalog you own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.version import __version__

__all__ = ["Client", "NameIdentifier", "Namespace", "__version__"]

if TYPE_CHECKING:
    from headwater.client import Client
    from headwater.model.names import NameIdentifier, Namespace


def __getattr__(name: str) -> Any:
    # Lazy, so that the server does not import the client nor the command line the server.
    if name == "Client":
        from headwater.client import Client

        return Client
    if name in ("NameIdentifier", "Namespace"):
        from headwater.model import names

        return getattr(names, name)
    raise AttributeError(f"module 'headwater' has no attribute {name!r}")
