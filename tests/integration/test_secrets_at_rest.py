"""The one route that hands secrets out, the key that they are kept with, and the secrets of the configuration."""

from __future__ import annotations

import base64
import json
import os
import socket
import stat
from pathlib import Path

import pytest

from tests import servers
from tests.harness import Server, running
from tests.integration.test_secrets import (
    CATALOGS,
    KEY,
    Canaries,
    Watched,
    assert_nowhere,
    hidden,
    postgres_catalog,
    refused_port,
    set_to,
)

VENDING = {"HEADWATER_VEND_CREDENTIALS": "true"}
CREDENTIALS = "/api/metalakes/lake/objects/catalog/pg/credentials"


def seed(server: Server, canaries: Canaries, folder: Path) -> dict[str, str]:
    """A catalog with secrets, `pg`, and one without, `files`; the answer is the secrets."""
    given = hidden(canaries)
    server.ok("POST", "/api/metalakes", {"name": "lake"})
    uri = f"postgresql://127.0.0.1:{refused_port()}/db"
    server.ok("POST", CATALOGS, postgres_catalog("pg", uri, folder, given))
    files = {"name": "files", "provider": "fileset", "properties": {"location": str(folder / "files")}}
    server.ok("POST", CATALOGS, files)
    return given


def audit_lines(server: Server) -> list[dict[str, object]]:
    return [json.loads(line) for line in (server.data / "audit.jsonl").read_text().splitlines()]


def test_off_by_default(tmp_path: Path) -> None:
    canaries = Canaries()
    with running(tmp_path / "data") as server:
        seed(server, canaries, tmp_path)
        watched = Watched(server)
        refused = watched.call("GET", CREDENTIALS)
    assert (refused.status, refused.json["code"], refused.json["type"]) == (405, 1006, "UnsupportedOperationException")
    assert "vend-credentials" in refused.json["message"]
    assert_nowhere(canaries, tmp_path, watched)


def test_the_one_route(tmp_path: Path) -> None:
    canaries = Canaries()
    with running(tmp_path / "data", env=VENDING) as server:
        given = seed(server, canaries, tmp_path)
        answer = server.call("GET", CREDENTIALS, headers={"Accept-Encoding": "gzip", "If-None-Match": "*"})
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "no-store"
        assert "ETag" not in answer.headers
        found = {c["credentialType"]: c["credentialInfo"] for c in server.ok("GET", CREDENTIALS)["credentials"]}
        assert {k: v for info in found.values() for k, v in info.items()} == given
        assert set(found) == {"jdbc-user-password", "s3-secret-key"}
        server.ok("PUT", f"{CATALOGS}/pg", {"updates": [{"@type": "removeProperty", "property": "jdbc-password"}]})
        given["jdbc-user"] = canaries.new()
        server.ok("PUT", f"{CATALOGS}/pg", set_to("jdbc-user", given["jdbc-user"]))
        left = [c["credentialInfo"] for c in server.ok("GET", CREDENTIALS)["credentials"]]
        assert {k for info in left for k in info} == given.keys() - {"jdbc-password"}
        assert {"jdbc-user": given["jdbc-user"]} in left
        watched = Watched(server)
        for path, status in (
            ("/api/metalakes/lake/objects/catalog/nothing/credentials", 404),
            ("/api/metalakes/nothing/objects/catalog/pg/credentials", 404),
            ("/api/metalakes/lake/objects/table/pg.s.t/credentials", 400),
            ("/api/metalakes/lake/objects/catalog/files/credentials", 200),
        ):
            assert watched.call("GET", path).status == status
        assert watched.call("POST", CREDENTIALS, {}).status == 405
    handed = [r for r in audit_lines(server) if r["operation"] == "get_credentials"]
    assert {r["outcome"] for r in handed} >= {"intent", "success", "failure"}
    assert [r["object"] for r in handed if r["outcome"] == "success"][:2] == [["lake", "catalog", "pg"]] * 2
    assert_nowhere(canaries, tmp_path, watched)


