"""Clients that create and drop, a server that is killed meanwhile, and what must be true after its restart."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.harness import Connection, Seed, Server

COLUMNS = [{"name": "id", "type": "long"}]


class Thing:
    """One object that is created and dropped again and again. `present` is None while nobody can know."""

    def __init__(self, kind: str, collection: str, name: str, body: dict[str, Any], parent: Thing | None) -> None:
        self.kind, self.collection, self.name, self.parent = kind, collection, name, parent
        self.body = {"name": name, **body}
        self.children: list[Thing] = []
        self.present: bool | None = False
        if parent is not None:
            parent.children.append(self)

    @property
    def path(self) -> str:
        return f"{self.collection}/{self.name}"

    def request(self) -> tuple[str, str, Any]:
        """What turns it into its opposite."""
        if not self.present:
            return "POST", self.collection, self.body
        option = {
            "schema": "?cascade=true",
            "metalake": "?force=true",
            "catalog": "?force=true",
            "table": "?purge=true",
        }
        return "DELETE", self.path + option.get(self.kind, ""), None

    def became(self, present: bool | None) -> None:
        self.present = present
        for child in self.children if present is not True else ():
            child.became(present)


class Client(threading.Thread):
    """Turns things of its own into their opposite until the server is gone."""

    def __init__(self, server: Server, number: int, things: list[Thing], seed: int) -> None:
        super().__init__(daemon=True)
        self._server, self._number, self._things, self._random = server, number, things, random.Random(seed)
        self.acknowledged: list[tuple[str, str]] = []
        """Request ids, with the operations that they stand for."""
        self.wrong: list[str] = []
        self.cut_off: tuple[Thing, bool] | None = None
        """What was under way at the end, and whether it was there before."""

    def run(self) -> None:
        connection, n = Connection(self._server.uri), 0
        while not self.wrong:
            thing = self._random.choice([t for t in self._things if t.parent is None or t.parent.present])
            before, n = bool(thing.present), n + 1
            method, path, body = thing.request()
            request_id = f"{self.name}-{n}"
            thing.became(None)
            try:
                answer = connection.call(method, path, body, {"X-Request-Id": request_id})
            except ConnectionError:
                self.cut_off = (thing, before)
                return
            if answer.status != 200 or (before and not answer.json["dropped"]):
                self.wrong.append(f"{method} {path}: {answer}")
                return
            thing.became(not before)
            self.acknowledged.append((request_id, f"{'drop' if before else 'create'}_{thing.kind}"))


def things_of(lake: Seed, client: int) -> list[Thing]:
    """Two of each noun, and in each schema two tables or filesets."""
    found: list[Thing] = []
    for i in range(2):
        found.append(Thing("metalake", "/api/metalakes", f"m{client}_{i}", {}, None))
        ice = {"provider": "lakehouse-iceberg", "properties": lake.on_sqlite | {"jdbc-password": "x" * 20}}
        files = {"provider": "fileset", "properties": {"location": str(lake.filesets)}}
        found.append(Thing("catalog", lake.catalogs, f"i{client}_{i}", ice, None))
        found.append(Thing("catalog", lake.catalogs, f"f{client}_{i}", files, None))
        for catalog, kind, body in (("ice", "table", {"columns": COLUMNS}), ("files", "fileset", {})):
            schemas = f"{lake.catalogs}/{catalog}/schemas"
            schema = Thing("schema", schemas, f"s{client}_{i}", {}, None)
            inner = [Thing(kind, f"{schemas}/{schema.name}/{kind}s", f"x{n}", body, schema) for n in range(2)]
            found += [schema, *inner]
    return found


class Crashes:
    """A server that is killed at random moments."""

    def __init__(self, folder: Path, seed: int, *flags: str, clients: int = 4) -> None:
        self.random = random.Random(seed)
        self.server = Server(folder / "data", *flags).start()
        self.lake = Seed(self.server, folder).make()
        self.things = [things_of(self.lake, n) for n in range(clients)]
        self.acknowledged: list[tuple[str, str]] = []

    def round(self, number: int, operations: int) -> None:
        """Work, kill, restart, check, and finish what was cut off."""
        clients = [Client(self.server, n, t, self.random.randrange(2**32)) for n, t in enumerate(self.things)]
        enough = self.random.randint(operations // 5, operations)
        for client in clients:
            client.name = f"r{number}-{client.name}"
            client.start()
        while sum(len(c.acknowledged) for c in clients) < enough and all(c.is_alive() for c in clients):
            time.sleep(0.001)
        time.sleep(self.random.random() * 0.03)
        self.server.kill()
        for client in clients:
            client.join(30)
            assert client.wrong == []
            self.acknowledged += client.acknowledged
        self.server.start()
        self._check_acknowledged()
        self._check_rows_have_objects()
        self._check_audit()
        for client in clients:
            if client.cut_off is not None:
                self._finish(*client.cut_off)
        self._check_acknowledged()

    def _check_acknowledged(self) -> None:
        for thing in (t for things in self.things for t in things if t.present is not None):
            answer = self.server.call("GET", thing.path)
            assert answer.status == (200 if thing.present else 404), (thing.path, thing.present, answer)
            if thing.kind == "fileset":
                folder = self.lake.filesets / thing.path.split("/")[-3] / thing.name
                assert folder.is_dir() == thing.present, folder

    def _finish(self, thing: Thing, before: bool) -> None:
        """The same request again: it finds the work done, or does it."""
        thing.present = before
        method, path, body = thing.request()
        answer = self.server.call(method, path, body)
        if before:
            assert answer.status == 200, (path, answer)
        else:
            assert answer.status == 200 or answer.json["code"] == 1004, (path, answer)
        thing.became(not before)

    def _check_audit(self) -> None:
        outcomes: dict[tuple[str, str], list[str]] = {}
        for line in (self.server.data / "audit.jsonl").read_text().splitlines():
            record = json.loads(line)
            outcomes.setdefault((record["requestId"], record["operation"]), []).append(record["outcome"])
        for key in self.acknowledged:
            assert sorted(outcomes.get(key, [])) == ["intent", "success"], (key, outcomes.get(key))

    def _check_rows_have_objects(self) -> None:
        store, iceberg = self.server.data / "headwater.db", self.lake.database
        tables = {f"{s}\x1f{t}" for s, t in rows(iceberg, "select table_namespace, table_name from iceberg_tables")}
        spaces = {n for (n,) in rows(iceberg, "select distinct namespace from iceberg_namespace_properties")}
        for kind, path in rows(store, "select kind, path from kept"):
            assert path in (spaces if kind == "schema" else tables), (kind, path)
        for location in self._locations(store):
            assert Path(location.removeprefix("file:")).is_dir(), location
        for (location,) in rows(iceberg, "select metadata_location from iceberg_tables"):
            assert Path(location.removeprefix("file://")).is_file(), location
        assert rows(store, "select * from trash") == []
        orphans = "select name from objects where parent_id not in (select id from objects)"
        assert rows(store, orphans) == []

    def _locations(self, store: Path) -> Iterator[str]:
        for (body,) in rows(store, "select body from objects where kind = 'fileset'"):
            yield from json.loads(body)["locations"].values()
        for (name,) in rows(store, "select name from objects where kind = 'schema'"):
            yield f"file:{self.lake.filesets}/{name}"


def rows(file: Path, question: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(file, timeout=10)) as connection:
        return connection.execute(question).fetchall()


@contextlib.contextmanager
def crashes(folder: Path, seed: int, *flags: str) -> Iterator[Crashes]:
    started = Crashes(folder, seed, *flags)
    try:
        yield started
    finally:
        started.server.kill()
