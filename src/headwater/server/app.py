"""The ASGI application: Falcon's router in front of the operation pipeline."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import falcon.asgi
import structlog

from headwater.access import Policy
from headwater.core.all import VERBS
from headwater.core.filesets import empty_all_trash
from headwater.core.lake import Lake
from headwater.model.errors import (
    HeadwaterError,
    IllegalArgumentError,
    InternalError,
    NotFoundError,
    UnsupportedOperationError,
)
from headwater.server.assembly import open_lake
from headwater.server.rest.exchange import Headers, write_error
from headwater.server.rest.reply import BareRequest, Reply
from headwater.server.rest.routes import Responder, add_verbs
from headwater.server.rest.system import add_system_routes
from headwater.settings import Settings

log = structlog.get_logger(__name__)


class Application(falcon.asgi.App):  # type: ignore[type-arg]
    """Routes on the path as it came over the wire: a name may contain an encoded slash."""

    def __init__(self, lake: Lake) -> None:
        super().__init__(middleware=[_Lifespan(lake)])
        self.lake = lake
        self._root = lake.settings.server.root_path.rstrip("/")
        self.req_options.strip_url_path_trailing_slash = True
        self.resp_options.default_media_type = "application/json"
        self.add_error_handler(falcon.HTTPNotFound, _not_found)
        self.add_error_handler(falcon.HTTPMethodNotAllowed, _method_not_allowed)
        self.add_error_handler(falcon.HTTPError, _http_error)
        self.add_error_handler(Exception, _unexpected)
        self._reads = add_verbs(self, lake, VERBS.values())
        add_system_routes(self, lake)

    def __call__(  # type: ignore[override]  # falcon derives its ASGI application from the WSGI one
        self, scope: Any, receive: Any, send: Any
    ) -> Awaitable[None]:
        """One request (or the lifespan of the process)."""
        if scope["type"] == "http":
            path = scope["raw_path"].decode("latin-1")
            if self._root and path.startswith(self._root):
                path = path[len(self._root) :]
            scope["path"] = path or "/"
            if scope["method"] == "GET":
                found = self._router.find(path.rstrip("/") or "/")
                if found is not None and (read := self._reads.get(found[3] or "")) is not None:
                    return self._answer(read, found[2], scope, send)
        return super().__call__(scope, receive, send)

    async def _answer(self, read: Responder, names: dict[str, str], scope: Any, send: Any) -> None:
        reply = Reply()
        try:
            await read(None, BareRequest(scope), reply, **names)
        except Exception as e:  # noqa: BLE001 - whatever it is, the caller gets an answer
            await _unexpected(BareRequest(scope), reply, e, names)
        await reply.send(send)


class _Lifespan:
    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    async def process_startup(self, scope: Any, event: Any) -> None:
        await empty_all_trash(self._lake)

    async def process_shutdown(self, scope: Any, event: Any) -> None:
        await self._lake.close()


async def _not_found(req: Any, resp: Any, ex: Any, params: Any) -> None:
    write_error(resp, NotFoundError(f"There is no route {req.path}; see /openapi.json"), Headers(req.scope))


async def _method_not_allowed(req: Any, resp: Any, ex: falcon.HTTPMethodNotAllowed, params: Any) -> None:
    allowed = ", ".join(sorted(m for m in (ex.headers or {}).get("Allow", "").split(", ") if m))  # type: ignore[union-attr]
    message = f"{req.method} is not possible on {req.path}; allowed are {allowed}"
    write_error(resp, UnsupportedOperationError(message), Headers(req.scope))
    resp.set_header("Allow", allowed)


async def _http_error(req: Any, resp: Any, ex: falcon.HTTPError, params: Any) -> None:
    error: HeadwaterError = IllegalArgumentError(ex.description or ex.title or "The request can't be read")
    write_error(resp, error, Headers(req.scope), status=int(str(ex.status).split()[0]))


async def _unexpected(req: Any, resp: Any, ex: Exception, params: Any) -> None:
    headers = Headers(req.scope)
    log.error("unexpected error", path=req.scope["path"], request_id=headers.request_id, exc_info=ex)
    text = f"Unexpected error; the server's log has it under request id {headers.request_id}"
    write_error(resp, InternalError(text), headers)


def build(settings: Settings, policy: Policy | None = None) -> Application:
    """The application of one worker process."""
    return Application(open_lake(settings, policy=policy))