def test_files_belong_to_the_owner_alone(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        with running(tmp_path / "data") as server:
            seed(server, Canaries(), tmp_path)
            for name in ("headwater.key", "headwater.db", "audit.jsonl"):
                assert stat.S_IMODE((server.data / name).stat().st_mode) == 0o600, name
            for beside in server.data.glob("headwater.db-*"):
                assert stat.S_IMODE(beside.stat().st_mode) & 0o077 == 0, beside
    finally:
        os.umask(umask)


def test_another_key(tmp_path: Path) -> None:
    canaries = Canaries()
    with running(tmp_path / "data") as server:
        seed(server, canaries, tmp_path)
    (server.data / "headwater.key").write_text(base64.b64encode(os.urandom(32)).decode())
    with running(tmp_path / "data", env=VENDING) as server:
        watched = Watched(server)
        for method, path, body in (
            ("GET", f"{CATALOGS}/pg/schemas", None),
            ("POST", f"{CATALOGS}/pg/schemas", {"name": "s"}),
            ("POST", f"{CATALOGS}/pg/testConnection", None),
            ("PUT", f"{CATALOGS}/pg", {"updates": [{"@type": "updateComment", "newComment": "x"}]}),
            ("GET", CREDENTIALS, None),
        ):
            failed = watched.call(method, path, body)
            assert failed.status >= 400, path
            assert "secrets.key" in failed.json["message"], failed
        assert watched.ok("GET", f"{CATALOGS}/pg")["catalog"]["provider"] == "lakehouse-iceberg"
        assert len(watched.ok("GET", f"{CATALOGS}?details=true")["catalogs"]) == 2
        watched.ok("POST", f"{CATALOGS}/files/schemas", {"name": "s"})
        watched.ok("GET", f"{CATALOGS}/files/schemas")
        watched.ok("GET", "/health/ready")
        watched.ok("DELETE", f"{CATALOGS}/pg?force=true")
    assert_nowhere(canaries, tmp_path, watched)


@pytest.mark.parametrize("content", ["", "short", base64.b64encode(b"x" * 31).decode(), "\u00e4" * 44])
def test_a_key_that_is_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "headwater.key").write_text(content)
    assert_one_line(Server(tmp_path / "data"), "32 bytes")


def assert_one_line(server: Server, *says: str) -> str:
    code, said = server.refused()
    assert code not in (0, None)
    assert len(said.strip().splitlines()) == 1, said
    assert all(text in said for text in says), said
    return said


def test_a_postgres_store_needs_a_key(tmp_path: Path) -> None:
    canaries = Canaries()
    with servers.postgres(fsync=False) as pg:
        url = pg.create_database("store")
        env = {"HEADWATER_STORE_URL": url, "HEADWATER_STORE_AUTO_UPGRADE": "true"}
        said = assert_one_line(Server(tmp_path / "data", env=env), "secrets.key", "required")
        assert pg.password not in said
        key = canaries.plain()
        said = assert_one_line(Server(tmp_path / "data", env={**env, "HEADWATER_SECRETS_KEY": key}), "secrets.key")
        assert key not in said
        (tmp_path / "key").write_text(KEY + "\n")
        with running(tmp_path / "data", env={**env, "HEADWATER_SECRETS_KEY": f"file:{tmp_path}/key"}) as server:
            seed(server, canaries, tmp_path)
            watched = Watched(server)
            watched.ok("GET", f"{CATALOGS}/pg")
        assert not (tmp_path / "data" / "headwater.key").exists()
        assert not (tmp_path / "data" / "headwater.db").exists()
        stored = b"".join(p.read_bytes() for p in (pg.folder / "data").rglob("*") if p.is_file())
        assert b"lakehouse-iceberg" in stored
        assert not canaries.found_in(stored)
        assert pg.password.encode() not in server.log.read_bytes()
    assert_nowhere(canaries, tmp_path, watched)


def test_the_password_of_the_store_is_never_said(tmp_path: Path) -> None:
    canaries = Canaries()
    password = canaries.plain()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        for url, says in (
            (f"postgresql://u:{password}@127.0.0.1:{port}/db", "store"),
            (f"mysql://u:{password}@127.0.0.1/db", "store.url"),
            (f"postgresql://u:{password}@127.0.0.1:port/db", "store.url"),
            (f"postgresql://u:{password}@[::1/db", "store.url"),
            (password, "store.url"),
        ):
            env = {"HEADWATER_STORE_URL": url, "HEADWATER_SECRETS_KEY": KEY}
            said = assert_one_line(Server(tmp_path / "data", env=env), says)
            assert not canaries.found_in(said.encode()), said
