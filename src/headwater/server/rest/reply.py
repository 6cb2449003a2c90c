"""Answers to reads without Falcon's request and response objects, which cost a fifth of a load.

The same responders write either into Falcon's response or into this one.
"""

from __future__ import annotations

from typing import Any


class BareRequest:
    """What a responder without a body looks at."""

    __slots__ = ("scope",)

    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope


class Reply:
    """The part of Falcon's response that responders use."""

    __slots__ = ("_headers", "content_type", "data", "status")

    def __init__(self) -> None:
        self.status = "200 OK"
        self.content_type = "application/json"
        self.data: bytes | None = None
        self._headers: list[tuple[bytes, bytes]] = []

    def set_header(self, name: str, value: str) -> None:
        """Add a header."""
        self._headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))

    async def send(self, send: Any) -> None:
        """Hand the answer to the server."""
        body = self.data or b""
        status = int(self.status[:3])
        if status != 304:
            self._headers.append((b"content-type", self.content_type.encode("latin-1")))
            self._headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": self._headers})
        await send({"type": "http.response.body", "body": body})
