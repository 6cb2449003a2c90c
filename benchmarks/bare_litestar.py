"""The comparator in Litestar: handlers that return ready bytes, from files METHOD.name in the folder BARE_ANSWERS."""

from __future__ import annotations

import os
from pathlib import Path

from litestar import Litestar, Request, delete, get, post
from litestar.handlers import HTTPRouteHandler

_JSON = "application/json"


def _get(path: str, answer: bytes) -> HTTPRouteHandler:
    @get(path, media_type=_JSON)
    async def handle() -> bytes:
        return answer

    return handle


def _post(path: str, answer: bytes) -> HTTPRouteHandler:
    @post(path, media_type=_JSON, status_code=200)
    async def handle(request: Request) -> bytes:  # type: ignore[type-arg]
        await request.body()
        return answer

    return handle


def _delete(path: str, answer: bytes) -> HTTPRouteHandler:
    @delete(path, media_type=_JSON, status_code=200)
    async def handle() -> bytes:
        return answer

    return handle


_MAKE = {"GET": _get, "POST": _post, "DELETE": _delete}


def _application() -> Litestar:
    handlers = [_get("/health/ready", b'{"status":"up"}')]
    folder = os.environ.get("BARE_ANSWERS")
    for file in sorted(Path(folder).iterdir()) if folder else []:
        handlers.append(_MAKE[file.stem](f"/{file.suffix[1:]}", file.read_bytes()))
    return Litestar(handlers, openapi_config=None, logging_config=None)


app = _application()
