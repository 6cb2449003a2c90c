"""Several server processes on one store, and what many clients do with them at once."""

from __future__ import annotations

import base64
import contextlib
import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from tests import servers
from tests.harness import Answer, Connection, Seed, Server, running

KEY = base64.b64encode(bytes(range(32))).decode()


class Deployment:
    """Some processes on one store with a seeded lake, and ways to look at what is stored."""

    def __init__(self, started: list[Server], seed: Seed, store: str, iceberg: str) -> None:
        self.servers, self.seed, self._store, self._iceberg = started, seed, store, iceberg

    def connections(self, count: int) -> list[Connection]:
        """Connections to both processes, half of them to each, each with a user of its own.

        Workers share one socket: which of them takes a connection is left to chance, so it is tried until it fits.
        """
        half = (count + 1) // 2
        taken: Counter[str] = Counter()
        found: list[Connection] = []
        end = time.monotonic() + 60
        while len(found) < count and time.monotonic() < end:
            number = len(found)
            connection = Connection(self.servers[number % len(self.servers)].uri, user=f"user{number}")
            process = process_of(connection.call("GET", "/api/metalakes"))
            if taken[process] < half:
                taken[process] += 1
                found.append(connection)
            else:
                connection.close()
        assert len(found) == count, f"connections went to {taken}"
        return found

    def one_per_process(self) -> tuple[Connection, Connection]:
        """A connection to one process and one to another; an answer's request id tells which one gave it."""
        found: dict[str, Connection] = {}
        end = time.monotonic() + 30
        while len(found) < 2 and time.monotonic() < end:
            for server in self.servers:
                connection = Connection(server.uri)
                process = process_of(connection.call("GET", "/api/metalakes"))
                if found.setdefault(process, connection) is not connection:
                    connection.close()
        assert len(found) == 2, "all connections went to one process"
        first, second = found.values()
        return first, second

    def stored(self, question: str) -> list[Any]:
        """Rows of the store."""
        return ask(self._store, question)

    def catalogued(self, question: str) -> list[Any]:
        """Rows of the Iceberg catalog's database."""
        return ask(self._iceberg, question)

    def audited(self) -> list[dict[str, Any]]:
        """All lines of the audit logs."""
        files = sorted({s.data / "audit.jsonl" for s in self.servers})
        return [json.loads(line) for f in files for line in f.read_text().splitlines()]


def process_of(answer: Answer) -> str:
    return str(answer.headers["X-Request-Id"]).partition("-")[0]


def ask(database: str, question: str) -> list[Any]:
    if database.startswith("postgresql"):
        with psycopg.connect(database) as connection:
            return connection.execute(question.encode()).fetchall()
    with contextlib.closing(sqlite3.connect(database, timeout=10)) as file:
        return file.execute(question).fetchall()


@contextlib.contextmanager
def on_sqlite(folder: Path) -> Iterator[Deployment]:
    """Two workers on one embedded store; the tables are in a SQLite file too."""
    with running(folder / "data", "--workers", "2") as server:
        seed = Seed(server, folder).make()
        yield Deployment([server], seed, str(server.data / "headwater.db"), str(seed.database))


@contextlib.contextmanager
def on_postgres(folder: Path) -> Iterator[Deployment]:
    """Two servers on one PostgreSQL store; the tables are in another database of it."""
    with servers.postgres(fsync=False) as pg, contextlib.ExitStack() as stack:
        store, tables = pg.create_database("store"), pg.create_database("tables")
        env = {"HEADWATER_STORE_URL": store, "HEADWATER_STORE_AUTO_UPGRADE": "true", "HEADWATER_SECRETS_KEY": KEY}
        started = [stack.enter_context(running(folder / name, env=env)) for name in ("one", "two")]
        seed = Seed(started[0], folder)
        login = {"jdbc-user": pg.user, "jdbc-password": pg.password}
        uri = f"jdbc:postgresql://127.0.0.1:{pg.port}/tables"
        seed.make(iceberg={**seed.on_sqlite, **login, "uri": uri})
        yield Deployment(started, seed, store, tables)


STORES = {"sqlite": on_sqlite, "postgres": on_postgres}


