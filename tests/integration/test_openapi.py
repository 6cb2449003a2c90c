"""The OpenAPI document is true: it lists what is served, and what is served answers as it says."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import falcon.inspect
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from headwater.core.all import VERBS
from headwater.core.verbs import NoBody, Verb
from headwater.server.app import Application
from headwater.server.assembly import open_lake, prepare_store
from headwater.server.rest.system import SYSTEM
from headwater.settings import load
from tests.harness import Seed, running

DECLARED = sorted({(v.method, v.path) for v in VERBS.values()} | {("GET", r.path) for r in SYSTEM})
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
NAMES = {"metalake": "lake", "schema": "s", "table": "t", "fileset": "f", "objectType": "catalog"}
EXAMPLES = 25
GOOD, BAD = GenerationMode.POSITIVE, GenerationMode.NEGATIVE


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seed]:
    folder = Path(tmp_path_factory.mktemp("openapi"))
    env = {"HEADWATER_STORAGE_LOCAL_ROOTS": str(folder), "HEADWATER_VEND_CREDENTIALS": "true"}
    with running(folder / "data", env=env) as server:
        yield with_spares(Seed(server, folder).make())


def with_spares(lake: Seed) -> Seed:
    """One more of each noun, to be changed, renamed and disabled."""
    columns = [{"name": n, "type": t} for n, t in (("a", "long"), ("b", "string"), ("0", "date"))]
    lake.server.ok("POST", "/api/metalakes", {"name": "spare"})
    lake.add_catalog("spare", "fileset", {"location": str(lake.filesets)})
    for catalog in ("ice", "files"):
        lake.server.ok("POST", f"{lake.catalogs}/{catalog}/schemas", {"name": "spare"})
    lake.server.ok("POST", lake.tables, {"name": "spare", "columns": columns})
    lake.server.ok("POST", lake.files, {"name": "spare"})
    return lake


@pytest.fixture(scope="module")
def document(lake: Seed) -> Any:
    return lake.server.ok("GET", "/openapi.json")


def routes_of(app: Application) -> set[tuple[str, str]]:
    """Every route that the router of a running application knows, but for what answers OPTIONS and HEAD."""
    return {
        (method.method, route.path)
        for route in falcon.inspect.inspect_routes(app)
        for method in route.methods
        if method.method not in ("OPTIONS", "HEAD", "WEBSOCKET") and not method.internal
    }


def test_every_route_is_declared(tmp_path: Path) -> None:
    options = load(flags={"data": str(tmp_path)})
    prepare_store(options)
    served = routes_of(Application(open_lake(options)))
    undeclared = served - set(DECLARED)
    # A literal path shares the methods of the object of that name, which are declared there.
    literals = {path for _, path in DECLARED if "{" not in path.rpartition("/")[2]}
    shared = {
        (m, p)
        for m, p in undeclared
        if p in literals
        and any(m == om and re.fullmatch(re.escape(p.rpartition("/")[0]) + r"/\{\w+\}", op) for om, op in DECLARED)
    }
    assert undeclared == shared
    assert set(DECLARED) <= served


def test_the_document_lists_what_is_declared_and_nothing_else(document: Any) -> None:
    listed = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert listed == set(DECLARED)
    operations = [o for item in document["paths"].values() for o in item.values()]
    assert len({o["operationId"] for o in operations}) == len(operations)
    assert document["openapi"].startswith("3.1")
    assert {p["name"] for p in document["x-headwater-providers"]} >= {"lakehouse-iceberg", "fileset"}


def test_every_verb_says_what_it_takes(document: Any) -> None:
    for verb in VERBS.values():
        operation = document["paths"][verb.path][verb.method.lower()]
        inside = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert inside == set(re.findall(r"\{(\w+)\}", verb.path))
        assert operation["summary"]
        assert {"200", "400", "403", "500", "503"} <= set(operation["responses"])


def can_be_bad(verb: Verb) -> bool:
    """Anything is a good path and a good text, so only a body or a query of other types can go against its schema."""
    return verb.body is not NoBody or any(f.type not in (str, str | None) for f in msgspec.structs.fields(verb.query))


def aimed(case: Case, path: str, chance: random.Random) -> None:
    """Mostly at what is there, so that the deeper layers are reached too; at a spare one to change or drop it."""
    if chance.random() < 0.25:
        return
    kind = "files" if "fileset" in path else "ice"
    known = {**NAMES, "catalog": kind, "fullName": kind, "provider": "fileset"}
    if isinstance(case.body, dict) and isinstance(case.body.get("name"), str):
        case.body = {**case.body, "name": f"n{chance.randrange(10**9)}"}
    parameters = dict(case.path_parameters or {})
    last = re.findall(r"\{(\w+)\}", path)[-1:]
    for name in parameters:
        harmful = case.method in ("DELETE", "PATCH", "PUT") and [name] == last and path.endswith("}")
        if harmful and case.method != "DELETE":
            parameters[name] = "spare"
        elif name in known and not harmful:
            parameters[name] = known[name]
    case.path_parameters = parameters


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [*((m, p, GOOD) for m, p in DECLARED), *((v.method, v.path, BAD) for v in VERBS.values() if can_be_bad(v))],
)
def test_answers_are_as_documented(lake: Seed, document: Any, method: str, path: str, mode: GenerationMode) -> None:
    operation = schemathesis.openapi.from_dict(document)[path][method]

    @settings(
        max_examples=EXAMPLES if path.startswith("/api/metalakes") else 3,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode), st.integers(0, 2**32))
    def check(case: Case, chance: int) -> None:
        aimed(case, path, random.Random(chance))
        response = case.call(base_url=lake.server.uri)
        assert response.status_code != 503, response.content
        case.validate_response(response, checks=CHECKS)
        assert "x-request-id" in response.headers or path in {r.path for r in SYSTEM}

    check()
    lake.server.ok("GET", f"{lake.tables}/t")
    lake.server.ok("GET", f"{lake.files}/f")
