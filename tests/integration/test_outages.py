"""What a running server does when its store, its disk or a backend fails, and that it recovers without a restart."""

from __future__ import annotations

import base64
import http.client
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.harness import Answer, Connection, Seed, Server, running

KEY = base64.b64encode(bytes(range(32))).decode()
PATIENCE = 20.0
UNAVAILABLE = (503, 1002, "StoreUnavailableException")


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return condition()


def described(answer: Answer) -> tuple[int, int, str]:
    return answer.status, answer.json["code"], answer.json["type"]


def assert_unavailable(answer: Answer) -> None:
    assert described(answer) == UNAVAILABLE, answer
    assert int(answer.headers["Retry-After"]) >= 1


def ready(server: Server) -> bool:
    return server.call("GET", "/health/ready").status == 200


def cause(server: Server) -> str:
    """What /health/ready says, which must be that something is down; the process itself is alive."""
    assert server.call("GET", "/health/live").status == 200
    answer = server.call("GET", "/health/ready")
    assert answer.status == 503
    assert answer.headers["Retry-After"]
    assert server.call("GET", "/health").status == 503
    return "; ".join(f"{c['name']}: {c['details']['reason']}" for c in answer.json["checks"] if c["status"] == "down")


def name_of(client: int, n: int) -> str:
    return f"w{client}_{n}"


class Writers:
    """Clients that make metalakes as fast as they can and note what was acknowledged."""

    def __init__(self, server: Server, clients: int = 3) -> None:
        self.server, self.acknowledged, self.statuses = server, list[str](), set[int]()
        self.slowest = 0.0
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(i,), daemon=True) for i in range(clients)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)

    def _write(self, client: int) -> None:
        connection, n = Connection(self.server.uri), 0
        while not self._stopping.is_set():
            begun = time.monotonic()
            answer = connection.call("POST", "/api/metalakes", {"name": name_of(client, n)})
            self.slowest = max(self.slowest, time.monotonic() - begun)
            self.statuses.add(answer.status)
            if answer.status == 200:
                self.acknowledged.append(name_of(client, n))
            n += 1
            time.sleep(0.005)

    def assert_nothing_lost(self) -> None:
        shown = {m["name"] for m in self.server.ok("GET", "/api/metalakes")["metalakes"]}
        assert set(self.acknowledged) <= shown
        records = [json.loads(line) for line in (self.server.data / "audit.jsonl").read_text().splitlines()]
        made = {r["details"]["name"] for r in records if r["outcome"] == "success" and "name" in r.get("details", {})}
        assert set(self.acknowledged) <= made


@pytest.fixture
def on_postgres(tmp_path: Path) -> Iterator[tuple[servers.PostgresServer, Server]]:
    with servers.postgres() as pg:
        env = {
            "HEADWATER_STORE_URL": pg.create_database("store"),
            "HEADWATER_STORE_AUTO_UPGRADE": "true",
            "HEADWATER_STORE_TIMEOUT": "3",
            "HEADWATER_SECRETS_KEY": KEY,
        }
        with running(tmp_path / "data", env=env) as server:
            yield pg, server


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_the_store_goes_away_and_comes_back(how: str, on_postgres: tuple[servers.PostgresServer, Server]) -> None:
    pg, server = on_postgres
    server.ok("POST", "/api/metalakes", {"name": "before"})
    server.ok("GET", "/api/metalakes/before")
    with Writers(server) as writers:
        assert eventually(lambda: len(writers.acknowledged) > 20)
        getattr(pg, how)()
        for _ in range(3):
            assert_unavailable(server.call("GET", "/api/metalakes/before"))
            assert_unavailable(server.call("GET", "/api/metalakes"))
            assert_unavailable(server.call("POST", "/api/metalakes", {"name": "during"}))
        said = cause(server)
        assert "entityStore" in said
        assert pg.password not in said
        so_far = len(writers.acknowledged)
        pg.start()
        assert eventually(lambda: ready(server))
        assert eventually(lambda: len(writers.acknowledged) > so_far + 20)
    assert writers.statuses <= {200, 503, 409}
    assert writers.slowest < 5
    server.ok("GET", "/api/metalakes/before")
    assert server.call("GET", "/api/metalakes/during").status == 404
    writers.assert_nothing_lost()
    assert pg.password not in server.log.read_text()


def test_a_catalogs_database_goes_away_and_comes_back(server: Server, tmp_path: Path) -> None:
    with servers.postgres() as pg:
        pg.create_database("tables")
        seed = Seed(server, tmp_path, "outage")
        login = {"jdbc-user": pg.user, "jdbc-password": pg.password}
        seed.make(iceberg={**seed.on_sqlite, **login, "uri": f"postgresql://127.0.0.1:{pg.port}/tables"})
        pg.stop()
        change = {"updates": [{"@type": "updateComment", "newComment": "x"}]}
        for _ in range(2):
            for method, path, body in (
                ("GET", f"{seed.tables}/t", None),
                ("GET", seed.tables, None),
                ("PUT", f"{seed.tables}/t", change),
                ("DELETE", f"{seed.tables}/t", None),
            ):
                failed = server.call(method, path, body)
                assert described(failed) == (502, 1007, "ConnectionFailedException"), failed
        server.ok("GET", seed.files)
        server.ok("GET", f"{seed.catalogs}/ice")
        assert ready(server)
        pg.start()
        table = server.ok("GET", f"{seed.tables}/t")["table"]
        assert "comment" not in table
        assert table["audit"]["creator"] == "anonymous"
        server.ok("PUT", f"{seed.tables}/t", change)


