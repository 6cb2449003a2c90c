"""Routes out of the verb declarations: each path is a resource, each method of it a verb."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import falcon.asgi

from headwater.core.lake import Lake
from headwater.core.operation import Call, operate, record_refusal
from headwater.core.verbs import NoBody, Verb
from headwater.model.errors import HeadwaterError
from headwater.server.rest.exchange import (
    Headers,
    actor,
    read_body,
    refuse_foreign_page,
    unknown_actor,
    unquoted,
    write_answer,
    write_error,
)

_FINDINGS = (1001, 1003, 1004, 1007, 1009)
"""Codes of what a test of a connection is there to find out."""

_FIELD = re.compile(r"\{(\w+)\}")

Responder = Callable[..., Awaitable[None]]


def add_verbs(app: falcon.asgi.App[Any, Any], lake: Lake, verbs: Iterable[Verb]) -> dict[str, Responder]:
    """Give every verb its route; the answer is the responder of each read, by its path."""
    paths: dict[str, dict[str, Responder]] = {}
    for verb in verbs:
        paths.setdefault(verb.path, {})[verb.method] = _responder(lake, verb)
    reads = {path: responders["GET"] for path, responders in paths.items() if "GET" in responders}
    _share_literal_names(paths)
    for path, responders in paths.items():
        app.add_route(path, _resource(responders))
    return reads


def _share_literal_names(paths: dict[str, dict[str, Responder]]) -> None:
    """`.../catalogs/testConnection` is also where a catalog of that name is loaded: the router prefers the literal."""
    for path in list(paths):
        above, _, last = path.rpartition("/")
        for other in list(paths):
            if other.rpartition("/")[0] == above and _FIELD.fullmatch(other.rpartition("/")[2]) and "{" not in last:
                field = _FIELD.findall(other)[-1]
                for method, responder in paths[other].items():
                    paths[path].setdefault(method, _with_name(responder, field, last))


def _with_name(responder: Responder, field: str, name: str) -> Responder:
    async def named(self: Any, req: Any, resp: Any, **params: str) -> None:
        await responder(self, req, resp, **params, **{field: name})

    return named


def _resource(responders: dict[str, Responder]) -> object:
    members = {f"on_{method.lower()}": responder for method, responder in responders.items()}
    if "GET" in responders:
        members["on_head"] = responders["GET"]
    return type("Resource", (), members)()


def _responder(lake: Lake, verb: Verb) -> Responder:
    fields = _FIELD.findall(verb.path)
    has_body = verb.body is not NoBody
    is_load = verb.method == "GET" and not verb.changes
    settings = lake.settings.server
    changes = verb.method != "GET"
    tries = verb.action.startswith("test")

    async def respond(self: Any, req: Any, resp: Any, **params: str) -> None:
        scope = req.scope
        headers = Headers(scope)
        try:
            headers.check_version()
            if changes:
                refuse_foreign_page(headers)
            who = actor(headers, scope)
            names = tuple([unquoted(params[f]) for f in fields])
            body = await read_body(req, settings) if has_body else b""
        except HeadwaterError as e:
            turned_away = Call(verb, tuple(params[f] for f in fields), unknown_actor(scope), headers.request_id)
            record_refusal(lake, turned_away, e)
            write_error(resp, e, headers)
            return
        query = scope["query_string"].decode("latin-1")
        call = Call(verb, names, who, headers.request_id, body, query, headers.data_operation)
        try:
            found = await operate(lake, call)
        except HeadwaterError as e:
            # What a test of a connection finds out is an answer, not a failure: clients read it from the body.
            expected = tries and e.code in _FINDINGS
            write_error(resp, e, headers, status=200 if expected else None)
            return
        write_answer(resp, headers, found, is_load=is_load)
        if verb.changes and verb.method == "GET":
            resp.set_header("Cache-Control", "no-store")

    return respond
