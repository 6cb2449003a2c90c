"""What the server refuses to start with, in one clear line; what it upgrades; and what catalogs may not reach."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.store import sqlite
from headwater.store.tables import HEAD
from tests import servers
from tests.harness import Server, running, sqlite_dump

KEY = base64.b64encode(bytes(range(32))).decode()
CATALOGS = "/api/metalakes/lake/catalogs"
ROW = (
    "insert into objects values (7, 'metalake', 0, 'old', 3, 1, '{{\"comment\":\"from before\"}}', '{{}}', "
    "'ann', '2024-01-02T03:04:05.000000Z', null, null)"
)


def assert_refused(server: Server, *says: str) -> str:
    """It ends at once, not with 0, and says why in one line."""
    code, said = server.refused()
    assert code not in (0, None)
    lines = said.strip().splitlines()
    assert len(lines) == 1, lines[-2:]
    for text in says:
        assert text in said
    return said


@pytest.fixture(scope="module")
def pg() -> Iterator[servers.PostgresServer]:
    with servers.postgres(fsync=False) as server:
        yield server


@pytest.mark.parametrize(
    ("flags", "env", "config", "says"),
    [
        (["--host", "0.0.0.0"], {}, "", ("0.0.0.0", "--insecure")),
        (["--host", "::"], {}, "", ("::", "--insecure")),
        (["--host", "192.0.2.7"], {}, "", ("192.0.2.7", "--insecure")),
        (["--host", "192.0.2.7", "--insecure"], {}, "", ("192.0.2.7",)),
        ([], {"HEADWATER_SERVER_HOST": ""}, "", ("server.host",)),
        (["--port", "70000"], {}, "", ("server.port", "65535")),
        (["--workers", "0"], {}, "", ("server.workers", "1")),
        (["--tls-cert", "/nowhere/cert"], {}, "", ("tls-cert", "tls-key")),
        (["--tls-cert", "/nowhere/cert", "--tls-key", "/nowhere/key"], {}, "", ("/nowhere/cert",)),
        ([], {"HEADWATER_SERVER_PROT": "1"}, "", ("HEADWATER_SERVER_PROT", "HEADWATER_SERVER_PORT")),
        ([], {"HEADWATER_NONSENSE": "1"}, "", ("HEADWATER_NONSENSE",)),
        ([], {"HEADWATER_SERVER_WORKERS": "two"}, "", ("server.workers",)),
        ([], {"HEADWATER_VEND_CREDENTIALS": "perhaps"}, "", ("vend-credentials",)),
        ([], {"HEADWATER_STORE_URL": "mysql://h/db"}, "", ("store.url", "postgresql://")),
        ([], {"HEADWATER_SECRETS_KEY": "env:NOT_THERE"}, "", ("secrets.key", "NOT_THERE")),
        ([], {"HEADWATER_SECRETS_KEY": "file:/nowhere/key"}, "", ("secrets.key", "/nowhere/key")),
        ([], {}, "[server]\nprot = 1\n", ("server.prot", "server.port")),
        ([], {}, "[sevrer]\nport = 1\n", ("sevrer", "server")),
        ([], {}, "defaultmetalake = 'x'\n", ("defaultmetalake", "default-metalake")),
        ([], {}, "[catalogs]\ntimeout = -1\n", ("catalogs.timeout", "above 0")),
        ([], {}, "[catalogs]\nthreads = 'many'\n", ("catalogs.threads", "int")),
        ([], {}, "[server]\nlog-format = 'xml'\n", ("server.log-format", "text, json")),
        ([], {}, "[server\n", ("headwater.toml", "TOML")),
        ([], {}, "server = 3\n", ("server",)),
        ([], {}, None, ("missing.toml",)),
    ],
)
def test_a_configuration_that_can_not_be_right(
    flags: list[str], env: dict[str, str], config: str | None, says: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / ("missing.toml" if config is None else "headwater.toml")
    if config is not None:
        file.write_text(config)
    given = ["--config", str(file)] if config != "" else []
    assert_refused(Server(tmp_path / "data", *given, *flags, env=env), *says)


def test_the_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert_refused(Server(tmp_path / "data", "--port", port), port, "in use")


def without_rights() -> tuple[str, ...]:
    """As root nothing is read-only, unless the right to pass over permissions is given up."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-all")


@contextlib.contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(bits)
    try:
        yield
    finally:
        path.chmod(before)


