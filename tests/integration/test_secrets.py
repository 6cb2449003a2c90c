"""A secret that is given as a property is nowhere to be found but in the answer of the one route that hands it out."""

from __future__ import annotations

import base64
import json
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests import servers
from tests.harness import Answer, Server, running

CATALOGS = "/api/metalakes/lake/catalogs"
KEY = base64.b64encode(bytes(range(32))).decode()
COLUMNS = [{"name": "id", "type": "long"}]


class Canaries:
    """Secrets that nobody else writes. Around the part that is searched for stands what gets encoded in URLs."""

    def __init__(self) -> None:
        self._cores: list[str] = []

    def new(self) -> str:
        self._cores.append(f"canary{secrets.token_hex(10)}")
        return f"p@:/%{self._cores[-1]}?#&"

    def plain(self) -> str:
        self._cores.append(f"canary{secrets.token_hex(10)}")
        return self._cores[-1]

    def found_in(self, data: bytes) -> bool:
        return any(c.encode() in data or base64.b64encode(c.encode())[4:-4] in data for c in self._cores)


class Watched:
    """A server whose every answer is remembered."""

    def __init__(self, server: Server) -> None:
        self.server, self.answers = server, list[tuple[str, bytes]]()

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        answer = self.server.call(method, path, body)
        self.answers.append((f"{method} {path}", str(answer.headers).encode() + answer.raw))
        return answer

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.call(method, path, body)
        assert answer.status == 200, f"{method} {path}: {answer}"
        return answer.json


def assert_nowhere(canaries: Canaries, folder: Path, watched: Watched) -> None:
    leaks = [what for what, said in watched.answers if canaries.found_in(said)]
    leaks += [str(p) for p in folder.rglob("*") if p.is_file() and canaries.found_in(p.read_bytes())]
    assert leaks == []


@pytest.fixture(scope="module")
def pg() -> Iterator[servers.PostgresServer]:
    with servers.postgres(fsync=False) as server:
        yield server


@pytest.fixture
def canaries() -> Canaries:
    return Canaries()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with running(tmp_path / "data") as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
        yield Watched(server)


def refused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def hidden(canaries: Canaries) -> dict[str, str]:
    return {k: canaries.new() for k in ("jdbc-user", "jdbc-password", "s3-access-key-id", "s3-secret-access-key")}


def postgres_catalog(name: str, uri: str, folder: Path, properties: dict[str, str]) -> dict[str, Any]:
    common = {"catalog-backend": "jdbc", "uri": uri, "warehouse": str(folder / "warehouse")}
    return {"name": name, "provider": "lakehouse-iceberg", "properties": {**common, **properties}}


def set_to(key: str, value: str) -> dict[str, Any]:
    return {"updates": [{"@type": "setProperty", "property": key, "value": value}]}


def use(watched: Watched, catalog: str) -> list[Answer]:
    """Everything that reaches a backend, and everything that shows a catalog."""
    path = f"{CATALOGS}/{catalog}"
    tables = f"{path}/schemas/s/tables"
    for shown in (path, CATALOGS, f"{CATALOGS}?details=true", "/metrics", "/health", "/openapi.json"):
        assert watched.call("GET", shown).status == 200
    return [
        watched.call("POST", f"{path}/schemas", {"name": "s"}),
        watched.call("GET", f"{path}/schemas"),
        watched.call("GET", f"{path}/schemas/s"),
        watched.call("POST", tables, {"name": "t", "columns": COLUMNS}),
        watched.call("GET", tables),
        watched.call("GET", f"{tables}/t"),
        watched.call("PUT", f"{tables}/t", {"updates": [{"@type": "updateComment", "newComment": "x"}]}),
        watched.call("POST", f"{path}/testConnection"),
    ]


@pytest.mark.parametrize("why", ["refused port", "unknown user", "wrong password", "no such database", "host unknown"])
def test_secrets_of_a_backend_that_fails(
    why: str, watched: Watched, canaries: Canaries, pg: servers.PostgresServer, tmp_path: Path
) -> None:
    address = {
        "refused port": f"127.0.0.1:{refused_port()}/db",
        "unknown user": f"127.0.0.1:{pg.port}/postgres",
        "wrong password": f"127.0.0.1:{pg.port}/postgres",
        "no such database": f"127.0.0.1:{pg.port}/nowhere",
        "host unknown": "no-such-host.invalid/db",
    }[why]
    given = hidden(canaries)
    if why == "wrong password":
        given["jdbc-user"] = pg.user
    if why == "no such database":
        given |= {"jdbc-user": pg.user, "jdbc-password": pg.password}
    body = postgres_catalog("pg", f"jdbc:postgresql://{address}", tmp_path, given)
    tested = watched.call("POST", f"{CATALOGS}/testConnection", body)
    assert (tested.status, tested.json["code"]) == (200, 1007)
    made = watched.ok("POST", CATALOGS, body)["catalog"]
    assert not made["properties"].keys() & given.keys()
    failed = use(watched, "pg")
    assert {a.status for a in failed[:-1]} == {502}, failed
    assert failed[-1].json["code"] == 1007
    for key in ("jdbc-password", "s3-secret-access-key"):
        changed = watched.ok("PUT", f"{CATALOGS}/pg", set_to(key, canaries.new()))["catalog"]
        assert key not in changed["properties"]
        watched.call("POST", f"{CATALOGS}/pg/testConnection", set_to(key, canaries.new()))
    watched.ok("PUT", f"{CATALOGS}/pg", {"updates": [{"@type": "rename", "newName": "pg2"}]})
    use(watched, "pg2")
    watched.server.stop()
    assert_nowhere(canaries, tmp_path, watched)


