"""A provider that is installed beside Headwater is found by its entry point and shows everywhere, with no edit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import Server, running

PLUGIN = Path(__file__).parent.parent / "plugins" / "toybox"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("toybox") / "data"
    with running(data, env={"PYTHONPATH": str(PLUGIN)}) as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
        yield server


def test_it_is_listed(box: Server) -> None:
    names = [p["name"] for p in box.ok("GET", "/api/providers")["providers"]]
    assert names == ["fileset", "glue", "hive", "lakehouse-iceberg", "toybox"]


def test_its_properties_are_listed(box: Server) -> None:
    declared = box.ok("GET", "/api/providers/toybox")["provider"]["catalogProperties"]
    colour = next(p for p in declared if p["name"] == "colour")
    assert (colour["required"], colour["choices"]) == (True, ["red", "blue"])


def test_it_is_in_the_openapi_document(box: Server) -> None:
    providers = box.ok("GET", "/openapi.json")["x-headwater-providers"]
    assert "toybox" in [p["name"] for p in providers]


def test_its_properties_are_on_the_command_line(box: Server) -> None:
    command = [sys.executable, "-m", "headwater.cli.main", "catalog", "properties", "--provider", "toybox"]
    done = subprocess.run([*command, "--server", box.uri], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "colour" in done.stdout and "lid-code" in done.stdout


def test_it_works(box: Server) -> None:
    catalogs = "/api/metalakes/lake/catalogs"
    refused = box.call("POST", catalogs, {"name": "toys", "provider": "toybox", "properties": {"colour": "green"}})
    assert refused.status == 400
    assert "allowed are red, blue" in refused.json["message"]
    box.ok("POST", catalogs, {"name": "toys", "provider": "toybox", "properties": {"colour": "red"}})
    box.ok("POST", f"{catalogs}/toys/schemas", {"name": "s"})
    tables = f"{catalogs}/toys/schemas/s/tables"
    columns = [
        {"name": name, "type": sql}
        for name, sql in (("a", "bigint"), ("b", "INT"), ("c", "decimal(18,2)"), ("d", "varchar(20)"))
    ]
    box.ok("POST", tables, {"name": "t", "columns": columns})
    served = box.ok("GET", f"{tables}/t")["table"]
    assert [c["type"] for c in served["columns"]] == ["long", "integer", "decimal(18,2)", "varchar(20)"]
    assert served["audit"]["creator"] == "anonymous"
    changes = [{"@type": "addColumn", "fieldName": ["e"], "type": "date"}]
    box.ok("PUT", f"{tables}/t", {"updates": changes})
    assert [c["name"] for c in box.ok("GET", f"{tables}/t")["table"]["columns"]] == list("abcde")
    refused = box.call("PUT", f"{tables}/t", {"updates": [{"@type": "deleteTableIndex", "name": "i"}]})
    assert (refused.status, refused.json["type"]) == (405, "UnsupportedOperationException")
    filesets = box.call("GET", f"{catalogs}/toys/schemas/s/filesets")
    assert (filesets.status, filesets.json["code"]) == (405, 1006)
