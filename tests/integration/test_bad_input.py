"""Bad input: the right status, code and type, a message that names the field, and nothing changed anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Seed, files_below, running, sqlite_dump
from tests.integration.bad_inputs import CATALOGS, METALAKES, QUERIES, RAW, Bad, C
from tests.integration.bad_objects import FILESETS, SCHEMAS, TABLES

CASES = [*RAW, *QUERIES, *METALAKES, *CATALOGS, *SCHEMAS, *TABLES, *FILESETS]
SHOWN = ("headwater", "Traceback", "site-packages", 'File "', "pydantic", "sqlalchemy", "object at 0x")
TESTED = [c for c in CASES if c.path == C and c.method == "POST"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seed]:
    folder = Path(tmp_path_factory.mktemp("bad-input"))
    with running(folder / "data") as server:
        yield Seed(server, folder).make()


def state(lake: Seed) -> list[Any]:
    """All that a request could have changed."""
    databases = [sqlite_dump(lake.server.data / "headwater.db"), sqlite_dump(lake.database)]
    return [*databases, files_below(lake.warehouse), files_below(lake.filesets), files_below(lake.server.data)]


def test_no_case_is_there_twice() -> None:
    assert len({c.what for c in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.what[:60])
def test_bad_input(lake: Seed, case: Bad) -> None:
    before = state(lake)
    answer = lake.server.call(case.method, case.path, case.body, {"X-Request-Id": "bad-1", **case.headers})
    assert (answer.status, answer.json["code"], answer.json["type"]) == (case.status, case.code, case.type), answer
    message = answer.json["message"]
    for text in case.says:
        assert text in message
    for text in SHOWN[1:]:
        assert text not in message
    assert "hunter2" not in message
    assert len(message) < 1500
    assert message.isprintable()
    assert answer.json["requestId"] == answer.headers["X-Request-Id"] == "bad-1"
    assert answer.headers["Content-Type"].startswith("application/json")
    assert state(lake) == before


@pytest.mark.parametrize("case", TESTED, ids=lambda c: c.what[:60])
def test_bad_input_of_a_connection_test(lake: Seed, case: Bad) -> None:
    """The same error as at creation; released clients read it from the body of a 200."""
    before = state(lake)
    answer = lake.server.call("POST", f"{C}/testConnection", case.body)
    assert (answer.status, answer.json["code"], answer.json["type"]) == (200, case.code, case.type), answer
    for text in case.says:
        assert text in answer.json["message"]
    assert state(lake) == before


def test_an_unknown_property_is_kept_and_named(lake: Seed) -> None:
    properties = {**lake.on_sqlite, "team.owner": "ops", "spark.bypass.x": "y"}
    body = {"name": "extra", "provider": "lakehouse-iceberg", "properties": properties}
    made = lake.server.ok("POST", C, body)
    assert made["catalog"]["properties"]["team.owner"] == "ops"
    assert len(made["warnings"]) == 1
    assert "team.owner" in made["warnings"][0]
    changes = {"updates": [{"@type": "setProperty", "property": "team.cost", "value": "7"}]}
    changed = lake.server.ok("PUT", f"{C}/extra", changes)
    assert changed["catalog"]["properties"]["team.cost"] == "7"
    assert [w for w in changed["warnings"] if "team.cost" in w]
    assert "warnings" not in lake.server.ok("PUT", f"{C}/extra", {"updates": []})


def test_a_refused_request_leaves_the_connection_usable(lake: Seed) -> None:
    for _ in range(3):
        assert lake.server.call("POST", C, b"[" * 200_000).status == 400
    assert lake.server.call("GET", C).status == 200