def test_secrets_of_a_backend_that_works(
    watched: Watched, canaries: Canaries, pg: servers.PostgresServer, tmp_path: Path
) -> None:
    pg.create_database("works")
    user, password = canaries.plain(), canaries.new()
    with psycopg.connect(pg.database_uri("works"), autocommit=True) as connection:
        role = sql.SQL("CREATE ROLE {} LOGIN SUPERUSER PASSWORD {}")
        connection.execute(role.format(sql.Identifier(user), sql.Literal(password)))
    uri = f"postgresql://127.0.0.1:{pg.port}/works"
    given = {"jdbc-user": user, "jdbc-password": password}
    watched.ok("POST", CATALOGS, postgres_catalog("pg", uri, tmp_path, given))
    assert {a.status for a in use(watched, "pg")} == {200}
    repeated = watched.call("POST", f"{CATALOGS}/pg/schemas/s/tables", {"name": "t", "columns": COLUMNS})
    assert repeated.json["type"] == "TableAlreadyExistsException"
    watched.server.stop()
    assert_nowhere(canaries, tmp_path, watched)


def test_secrets_of_an_object_store_that_fails(watched: Watched, canaries: Canaries, tmp_path: Path) -> None:
    given = {
        **{k: canaries.plain() for k in ("s3-access-key-id", "s3-secret-access-key")},
        "warehouse": "s3://nowhere/x",
        "s3-endpoint": f"http://127.0.0.1:{refused_port()}",
        "s3-region": "us-east-1",
    }
    watched.ok("POST", CATALOGS, postgres_catalog("s3", f"sqlite:///{tmp_path}/i.db", tmp_path, given))
    watched.ok("POST", f"{CATALOGS}/s3/schemas", {"name": "s"})
    failed = watched.call("POST", f"{CATALOGS}/s3/schemas/s/tables", {"name": "t", "columns": COLUMNS})
    assert failed.status in (502, 504)
    watched.server.stop()
    assert_nowhere(canaries, tmp_path, watched)


def test_secrets_in_requests_that_are_refused(watched: Watched, canaries: Canaries, tmp_path: Path) -> None:
    good = postgres_catalog("pg", f"postgresql://127.0.0.1:{refused_port()}/db", tmp_path, hidden(canaries))
    watched.ok("POST", CATALOGS, good)
    properties = {**good["properties"], **hidden(canaries)}

    def catalog(**fields: Any) -> dict[str, Any]:
        return {**good, "name": "bad", "properties": properties, **fields}

    password = canaries.new()
    quoted = canaries.plain()
    text = json.dumps(catalog())
    bodies: list[Any] = [
        catalog(name="pg"),
        catalog(name="a b"),
        catalog(provider="unknown"),
        catalog(provider="fileset", properties={**properties, "location": "relative"}),
        catalog(type="fileset"),
        catalog(zzz=1),
        catalog(properties={**properties, "catalog-backend": "hive"}),
        catalog(properties={**properties, "in-use": "false"}),
        catalog(properties={**properties, "jdbc-pasword": password}),
        catalog(properties={**properties, "jdbc-password": [password]}),
        catalog(properties={**properties, "jdbc-password": f"{password}\0"}),
        catalog(properties={**properties, "warehouse": "relative"}),
        *(
            catalog(properties={**properties, "uri": uri})
            for uri in (
                f"postgresql://u:{quoted}@127.0.0.1/db",
                f"postgresql://u:{quoted}@127.0.0.1:x/db",
                f"jdbc:postgresql://127.0.0.1/db?user=u&password={quoted}",
                f"jdbc:postgresql://127.0.0.1:y/db?password={quoted}",
                f"postgresql://127.0.0.1/db?sslpassword={quoted}",
                f"mysql://u:{quoted}@127.0.0.1/db",
                f"jdbc:oracle:thin:u/{quoted}@127.0.0.1",
            )
        ),
        text[:-1].encode(),
        text.replace('"name"', '"nmae"').encode(),
        text.encode("utf-16"),
    ]
    for body in bodies:
        refused = watched.call("POST", CATALOGS, body)
        assert refused.status in (400, 409), (body, refused)
        watched.call("POST", f"{CATALOGS}/testConnection", body)
    for updates in (
        [*set_to("jdbc-password", password)["updates"], {"@type": "rename", "newName": "a b"}],
        [{"@type": "setProprty", "property": "jdbc-password", "value": password}],
        [{"@type": "setProperty", "property": "jdbc-password", "vlaue": password}],
        [{"@type": "setProperty", "property": "jdbc-pasword", "value": password}],
        [{"@type": "setProperty", "property": "uri", "value": f"postgresql://u:{quoted}@h/db"}],
        [{"@type": "setProperty", "property": "jdbc-password", "value": {"x": password}}],
    ):
        assert watched.call("PUT", f"{CATALOGS}/pg", {"updates": updates}).status == 400
        watched.call("POST", f"{CATALOGS}/pg/testConnection", {"updates": updates})
    assert watched.call("GET", f"{CATALOGS}?password={quoted}").status == 400
    watched.server.stop()
    assert_nowhere(canaries, tmp_path, watched)