def can_mount() -> bool:
    """Whether a folder of a process's own can get a small file system of its own here."""
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    done = subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], check=False, capture_output=True)
    return done.returncode == 0


class LimitedFiles:
    """The server can't write to any file: what a quota does. Works wherever Linux does, for everybody."""

    prefix: tuple[str, ...] = ()

    def __init__(self, data: Path) -> None:
        self.data = data

    def fill(self, server: Server) -> None:
        self._limit(server, 1)

    def free(self, server: Server) -> None:
        self._limit(server, resource.RLIM_INFINITY)

    def _limit(self, server: Server, size: int) -> None:
        assert server.process is not None
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class SmallDisk:
    """A small file system in a mount namespace of the server's own: it is gone when the server is."""

    def __init__(self, data: Path) -> None:
        self.data = data
        unshare = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")))
        self.prefix = (*unshare, "sh", "-c", f'mount -t tmpfs -o size=6m tmpfs "{data}" && exec "$@"', "sh")

    def _ballast(self, server: Server) -> Path:
        assert server.process is not None
        return Path(f"/proc/{server.process.pid}/root{self.data}/ballast")

    def fill(self, server: Server) -> None:
        with self._ballast(server).open("wb", buffering=0) as file:
            for size in (65536, 4096, 512, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    continue

    def free(self, server: Server) -> None:
        self._ballast(server).unlink()


DISKS = [LimitedFiles, *([SmallDisk] if sys.platform == "linux" and can_mount() else [])]


@pytest.mark.parametrize("kind", DISKS, ids=lambda k: k.__name__)
def test_the_disk_is_full_and_then_is_not(kind: type[LimitedFiles | SmallDisk], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    disk = kind(data)
    with running(data, prefix=disk.prefix) as server:
        for n in range(20):
            server.ok("POST", "/api/metalakes", {"name": f"early{n}"})
        acknowledged: list[str] = []
        disk.fill(server)
        refused = Answer(0, {}, b"")
        for n in range(400):
            name = f"late{n}"
            refused = server.call("POST", "/api/metalakes", {"name": name, "comment": "x" * 2000})
            if refused.status != 200:
                break
            acknowledged.append(name)
        assert_unavailable(refused)
        for _ in range(3):
            assert_unavailable(server.call("POST", "/api/metalakes", {"name": "more", "comment": "x" * 5000}))
            server.ok("GET", "/api/metalakes/early3")
        assert cause(server)
        disk.free(server)
        assert eventually(lambda: ready(server))
        server.ok("POST", "/api/metalakes", {"name": "after"})
        shown = {m["name"] for m in server.ok("GET", "/api/metalakes")["metalakes"]}
        assert {*acknowledged, "after"} <= shown
        assert "more" not in shown
        folder = data if isinstance(disk, LimitedFiles) else Path(f"/proc/{server.process.pid}/root{data}")  # type: ignore[union-attr]
        records = [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines() if line]
        done = {r["details"]["name"] for r in records if r["outcome"] == "success" and r["operation"].startswith("cre")}
        assert {*acknowledged, "after"} <= done


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_50_megabytes(chunked: bool, server: Server) -> None:
    before = server.rss()
    host = server.uri.removeprefix("http://")
    piece = b" " * (1 << 20)
    connection = http.client.HTTPConnection(host, timeout=60)
    body = (piece for _ in range(50)) if chunked else piece * 50
    connection.request("POST", "/api/metalakes", body, encode_chunked=chunked, headers={"X-Request-Id": "big"})
    response = connection.getresponse()
    answer = Answer(response.status, response.headers, response.read())
    assert described(answer) == (413, 1001, "BodyTooLargeException")
    assert "server.max-body" in answer.json["message"]
    assert answer.json["requestId"] == "big"
    connection.close()
    assert server.rss() - before < 48 << 20
    assert server.call("GET", "/api/metalakes").status == 200


def test_a_body_of_a_client_that_goes_away(server: Server) -> None:
    for _ in range(5):
        connection = http.client.HTTPConnection(server.uri.removeprefix("http://"), timeout=5)
        connection.putrequest("POST", "/api/metalakes")
        connection.putheader("Content-Length", "1000000")
        connection.endheaders(b'{"name": "half')
        connection.close()
    assert server.call("GET", "/api/metalakes/half").status == 404
    assert "Traceback" not in server.log.read_text()
