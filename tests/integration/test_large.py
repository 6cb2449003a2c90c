"""Ten thousand tables in one schema: the list works and pages, and a page costs the same wherever it lies."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Seed, running

MANY, FEW = 10_000, 100
PAGE = 1000
ROW = "insert into iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type)"


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seed]:
    folder = Path(tmp_path_factory.mktemp("large"))
    with running(folder / "data") as server:
        made = Seed(server, folder).make()
        for name, count in (("many", MANY), ("few", FEW)):
            server.ok("POST", f"{made.catalogs}/ice/schemas", {"name": name})
            add_tables(made, name, count)
        yield made


def add_tables(seed: Seed, schema: str, count: int) -> None:
    """Rows as pyiceberg writes them; a list does not look at the metadata."""
    with contextlib.closing(sqlite3.connect(seed.database)) as connection, connection:
        columns = {r[1] for r in connection.execute("pragma table_info(iceberg_tables)")}
        (catalog,) = connection.execute("select catalog_name from iceberg_tables").fetchone()
        rows = [(catalog, schema, name_of(n), f"file:///nowhere/{n}.json", "TABLE") for n in range(count)]
        insert = f"{ROW} values (?, ?, ?, ?, ?)"
        if "iceberg_type" not in columns:
            insert, rows = insert.replace(", iceberg_type", "").replace(", ?)", ")"), [r[:4] for r in rows]  # type: ignore[misc]
        connection.executemany(insert, rows)


def name_of(n: int) -> str:
    return f"t{n % 10}_{n:05d}"


def names(answer: Any) -> list[str]:
    return [i["name"] for i in answer["identifiers"]]


def tables(seed: Seed, schema: str, **query: object) -> Any:
    path = f"{seed.catalogs}/ice/schemas/{schema}/tables"
    return seed.server.ok("GET", f"{path}?{urllib.parse.urlencode(query)}" if query else path)


def costs(seed: Seed) -> tuple[int, int]:
    """Statements on our store and calls of the backend so far."""
    text = seed.server.call("GET", "/metrics").raw.decode()
    (statements,) = re.findall(r"^headwater_store_statements_total (\S+)$", text, re.M)
    calls = re.findall(r"^headwater_backend_call_duration_seconds_count\{.*\} (\S+)$", text, re.M)
    return int(float(statements)), int(sum(map(float, calls)))


def cost_of(seed: Seed, schema: str, **query: object) -> tuple[int, int]:
    """What one list costs that no memory can answer: something else was changed just before."""
    seed.server.ok("PUT", "/api/metalakes/lake", {"updates": [{"@type": "updateComment", "newComment": repr(query)}]})
    before = costs(seed)
    tables(seed, schema, **query)
    after = costs(seed)
    return after[0] - before[0], after[1] - before[1]


def test_the_whole_list(seed: Seed) -> None:
    found = tables(seed, "many")
    assert names(found) == sorted(name_of(n) for n in range(MANY))
    assert "nextPageToken" not in found
    assert found["identifiers"][0]["namespace"] == ["lake", "ice", "many"]


@pytest.mark.parametrize("prefix", ["", "t3_", "t3_0001", "none"])
@pytest.mark.parametrize("limit", [PAGE, 999, 7000])
def test_all_pages_make_the_whole(seed: Seed, prefix: str, limit: int) -> None:
    wanted = sorted(n for n in map(name_of, range(MANY)) if n.startswith(prefix))
    seen, token, pages = list[str](), "", 0
    while True:
        query = {"limit": limit, "namePrefix": prefix} | ({"pageToken": token} if token else {})
        page = tables(seed, "many", **query)
        assert len(page["identifiers"]) <= limit
        seen, pages = seen + names(page), pages + 1
        if not (token := page.get("nextPageToken", "")):
            break
    assert seen == wanted
    assert pages == max(1, -(-len(wanted) // limit))


def test_pages_stay_in_place_when_tables_come_and_go(seed: Seed) -> None:
    first = tables(seed, "few", limit=10)
    made = {"name": "a_first", "columns": [{"name": "id", "type": "long"}]}
    seed.server.ok("POST", f"{seed.catalogs}/ice/schemas/few/tables", made)
    try:
        second = tables(seed, "few", limit=10, pageToken=first["nextPageToken"])
        assert names(second) == sorted(name_of(n) for n in range(FEW))[10:20]
    finally:
        seed.server.ok("DELETE", f"{seed.catalogs}/ice/schemas/few/tables/a_first")


def test_a_page_costs_the_same_everywhere(seed: Seed) -> None:
    token, tokens = "", []
    for _ in range(9):
        tokens.append(token)
        page = tables(seed, "many", limit=PAGE, **({"pageToken": token} if token else {}))
        token = page["nextPageToken"]
    first = cost_of(seed, "many", limit=PAGE)
    ninth = cost_of(seed, "many", limit=PAGE, pageToken=tokens[8])
    small = cost_of(seed, "few", limit=PAGE)
    whole = cost_of(seed, "many")
    whole_small = cost_of(seed, "few")
    assert first == ninth == small == whole == whole_small
    statements, calls = first
    assert calls == 1
    assert statements <= 4


def test_an_answer_from_memory_costs_nothing(seed: Seed) -> None:
    tables(seed, "many")
    before = costs(seed)
    tables(seed, "many")
    assert costs(seed) == before