def test_a_data_folder_that_can_not_be_written(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with mode(data, 0o500):
        assert_refused(Server(data, prefix=without_rights()), str(data), "ermission denied")
    with mode(tmp_path, 0o500):
        said = assert_refused(Server(tmp_path / "new" / "data", prefix=without_rights()), "ermission denied")
        assert str(tmp_path / "new") in said
    with running(data, prefix=without_rights()) as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
    with mode(data, 0o500):
        assert_refused(Server(data, prefix=without_rights()), str(data))
    for name in ("headwater.db", "headwater.key"):
        with mode(data / name, 0o000):
            assert_refused(Server(data, prefix=without_rights()), str(data))
    with mode(data / "headwater.db", 0o400):
        assert_refused(Server(data, prefix=without_rights()), str(data))
    with running(data, prefix=without_rights()) as server:
        server.ok("GET", "/api/metalakes/lake")


def test_an_audit_log_that_can_not_be_written(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
    with mode(data / "audit.jsonl", 0o400), running(data, prefix=without_rights()) as server:
        refused = server.call("POST", "/api/metalakes", {"name": "unaudited"})
        assert refused.status == 503
        assert "audit" in refused.json["message"]
        server.ok("GET", "/api/metalakes/lake")
        assert server.call("GET", "/api/metalakes/unaudited").status == 404
        assert server.call("GET", "/health/live").status == 200
        ready = server.call("GET", "/health/ready")
        assert ready.status == 503
        assert "audit" in ready.raw.decode()


@pytest.mark.parametrize("what", ["a folder", "garbage", "a torn database"])
def test_a_store_file_that_is_none(what: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    file = data / "headwater.db"
    if what == "a folder":
        file.mkdir()
    elif what == "garbage":
        file.write_bytes(b"not a database" * 1000)
    else:
        sqlite.prepare(file)
        file.write_bytes(file.read_bytes()[:6000])
    assert_refused(Server(data), "data")


def test_an_older_embedded_store_is_upgraded(tmp_path: Path) -> None:
    file = tmp_path / "data" / "headwater.db"
    file.parent.mkdir()
    sqlite.prepare(file, to="0001")
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(ROW.format())
    with running(tmp_path / "data") as server:
        shown = server.ok("GET", "/api/metalakes/old")["metalake"]
        assert shown["comment"] == "from before"
        assert shown["audit"] == {"creator": "ann", "createTime": "2024-01-02T03:04:05.000000Z"}
        server.ok("PUT", "/api/metalakes/old", {"updates": [{"@type": "updateComment", "newComment": "now"}]})
    assert sqlite.read_version(file) == HEAD


def test_a_newer_embedded_store_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "data" / "headwater.db"
    file.parent.mkdir()
    sqlite.prepare(file)
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("update alembic_version set version_num = '9999'")
    before = sqlite_dump(file)
    assert_refused(Server(tmp_path / "data"), "9999", HEAD, "newer")
    assert sqlite_dump(file) == before


def db(command: str, data: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HEADWATER_")} | env
    call = [sys.executable, "-m", "headwater.cli.main", "db", command, "--data", str(data)]
    return subprocess.run(call, check=False, capture_output=True, text=True, env=environment, timeout=60)


def tables_of(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        question = "select table_name from information_schema.tables where table_schema = 'public' order by 1"
        return connection.execute(question).fetchall()


def test_a_postgres_store_is_upgraded_only_when_asked(pg: servers.PostgresServer, tmp_path: Path) -> None:
    url = pg.create_database("asked")
    env = {"HEADWATER_STORE_URL": url, "HEADWATER_SECRETS_KEY": KEY}
    assert_refused(Server(tmp_path / "data", env=env), "empty", "headwater db upgrade", "store.auto-upgrade")
    assert tables_of(url) == []
    assert db("check", tmp_path, env).returncode != 0
    assert tables_of(url) == []
    done = db("upgrade", tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert db("check", tmp_path, env).returncode == 0
    with running(tmp_path / "data", env=env) as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
    with psycopg.connect(url) as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    said = assert_refused(Server(tmp_path / "data", env={**env, "HEADWATER_STORE_AUTO_UPGRADE": "true"}), "9999", "new")
    assert pg.password not in said
    with psycopg.connect(url) as connection:
        connection.execute("drop table kept, trash")
        connection.execute("update alembic_version set version_num = '0001'")
    assert_refused(Server(tmp_path / "data", env=env), "0001", HEAD, "headwater db upgrade")
    with running(tmp_path / "data", env={**env, "HEADWATER_STORE_AUTO_UPGRADE": "true"}) as server:
        server.ok("GET", "/api/metalakes/lake")


def test_servers_that_start_at_once_upgrade_once(pg: servers.PostgresServer, tmp_path: Path) -> None:
    url = pg.create_database("atonce")
    env = {"HEADWATER_STORE_URL": url, "HEADWATER_SECRETS_KEY": KEY, "HEADWATER_STORE_AUTO_UPGRADE": "true"}
    with running(tmp_path / "a", "--workers", "2", env=env) as first, running(tmp_path / "b", env=env) as second:
        first.ok("POST", "/api/metalakes", {"name": "lake"})
        second.ok("GET", "/api/metalakes/lake")


def test_a_store_that_does_not_answer(tmp_path: Path) -> None:
    with servers.hanging() as silent:
        url = f"postgresql://u:secretword@127.0.0.1:{silent.port}/db"
        said = assert_refused(Server(tmp_path / "data", env={"HEADWATER_STORE_URL": url, "HEADWATER_SECRETS_KEY": KEY}))
    assert "secretword" not in said
