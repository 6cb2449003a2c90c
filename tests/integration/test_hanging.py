"""A backend that accepts connections and never says a word holds up nobody but those who ask for it."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.harness import Seed, Server, running

TIMEOUT = 3.0
THREADS, WAITING, REQUESTS = 8, 32, 300
FACTOR = 10
"""How much slower the middle health check may be than on the idle server: far below what a blocked loop would give."""


@pytest.fixture
def seed(tmp_path: Path) -> Iterator[Seed]:
    env = {
        "HEADWATER_CATALOGS_TIMEOUT": f"{TIMEOUT:g}",
        "HEADWATER_CATALOGS_THREADS": str(THREADS),
        "HEADWATER_CATALOGS_WAITING": str(WAITING),
    }
    with servers.hanging() as silent, running(tmp_path / "data", env=env) as server:
        made = Seed(server, tmp_path).make()
        uri = f"postgresql://127.0.0.1:{silent.port}/db"
        made.add_catalog("silent", "lakehouse-iceberg", made.on_sqlite | {"uri": uri})
        yield made


async def ask(server: Server, path: str) -> tuple[int, float, str]:
    """Status, seconds and headers of one GET."""
    begun = time.perf_counter()
    host, _, port = server.uri.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    return int(answer.split()[1]), time.perf_counter() - begun, answer.partition("\r\n\r\n")[0]


async def ask_for(server: Server, path: str, seconds: float) -> list[tuple[int, float, str]]:
    """One request after another."""
    answers, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        answers.append(await ask(server, path))
        await asyncio.sleep(0.01)
    return answers


def middle(answers: list[tuple[int, float, str]]) -> float:
    return statistics.median(seconds for _, seconds, _ in answers)


def test_only_those_who_ask_for_it_wait(seed: Seed) -> None:
    server = seed.server
    others = [f"{seed.tables}/t", seed.tables, f"{seed.files}/f", f"{seed.catalogs}/silent", "/api/metalakes"]

    async def work() -> None:
        before = await ask_for(server, "/health", 1)
        silent = [asyncio.create_task(ask(server, f"{seed.catalogs}/silent/schemas")) for _ in range(REQUESTS)]
        await asyncio.sleep(0.3)
        health, *rest = await asyncio.gather(*(ask_for(server, p, TIMEOUT - 0.8) for p in ("/health", *others)))
        assert not all(task.done() for task in silent)
        assert {status for status, _, _ in health} == {200}
        assert middle(health) < FACTOR * middle(before)
        for path, answers in zip(others, rest, strict=True):
            assert {status for status, _, _ in answers} == {200}, path
            assert len(answers) > 5
        ended = await asyncio.gather(*silent)
        statuses = Counter(status for status, _, _ in ended)
        assert set(statuses) <= {503, 504}, statuses
        assert statuses[504] <= THREADS + WAITING
        assert all("retry-after" in headers.lower() for status, _, headers in ended if status == 503)
        slow = [seconds for status, seconds, _ in ended if status == 504]
        assert slow
        assert all(TIMEOUT * 0.9 <= seconds <= TIMEOUT * 2 for seconds in slow)
        for path in others:
            assert (await ask(server, path))[0] == 200

    asyncio.run(work())


def test_it_recovers_when_the_backend_does(tmp_path: Path) -> None:
    """Threads that were lost come back by the driver's own time-out, and the same catalog works again."""
    env = {"HEADWATER_CATALOGS_TIMEOUT": f"{TIMEOUT:g}", "HEADWATER_CATALOGS_THREADS": "2"}
    port = servers.free_port()
    with running(tmp_path / "data", env=env) as server:
        made = Seed(server, tmp_path).make()
        with servers.hanging(port):
            uri = f"postgresql://127.0.0.1:{port}/postgres"
            made.add_catalog("silent", "lakehouse-iceberg", made.on_sqlite | {"uri": uri})
            for _ in range(3):
                assert server.call("GET", f"{made.catalogs}/silent/schemas").status in (502, 503, 504)
        with servers.postgres(port, fsync=False) as pg:
            login = {"jdbc-user": pg.user, "jdbc-password": pg.password}
            updates = [{"@type": "setProperty", "property": k, "value": v} for k, v in login.items()]
            server.ok("PUT", f"{made.catalogs}/silent", {"updates": updates})
            end = time.monotonic() + 20
            while server.call("GET", f"{made.catalogs}/silent/schemas").status != 200:
                assert time.monotonic() < end
                time.sleep(0.2)


def test_it_can_be_changed_and_dropped_meanwhile(seed: Seed) -> None:
    """Whoever wants to repair or remove the catalog does not freeze the server."""
    server, silent = seed.server, f"{seed.catalogs}/silent"

    async def change() -> None:
        body = {"updates": [{"@type": "updateComment", "newComment": "to be repaired"}]}
        await asyncio.to_thread(server.ok, "PUT", silent, body)
        await asyncio.to_thread(server.call, "GET", f"{silent}/schemas")
        await asyncio.to_thread(server.ok, "DELETE", f"{silent}?force=true")

    async def work() -> None:
        before = await ask_for(server, "/health", 1)
        waiting = [asyncio.create_task(ask(server, f"{silent}/schemas")) for _ in range(20)]
        await asyncio.sleep(0.3)
        changing = asyncio.create_task(change())
        health = await ask_for(server, "/health", TIMEOUT)
        assert max(seconds for _, seconds, _ in health) < TIMEOUT / 2
        assert middle(health) < FACTOR * middle(before)
        await changing
        assert {status for status, _, _ in await asyncio.gather(*waiting)} <= {404, 502, 503, 504}
        assert (await ask(server, silent))[0] == 404
        assert (await ask(server, f"{seed.tables}/t"))[0] == 200

    asyncio.run(work())


def test_the_server_stops_quickly_all_the_same(seed: Seed) -> None:
    async def work() -> tuple[int, float]:
        tasks = [asyncio.create_task(ask(seed.server, f"{seed.catalogs}/silent/schemas")) for _ in range(20)]
        await asyncio.sleep(0.5)
        begun = time.monotonic()
        code = await asyncio.to_thread(seed.server.stop)
        took = time.monotonic() - begun
        await asyncio.gather(*tasks, return_exceptions=True)
        return code, took

    code, took = asyncio.run(work())
    assert code == 0
    assert took < TIMEOUT + 2