class Writers:
    """Clients that set distinct properties of the same table and the same catalog, all at once."""

    def __init__(self, deployment: Deployment, clients: int, alters: int) -> None:
        self.deployment, self.clients, self.alters = deployment, clients, alters
        self.catalog, self.table = f"{deployment.seed.catalogs}/ice", f"{deployment.seed.tables}/t"
        self.retried: list[Answer] = []
        self.failed: list[str] = []
        self.last: dict[str, list[tuple[str, str]]] = {self.catalog: [], self.table: []}
        """What each answer said about the last change: when, and by whom."""
        self.processes: set[str] = set()

    def run(self) -> None:
        connections = self.deployment.connections(self.clients)
        threads = [threading.Thread(target=self._write, args=(i, c)) for i, c in enumerate(connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    @property
    def expected(self) -> dict[str, str]:
        return {f"p{i}.{n}": f"v{i}.{n}" for i in range(self.clients) for n in range(self.alters)}

    def _write(self, client: int, connection: Connection) -> None:
        try:
            for n in range(self.alters):
                for path, noun in ((self.table, "table"), (self.catalog, "catalog")):
                    self._set(connection, client, path, noun, f"p{client}.{n}", f"v{client}.{n}")
        except Exception as e:
            self.failed.append(f"client {client}: {type(e).__name__}: {e}")

    def _set(self, connection: Connection, client: int, path: str, noun: str, key: str, value: str) -> None:
        body = {"updates": [{"@type": "setProperty", "property": key, "value": value}]}
        for _ in range(20):
            answer = connection.call("PUT", path, body)
            if answer.status not in (409, 503):
                break
            self.retried.append(answer)
        assert answer.status == 200, answer
        self.processes.add(process_of(answer))
        shown = answer.json[noun]
        assert shown["properties"][key] == value
        assert shown["audit"]["lastModifier"] == f"user{client}"
        self.last[path].append((shown["audit"]["lastModifiedTime"], shown["audit"]["lastModifier"]))


def alter_at_once(deployment: Deployment, clients: int, alters: int) -> None:
    """Nothing is lost, hardly anybody had to try again, and versions and audit data tell the same story."""
    writers = Writers(deployment, clients, alters)
    (before,) = deployment.stored("select version from objects where kind = 'catalog' and name = 'ice'")
    writers.run()
    assert writers.failed == []
    assert len(writers.processes) == 2
    total = clients * alters
    assert len(writers.retried) <= 2 * total * 0.01, writers.retried[:5]
    for connection in deployment.one_per_process():
        for path, noun in ((writers.table, "table"), (writers.catalog, "catalog")):
            shown = connection.call("GET", path).json[noun]
            properties = {k: v for k, v in shown["properties"].items() if k.startswith("p") and "." in k}
            assert properties == writers.expected
            newest = (shown["audit"]["lastModifiedTime"], shown["audit"]["lastModifier"])
            assert newest == max(writers.last[path]), path
    (after,) = deployment.stored("select version from objects where kind = 'catalog' and name = 'ice'")
    assert after[0] == before[0] + total
    (pointer,) = deployment.catalogued("select metadata_location from iceberg_tables where table_name = 't'")
    assert int(pointer[0].rpartition("/")[2].partition("-")[0]) == total
    check_audit_log(deployment, total)


def check_audit_log(deployment: Deployment, total: int) -> None:
    lines = deployment.audited()
    for operation in ("alter_table", "alter_catalog"):
        mine = [r for r in lines if r["operation"] == operation]
        done = {r["id"] for r in mine if r["outcome"] == "success"}
        meant = {r["id"] for r in mine if r["outcome"] == "intent"}
        assert len(done) == total
        assert done <= meant


def read_after_write(deployment: Deployment, rounds: int) -> None:
    """What one process has acknowledged, the other one shows at the very next request."""
    connections = deployment.one_per_process()
    seed = deployment.seed
    lake = f"/api/metalakes/{seed.metalake}"
    stale = []
    for n in range(rounds):
        writer, reader = connections if n % 2 else connections[::-1]
        value = f"v{n}"
        set_it = {"updates": [{"@type": "setProperty", "property": "round", "value": value}]}
        match n % 5:
            case 0:
                path, noun = lake, "metalake"
            case 1:
                path, noun = f"{seed.catalogs}/files", "catalog"
            case 2:
                path, noun = f"{seed.catalogs}/files/schemas/s", "schema"
            case 3:
                path, noun = f"{seed.tables}/t", "table"
            case _:
                stale += listed_late(writer, reader, f"{seed.catalogs}/ice/schemas", value)
                stale += listed_late(writer, reader, f"{seed.catalogs}/files/schemas", value)
                continue
        answer = writer.call("PUT", path, set_it)
        assert answer.status == 200, answer
        if reader.call("GET", path).json[noun]["properties"].get("round") != value:
            stale.append(f"round {n}: {path}")
    assert stale == []


def listed_late(writer: Connection, reader: Connection, path: str, name: str) -> list[str]:
    def names() -> set[str]:
        return {i["name"] for i in reader.call("GET", path).json["identifiers"]}

    late = []
    before = names()
    made = writer.call("POST", path, {"name": name})
    assert made.status == 200, made
    if names() != before | {name}:
        late.append(f"create {path}/{name}")
    if reader.call("GET", f"{path}/{name}").status != 200:
        late.append(f"load {path}/{name}")
    assert writer.call("DELETE", f"{path}/{name}").json["dropped"] is True
    if names() != before:
        late.append(f"drop {path}/{name}")
    if reader.call("GET", f"{path}/{name}").status != 404:
        late.append(f"load dropped {path}/{name}")
    return late
