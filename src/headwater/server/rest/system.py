"""Routes that are about the server itself: version, configuration, health, metrics, the OpenAPI document."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import falcon.asgi
import msgspec

from headwater.core.lake import Lake
from headwater.model.errors import HeadwaterError
from headwater.model.names import SEPARATOR
from headwater.version import __version__

API_VERSION = "2.0.0"
"""The version of Gravitino's API that is spoken; its clients refuse a server that is older than they are."""


class SystemRoute(msgspec.Struct, frozen=True, eq=False):
    """A route outside the operation pipeline: it touches no object and tells nothing about one."""

    path: str
    summary: str
    respond: Callable[[Lake, falcon.asgi.Response], Awaitable[None]]
    media_type: str = "application/json"
    statuses: tuple[int, ...] = ()


async def _version(lake: Lake, resp: falcon.asgi.Response) -> None:
    version = {"version": API_VERSION, "compileDate": "", "gitCommit": "", "headwater": __version__}
    _json(resp, {"code": 0, "version": version})


async def _configs(lake: Lake, resp: falcon.asgi.Response) -> None:
    config: dict[str, Any] = {
        "gravitino.authenticators": ["simple"],
        "gravitino.authorization.enable": False,
        "gravitino.schema.separator": SEPARATOR,
    }
    if lake.settings.default_metalake:
        config["headwater.default-metalake"] = lake.settings.default_metalake
    _json(resp, config)


async def _root(lake: Lake, resp: falcon.asgi.Response) -> None:
    root = lake.settings.server.root_path.rstrip("/")
    links = {"openapi": "/openapi.json", "health": "/health", "metrics": "/metrics", "api": "/api/metalakes"}
    shown = {name: root + path for name, path in links.items()}
    _json(resp, {"code": 0, "name": "headwater", "version": __version__, "links": shown})


def _json(resp: falcon.asgi.Response, value: object) -> None:
    resp.content_type = "application/json"
    resp.data = msgspec.json.encode(value)


_LIVE = {"name": "httpServer", "status": "up", "details": {}}


async def _live(lake: Lake, resp: falcon.asgi.Response) -> None:
    _health(resp, [_LIVE])


async def _ready(lake: Lake, resp: falcon.asgi.Response) -> None:
    _health(resp, await _checks(lake))


async def _both(lake: Lake, resp: falcon.asgi.Response) -> None:
    _health(resp, [_LIVE, *await _checks(lake)])


async def _checks(lake: Lake) -> list[dict[str, Any]]:
    """The store, and each listener that can say how it is."""
    checks = [await _check("entityStore", lake.store.probe)]
    for listener in lake.bus.listeners:
        probe = getattr(listener, "probe", None)
        if probe is not None:
            checks.append(await _check(type(listener).__name__, probe))
    return checks


async def _check(name: str, probe: Callable[[], Awaitable[None]]) -> dict[str, Any]:
    begun = time.perf_counter()
    try:
        await probe()
    except HeadwaterError as e:
        return {"name": name, "status": "down", "details": {"reason": e.message}}
    return {"name": name, "status": "up", "details": {"milliseconds": f"{(time.perf_counter() - begun) * 1000:.1f}"}}


def _health(resp: falcon.asgi.Response, checks: list[dict[str, Any]]) -> None:
    up = all(c["status"] == "up" for c in checks)
    _json(resp, {"code": 0, "status": "up" if up else "down", "checks": checks})
    resp.set_header("Cache-Control", "no-store")
    if not up:
        resp.status = falcon.HTTP_503
        resp.set_header("Retry-After", "2")


async def _metrics(lake: Lake, resp: falcon.asgi.Response) -> None:
    from headwater.server.rest.exposition import render

    resp.content_type = "text/plain; version=0.0.4; charset=utf-8"
    resp.data = render(lake)


async def _openapi(lake: Lake, resp: falcon.asgi.Response) -> None:
    from headwater.core.all import VERBS
    from headwater.server.rest.openapi import document

    _json(resp, document(lake, VERBS.values(), SYSTEM))


SYSTEM = (
    SystemRoute("/", "Say hello; where to go from here", _root),
    SystemRoute("/api/version", "The version of the API and of the server", _version),
    SystemRoute("/configs", "What clients may know of the server's configuration", _configs),
    SystemRoute("/openapi.json", "This document", _openapi),
    SystemRoute("/metrics", "Counters and durations for Prometheus", _metrics, "text/plain"),
    *(
        SystemRoute(prefix + path, summary, respond, statuses=(503,) if respond is not _live else ())
        for prefix in ("", "/api")
        for path, summary, respond in (
            ("/health", "Is the server alive and ready?", _both),
            ("/health/live", "Is the server alive?", _live),
            ("/health/ready", "Can the server do its work?", _ready),
        )
    ),
)
"""All of them."""


def add_system_routes(app: falcon.asgi.App[Any, Any], lake: Lake) -> None:
    """Give every system route its resource."""
    for route in SYSTEM:
        app.add_route(route.path, _resource(lake, route))


def _resource(lake: Lake, route: SystemRoute) -> object:
    async def on_get(self: Any, req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
        await route.respond(lake, resp)

    return type("SystemResource", (), {"on_get": on_get, "on_head": on_get})()
