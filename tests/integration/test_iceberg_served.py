"""Iceberg catalogs on each kind of backend through the server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.harness import Server, running

_numbers = itertools.count()
COLUMNS = [{"name": "id", "type": "long", "nullable": False}, {"name": "name", "type": "string"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("served") / "data") as started:
        started.ok("POST", "/api/metalakes", {"name": "lake"})
        yield started


@pytest.fixture(scope="module")
def aws() -> Iterator[servers.aws]:
    with servers.aws() as started:
        started.create_bucket("tables")
        yield started


@pytest.fixture(params=["rest", "hive", "glue"])
def catalog(request: pytest.FixtureRequest, server: Server, tmp_path: Path, aws: servers.aws) -> Iterator[str]:
    """The path of a new catalog."""
    if request.param == "rest":
        with servers.iceberg_rest() as rest:
            yield make(server, {"catalog-backend": "rest", "uri": rest.uri, "gravitino.bypass.token": "a-secret"})
    elif request.param == "hive":
        with servers.hms31() as hms:
            yield make(server, {"catalog-backend": "hive", "uri": hms.uri, "warehouse": str(tmp_path)})
    else:
        yield make(server, on_glue(aws))


def on_glue(aws: servers.aws) -> dict[str, str]:
    return {
        "catalog-backend": "glue",
        "warehouse": "s3://tables/wh",
        "s3-region": "us-east-1",
        "s3-endpoint": aws.uri,
        "aws-glue-endpoint": aws.uri,
        "s3-access-key-id": aws.credentials["AWS_ACCESS_KEY_ID"],
        "s3-secret-access-key": aws.credentials["AWS_SECRET_ACCESS_KEY"],
        "s3-path-style-access": "true",
    }


def make(server: Server, properties: dict[str, str]) -> str:
    name = f"ice{next(_numbers)}"
    body: dict[str, Any] = {"name": name, "provider": "lakehouse-iceberg", "properties": properties}
    catalogs = "/api/metalakes/lake/catalogs"
    assert server.call("POST", f"{catalogs}/testConnection", body).json["code"] == 0
    made = server.ok("POST", catalogs, body)
    assert "warnings" not in made or not made["warnings"]
    assert not {"gravitino.bypass.token", "s3-secret-access-key"} & made["catalog"]["properties"].keys()
    return f"{catalogs}/{name}"


def test_a_table_and_its_changes(server: Server, catalog: str) -> None:
    server.ok("POST", f"{catalog}/schemas", {"name": "s", "comment": "a schema", "properties": {"k": "v"}})
    tables = f"{catalog}/schemas/s/tables"
    made = server.ok("POST", tables, {"name": "t", "columns": COLUMNS, "comment": "a table"})["table"]
    assert server.ok("GET", f"{tables}/t")["table"] == made
    assert server.call("POST", tables, {"name": "t", "columns": COLUMNS}).status == 409
    updates = [
        {"@type": "addColumn", "fieldName": ["at"], "type": "timestamp"},
        {"@type": "setProperty", "property": "p", "value": "1"},
    ]
    changed = server.ok("PUT", f"{tables}/t", {"updates": updates})["table"]
    assert [col["name"] for col in changed["columns"]] == ["id", "name", "at"]
    assert changed["properties"]["p"] == "1" and changed["comment"] == "a table"
    renamed = server.ok("PUT", f"{tables}/t", {"updates": [{"@type": "rename", "newName": "u"}]})["table"]
    assert renamed["columns"] == changed["columns"]
    assert [found["name"] for found in server.ok("GET", tables)["identifiers"]] == ["u"]
    assert server.call("GET", f"{tables}/t").status == 404
    assert server.call("DELETE", f"{catalog}/schemas/s").status == 409
    assert server.ok("DELETE", f"{tables}/u?purge=true")["dropped"] is True
    assert server.ok("DELETE", f"{catalog}/schemas/s?cascade=true")["dropped"] is True
    assert server.call("GET", tables).status == 404


@pytest.mark.parametrize("backend", ["rest", "hive", "glue"])
def test_nobody_answers(server: Server, aws: servers.aws, backend: str) -> None:
    port = servers.free_port()
    properties = {
        "rest": {"uri": f"http://127.0.0.1:{port}"},
        "hive": {"uri": f"thrift://127.0.0.1:{port}"},
        "glue": {**on_glue(aws), "aws-glue-endpoint": f"http://127.0.0.1:{port}"},
    }[backend]
    name = f"ice{next(_numbers)}"
    body = {"name": name, "provider": "lakehouse-iceberg", "properties": {**properties, "catalog-backend": backend}}
    catalogs = "/api/metalakes/lake/catalogs"
    tried = server.call("POST", f"{catalogs}/testConnection", body)
    assert tried.json["code"] != 0 and "127.0.0.1" in tried.json["message"]
    server.ok("POST", catalogs, body)
    assert server.call("GET", f"{catalogs}/{name}/schemas").status == 502


def test_a_class_must_be_allowed(server: Server) -> None:
    properties = {"catalog-backend": "custom", "catalog-backend-impl": "pyiceberg.catalog.memory.InMemoryCatalog"}
    body = {"name": "own", "provider": "lakehouse-iceberg", "properties": properties}
    answer = server.call("POST", "/api/metalakes/lake/catalogs", body)
    assert answer.status == 400 and "catalog-backend-impl" in answer.json["message"]
