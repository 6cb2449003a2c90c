"""The OpenAPI 3.1 document, worked out from the verb declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from headwater.catalogs.base import Provider
from headwater.core.lake import Lake
from headwater.core.verbs import NoBody, Verb
from headwater.model.codec import schema_hook
from headwater.server.rest.exchange import JSON, ErrorBody
from headwater.server.rest.system import SystemRoute
from headwater.version import __version__

_FIELD = re.compile(r"\{(\w+)\}")
_ALWAYS = (400, 401, 403, 406, 500, 503)
_BODY = (408, 413)
_BACKEND = (502, 504)
_TEXTS = {
    304: "Not modified",
    400: "The request can't be right; the message names the field",
    401: "Unknown credentials",
    403: "Not allowed",
    404: "Not found",
    405: "The catalog can't do that",
    406: "An unknown version of the API",
    408: "The body did not come in time",
    409: "Exists already, not empty, in use, not in use, or changed by others",
    413: "The body is too large",
    500: "A defect of the server",
    502: "The outside catalog can't be reached",
    503: "The store or the outside catalog can't be used now; see Retry-After",
    504: "The outside catalog did not answer in time",
}


def document(lake: Lake, verbs: Iterable[Verb], system: Iterable[SystemRoute]) -> dict[str, Any]:
    """The whole document."""
    verbs = list(verbs)
    types = {t for v in verbs for t in (v.body, v.answer, v.other_answer) if t not in (NoBody, None)} | {ErrorBody}
    ordered: list[type] = sorted((t for t in types if t is not None), key=lambda t: t.__name__)
    references, components = msgspec.json.schema_components(
        ordered, schema_hook=schema_hook, ref_template="#/components/schemas/{name}"
    )
    schemas = dict(zip(ordered, references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for verb in verbs:
        paths.setdefault(verb.path, {})[verb.method.lower()] = _operation(verb, schemas)
    for route in system:
        paths.setdefault(route.path, {})["get"] = _system_operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headwater",
            "version": __version__,
            "description": "One lake of metadata over every catalog you own.",
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": lake.settings.server.root_path.rstrip("/") or "/"}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": components,
            "securitySchemes": {"simple": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"simple": []}],
        "x-headwater-providers": [_provider(lake.providers.get(n)) for n in lake.providers.names()],
    }


def _operation(verb: Verb, schemas: dict[type, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": verb.name.replace(".", "_"),
        "summary": verb.summary,
        "tags": [verb.noun.plural],
        "x-headwater-privilege": verb.privilege,
        "parameters": _parameters(verb),
        "responses": _responses(verb, schemas),
    }
    if verb.body is not NoBody:
        content = {JSON: {"schema": schemas[verb.body]}}
        operation["requestBody"] = {"required": verb.body_required, "content": content}
    return operation


def _parameters(verb: Verb) -> list[dict[str, Any]]:
    named = [
        {"name": f, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for f in _FIELD.findall(verb.path)
    ]
    for field in msgspec.structs.fields(verb.query):
        (schema,), _ = msgspec.json.schema_components([field.type])
        kinds = [s for s in schema.get("anyOf", [schema]) if s.get("type") != "null"]
        named.append({"name": field.encode_name, "in": "query", "required": False, "schema": kinds[0]})
    return named


def _responses(verb: Verb, schemas: dict[type, Any]) -> dict[str, Any]:
    statuses = {*_ALWAYS, *verb.statuses}
    if verb.body is not NoBody:
        statuses |= {*_BODY}
    if verb.noun.parent is not None:
        statuses |= {*_BACKEND}
    error = {JSON: {"schema": schemas[ErrorBody]}}
    answer: dict[str, Any] = schemas[verb.answer]
    if verb.other_answer is not None:
        answer = {"anyOf": [answer, schemas[verb.other_answer]]}
    if verb.action.startswith("test"):
        answer = {"anyOf": [answer, schemas[ErrorBody]]}
    responses: dict[str, Any] = {"200": {"description": "Done", "content": {JSON: {"schema": answer}}}}
    if verb.method == "GET" and not verb.changes:
        responses["304"] = {"description": _TEXTS[304]}
    for status in sorted(statuses):
        responses[str(status)] = {"description": _TEXTS[status], "content": error}
    return responses


def _system_operation(route: SystemRoute) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": {"description": "Done", "content": {route.media_type: {"schema": {}}}}}
    for status in route.statuses:
        responses[str(status)] = {"description": _TEXTS[status], "content": {route.media_type: {"schema": {}}}}
    name = route.path.strip("/").replace("/", "_").replace(".", "_") or "root"
    return {"operationId": f"system_{name}", "summary": route.summary, "tags": ["system"], "responses": responses}


def _provider(provider: type[Provider]) -> dict[str, Any]:
    from headwater.core.providers import show

    shown: dict[str, Any] = msgspec.to_builtins(show(provider))
    return shown
