"""The comparator in Falcon: handlers that return ready bytes, from files METHOD.name in the folder BARE_ANSWERS."""

from __future__ import annotations

import os
from pathlib import Path

import falcon.asgi


class _Ready:
    def __init__(self, answers: dict[str, bytes]) -> None:
        self._answers = answers

    async def on_get(self, req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
        resp.data = self._answers["GET"]

    async def on_post(self, req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
        await req.stream.read()
        resp.data = self._answers["POST"]

    async def on_delete(self, req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
        resp.data = self._answers["DELETE"]


def _application() -> falcon.asgi.App:  # type: ignore[type-arg]
    application = falcon.asgi.App()
    application.add_route("/health/ready", _Ready({"GET": b'{"status":"up"}'}))
    folder = os.environ.get("BARE_ANSWERS")
    found = sorted(Path(folder).iterdir()) if folder else []
    for name in {f.suffix[1:] for f in found}:
        answers = {f.stem: f.read_bytes() for f in found if f.suffix[1:] == name}
        application.add_route(f"/{name}", _Ready(answers))
    return application


app = _application()
