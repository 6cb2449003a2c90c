"""What Trino itself makes in Glue: a Delta table, an Iceberg table and views, beside which nothing is harmed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.harness import Server, running

CATALOGS = "/api/metalakes/lake/catalogs"
CHANGED_BY_EVERY_WRITE = ("UpdateTime", "VersionId", "IsRegisteredWithLakeFormation")


class Made:
    """Trino's tables in Glue, and Headwater over them."""

    def __init__(self, aws: servers.AwsServer, server: Server, trino: servers.TrinoServer) -> None:
        self.glue: Any = aws.client("glue")
        self.server, self.trino = server, trino

    def names(self, catalog: str) -> list[str]:
        found = self.server.ok("GET", f"{CATALOGS}/{catalog}/schemas/made/tables")["identifiers"]
        return [i["name"] for i in found]

    def entry(self, name: str) -> dict[str, Any]:
        found = self.glue.get_table(DatabaseName="made", Name=name)["Table"]
        return {k: v for k, v in found.items() if k not in CHANGED_BY_EVERY_WRITE}

    def alter(self, name: str, change: dict[str, Any]) -> Any:
        return self.server.call("PUT", f"{CATALOGS}/all/schemas/made/tables/{name}", {"updates": [change]})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = Path(tmp_path_factory.mktemp("glue"))
    with servers.aws() as aws:
        aws.create_bucket("lake")
        glue = {
            "hive.metastore.glue.region": aws.region,
            "hive.metastore.glue.endpoint-url": aws.uri,
            "hive.metastore.glue.aws-access-key": aws.access_key_id,
            "hive.metastore.glue.aws-secret-key": aws.secret_access_key,
            "hive.metastore.glue.default-warehouse-dir": "s3://lake/trino",
            "fs.native-s3.enabled": "true",
            "s3.endpoint": aws.uri,
            "s3.region": aws.region,
            "s3.path-style-access": "true",
            "s3.aws-access-key": aws.access_key_id,
            "s3.aws-secret-key": aws.secret_access_key,
        }
        catalogs = {
            "delta": {"connector.name": "delta_lake", "hive.metastore": "glue", **glue},
            "ice": {"connector.name": "iceberg", "iceberg.catalog.type": "glue", **glue},
        }
        with servers.trino(catalogs=catalogs) as trino, running(folder / "data", env=aws.credentials) as server:
            trino.query("CREATE SCHEMA delta.made")
            trino.query("CREATE TABLE delta.made.d AS SELECT 1 AS id, 'one' AS name")
            trino.query("CREATE TABLE ice.made.i AS SELECT 1 AS id, 'one' AS name")
            trino.query("CREATE VIEW delta.made.dv AS SELECT id FROM delta.made.d")
            trino.query("CREATE VIEW ice.made.iv AS SELECT id FROM ice.made.i")
            server.ok("POST", "/api/metalakes", {"name": "lake"})
            for kind in ("all", "delta", "iceberg", "hive"):
                properties = {
                    "aws-region": aws.region,
                    "aws-glue-catalog-id": "123456789012",
                    "table-type-filter": kind,
                }
                properties["s3-path-style-access"] = "true"
                server.ok("POST", CATALOGS, {"name": kind, "provider": "glue", "properties": properties})
            yield Made(aws, server, trino)


def test_lists_and_filters(made: Made) -> None:
    assert {kind: made.names(kind) for kind in ("all", "delta", "iceberg", "hive")} == {
        "all": ["d", "i"],
        "delta": ["d"],
        "iceberg": ["i"],
        "hive": [],
    }
    for view in ("dv", "iv"):
        assert made.server.call("GET", f"{CATALOGS}/all/schemas/made/tables/{view}").status == 404
        assert made.alter(view, {"@type": "updateComment", "newComment": "x"}).status == 404
    refused = made.server.call("DELETE", f"{CATALOGS}/hive/schemas/made")
    assert refused.status == 409 and "2 views" in refused.json["message"]


def test_a_delta_table_is_loaded_and_changed_without_harm(made: Made) -> None:
    before = made.entry("d")
    table = made.server.ok("GET", f"{CATALOGS}/all/schemas/made/tables/d")["table"]
    assert table["properties"]["table-format"] == "delta"
    assert before["Parameters"].items() <= table["properties"].items()
    assert made.entry("d") == before
    assert made.alter("d", {"@type": "updateComment", "newComment": "ours"}).status == 200
    assert made.entry("d") == {**before, "Description": "ours"}
    assert made.alter("d", {"@type": "setProperty", "property": "k", "value": "v"}).status == 200
    assert made.entry("d") == {**before, "Description": "ours", "Parameters": {**before["Parameters"], "k": "v"}}
    assert made.alter("d", {"@type": "addColumn", "fieldName": ["x"], "type": "int"}).status == 405
    assert made.trino.query("SELECT id, name FROM delta.made.d") == [[1, "one"]]
    assert made.trino.query("SELECT id FROM delta.made.dv") == [[1]]


def test_an_iceberg_table_takes_a_column(made: Made) -> None:
    views = [made.entry("dv"), made.entry("iv")]
    answer = made.alter("i", {"@type": "addColumn", "fieldName": ["more"], "type": "double"})
    assert [c["name"] for c in answer.json["table"]["columns"]] == ["id", "name", "more"]
    assert made.trino.query("SELECT id, name, more FROM ice.made.i") == [[1, "one", None]]
    made.trino.query("INSERT INTO ice.made.i VALUES (2, 'two', 2.5)")
    table = made.server.ok("GET", f"{CATALOGS}/all/schemas/made/tables/i")["table"]
    assert table["properties"]["schema-source"] == "iceberg metadata"
    assert made.trino.query("SELECT id FROM ice.made.iv ORDER BY id") == [[1], [2]]
    assert [made.entry("dv"), made.entry("iv")] == views
