"""Real Spark and real Hive Metastores: what either side makes, the other reads, with every field right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hive_metastore import ttypes

from tests import servers
from tests.engines import spark
from tests.engines.spark import SparkSession
from tests.harness import Server, running

LINES = {"spark-3.5-hms-3.1": ("3.5", servers.hms31), "spark-4.1-hms-4.0": ("4.1", servers.hms40)}
EVERY_TYPE = (
    "a tinyint, b smallint, c int comment 'the third', d bigint, e float, f double, g decimal(20,3), h string, "
    "i varchar(7), j char(3), k boolean, l date, m timestamp, n binary, o array<struct<x:int,y:map<string,bigint>>>, "
    "p map<string,array<decimal(4,1)>>, q struct<r:date,s:struct<t:varchar(2)>>"
)
AS_SERVED = [
    "byte", "short", "integer", "long", "float", "double", "decimal(20,3)", "string", "varchar(7)", "char(3)",
    "boolean", "date", "timestamp", "binary",
    {"type": "list", "containsNull": True, "elementType": {"type": "struct", "fields": [
        {"name": "x", "type": "integer", "nullable": True},
        {"name": "y", "type": {"type": "map", "valueContainsNull": True, "keyType": "string", "valueType": "long"},
         "nullable": True}]}},
    {"type": "map", "valueContainsNull": True, "keyType": "string",
     "valueType": {"type": "list", "containsNull": True, "elementType": "decimal(4,1)"}},
    {"type": "struct", "fields": [
        {"name": "r", "type": "date", "nullable": True},
        {"name": "s", "type": {"type": "struct", "fields": [{"name": "t", "type": "varchar(2)", "nullable": True}]},
         "nullable": True}]},
]  # fmt: skip


class Line(msgspec.Struct):
    """One line of Spark with its metastore, and Headwater over that."""

    version: str
    hms: servers.HiveMetastore
    spark: SparkSession
    server: Server
    schemas: str

    def raw(self, table: str) -> Any:
        """The table as the metastore itself sends it, without any of our code."""
        wanted = ttypes.GetTableRequest(
            dbName="db", tblName=table, capabilities=ttypes.ClientCapabilities([]), processorCapabilities=["ALL"]
        )
        with self.hms.client() as client:
            return client.get_table_req(wanted).table

    def raw_partitions(self, table: str) -> list[Any]:
        """Its partitions in the order of their values, as the metastore itself sends them."""
        with self.hms.client() as client:
            return sorted(client.get_partitions("db", table, -1), key=lambda p: list(p.values))

    def table(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.server.ok("GET", f"{self.schemas}/db/tables/{name}")["table"]
        return found

    def partitions(self, name: str) -> list[dict[str, Any]]:
        path = f"{self.schemas}/db/tables/{name}/partitions?details=true"
        found: list[dict[str, Any]] = self.server.ok("GET", path)["partitions"]
        return found

    def alter(self, name: str, *updates: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.server.ok("PUT", f"{self.schemas}/db/tables/{name}", {"updates": updates})["table"]
        return found


@pytest.fixture(scope="module", params=LINES.values(), ids=LINES.keys())
def line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    version, metastore = request.param
    folder = Path(tmp_path_factory.mktemp("hive"))
    conf = {
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hive",
        # Spark keeps what it knows of a table for a while, in a session, unless it is told not to.
        "spark.sql.catalog.ice.cache-enabled": "false",
        "spark.sql.filesourceTableRelationCacheSize": "0",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
    }
    with metastore() as hms:
        conf["spark.sql.catalog.ice.uri"] = hms.uri
        with (
            spark(version, packages=("iceberg",), hive=hms, conf=conf) as session,
            running(folder / "data") as server,
        ):
            server.ok("POST", "/api/metalakes", {"name": "lake"})
            properties = {"metastore.uris": hms.uri}
            catalogs = "/api/metalakes/lake/catalogs"
            server.ok("POST", catalogs, {"name": "hive", "provider": "hive", "properties": properties})
            session.sql("create database db comment 'of tests'")
            yield Line(version, hms, session, server, f"{catalogs}/hive/schemas")


def test_every_field_of_a_hive_table(line: Line) -> None:
    line.spark.sql(
        f"create table db.every ({EVERY_TYPE}) comment 'all types' partitioned by (dt date comment 'day', "
        "country string) stored as parquet tblproperties ('owner.team' = 'x', 'empty' = '')"
    )
    raw, table = line.raw("every"), line.table("every")
    assert [c["type"] for c in table["columns"]] == [*AS_SERVED, "date", "string"]
    assert [c["name"] for c in table["columns"]] == [c.name for c in (*raw.sd.cols, *raw.partitionKeys)]
    comments = {c["name"]: c["comment"] for c in table["columns"] if c.get("comment")}
    assert comments == {"c": "the third", "dt": "day"}
    assert table["comment"] == "all types"
    assert table["partitioning"] == [{"strategy": "identity", "fieldName": [k.name]} for k in raw.partitionKeys]
    assert raw.parameters.items() <= table["properties"].items()
    assert table["properties"].keys() - raw.parameters.keys() == {
        "location", "input-format", "output-format", "serde-lib", "serde.parameter.serialization.format",
        "table-format", "table-type", "external-table" if raw.tableType == "EXTERNAL_TABLE" else "managed-table",
    } | ({"format"} if "format" not in raw.parameters else set())  # fmt: skip
    properties = table["properties"]
    assert properties["location"] == raw.sd.location
    assert (properties["input-format"], properties["output-format"]) == (raw.sd.inputFormat, raw.sd.outputFormat)
    assert (properties["serde-lib"], properties["format"]) == (raw.sd.serdeInfo.serializationLib, "PARQUET")
    assert (properties["table-type"], properties["table-format"]) == (raw.tableType, "hive")
    assert table["audit"]["creator"] == raw.owner
    assert table["audit"]["createTime"].startswith("20")


def test_partitions_of_spark(line: Line) -> None:
    line.spark.sql("create table db.parts (id int) partitioned by (dt date, what string) stored as orc")
    odd = "a/b=c d%e:f"
    line.spark.sql(f"insert into db.parts partition (dt=date'2024-01-01', what='{odd}') values (1), (2)")
    line.spark.sql("insert into db.parts partition (dt=date'2024-01-02', what='x') values (3)")
    found = line.partitions("parts")
    assert [p["name"] for p in found] == ["dt=2024-01-01/what=a%2Fb%3Dc d%25e%3Af", "dt=2024-01-02/what=x"]
    assert [[v["value"] for v in p["values"]] for p in found] == [["2024-01-01", odd], ["2024-01-02", "x"]]
    assert [v["dataType"] for v in found[0]["values"]] == ["date", "string"]
    assert found[0]["fieldNames"] == [["dt"], ["what"]]
    location = line.table("parts")["properties"]["location"]
    assert found[1]["properties"]["location"] == f"{location}/dt=2024-01-02/what=x"
    for served, raw in zip(found, line.raw_partitions("parts"), strict=True):
        assert [v["value"] for v in served["values"]] == raw.values
        assert served["properties"] == {**raw.parameters, "location": raw.sd.location}


def test_buckets_serde_and_views_of_spark(line: Line) -> None:
    line.spark.sql(
        "create table db.bucketed (id int, name string) clustered by (id) sorted by (name) into 4 buckets stored as orc"
    )
    line.spark.sql("create table db.delimited (id int, name string) row format delimited fields terminated by '|'")
    line.spark.sql("create view db.seen as select 1 as one")
    bucketed, delimited = line.table("bucketed"), line.table("delimited")
    assert bucketed["distribution"]["strategy"] == "hash" and bucketed["distribution"]["number"] == 4
    assert bucketed["distribution"]["funcArgs"] == [{"type": "field", "fieldName": ["id"]}]
    assert bucketed["sortOrders"][0]["direction"] == "asc"
    assert bucketed["sortOrders"][0]["sortTerm"] == {"type": "field", "fieldName": ["name"]}
    assert delimited["properties"]["serde.parameter.field.delim"] == "|"
    assert delimited["properties"]["format"] == "TEXTFILE"
    listed = line.server.ok("GET", f"{line.schemas}/db/tables")["identifiers"]
    assert "seen" not in [i["name"] for i in listed]
    assert line.server.call("GET", f"{line.schemas}/db/tables/seen").status == 404
    assert line.server.ok("DELETE", f"{line.schemas}/db/tables/seen") == {"code": 0, "dropped": False}
    assert line.spark.rows("select * from db.seen") == [[1]]


def test_data_source_tables_of_spark(line: Line) -> None:
    line.spark.sql(
        "create table db.source (Id int comment 'the key', Name string, s struct<A:int,B:timestamp_ntz>, "
        "d date) using parquet partitioned by (d) clustered by (Id) into 2 buckets"
    )
    line.spark.sql("insert into db.source values (1, 'one', named_struct('A', 1, 'B', null), date'2024-05-06')")
    table = line.table("source")
    assert [c["name"] for c in table["columns"]] == ["Id", "Name", "s", "d"]
    assert table["columns"][0]["comment"] == "the key"
    fields = table["columns"][2]["type"]["fields"]
    assert [(f["name"], f["type"]) for f in fields] == [("A", "integer"), ("B", "timestamp")]
    assert table["partitioning"] == [{"strategy": "identity", "fieldName": ["d"]}]
    assert table["distribution"]["number"] == 2
    assert line.raw("source").parameters.items() <= table["properties"].items()


@pytest.mark.parametrize("file_format", ["PARQUET", "ORC", "TEXTFILE"])
def test_spark_writes_tables_made_here(line: Line, file_format: str) -> None:
    name = f"ours_{file_format.lower()}"
    columns = [
        {"name": "id", "type": "bigint", "comment": "key"},
        {"name": "name", "type": "varchar(10)"},
        {"name": "tags", "type": "array<int>"},
        {"name": "dt", "type": "date"},
    ]
    body = {
        "name": name,
        "comment": "made here",
        "columns": columns,
        "properties": {"format": file_format, "k": "v"},
        "partitioning": [{"strategy": "identity", "fieldName": ["dt"]}],
    }
    made = line.server.ok("POST", f"{line.schemas}/db/tables", body)["table"]
    assert made["properties"]["format"] == file_format
    line.spark.sql(f"insert into db.{name} partition (dt=date'2024-01-01') values (1, 'one', array(1, 2))")
    line.spark.sql(f"insert into db.{name} partition (dt=date'2024-01-02') values (2, null, null)")
    rows = line.spark.rows(f"select id, name, tags, cast(dt as string) from db.{name} order by id")
    assert rows == [[1, "one", [1, 2], "2024-01-01"], [2, None, None, "2024-01-02"]]
    assert [p["name"] for p in line.partitions(name)] == ["dt=2024-01-01", "dt=2024-01-02"]
    path = f"{line.schemas}/db/tables/{name}/partitions"
    value = {"type": "literal", "dataType": "date", "value": "2030-01-01"}
    new = {"type": "identity", "fieldNames": [["dt"]], "values": [value]}
    added = line.server.ok("POST", path, {"partitions": [new]})["partitions"]
    assert added == line.partitions(name)[-1:], "the answer is what the Metastore has made of it"
    line.spark.sql(f"insert into db.{name} partition (dt=date'2030-01-01') values (3, 'three', null)")
    assert line.spark.rows(f"select id from db.{name} where dt = date'2030-01-01'") == [[3]]
    described = {r[0]: r[1] for r in line.spark.rows(f"describe extended db.{name}")}
    assert described["Comment"] == "made here"


def test_spark_writes_buckets_made_here(line: Line) -> None:
    body = {
        "name": "ours_bucketed",
        "columns": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}],
        "properties": {"format": "ORC"},
        "distribution": {"strategy": "hash", "number": 2, "funcArgs": [{"type": "field", "fieldName": ["id"]}]},
        "sortOrders": [{"sortTerm": {"type": "field", "fieldName": ["name"]}}],
    }
    line.server.ok("POST", f"{line.schemas}/db/tables", body)
    described = {r[0]: r[1] for r in line.spark.rows("describe extended db.ours_bucketed")}
    assert (described["Num Buckets"], described["Bucket Columns"]) == ("2", "[`id`]")
    assert described["Sort Columns"] == "[`name`]"
    line.spark.sql("insert into db.ours_bucketed values (1, 'b'), (2, 'a')")
    assert line.spark.rows("select * from db.ours_bucketed order by id") == [[1, "b"], [2, "a"]]


def test_a_new_column_is_there_for_spark(line: Line) -> None:
    line.spark.sql("create table db.grow_hive (id int) stored as parquet")
    line.spark.sql("create table db.grow_source (id int) using parquet")
    line.spark.sql("create table ice.db.grow_ice (id int) using iceberg")
    tables = {"grow_hive": "db", "grow_source": "db", "grow_ice": "ice.db"}
    for table, where in tables.items():
        line.spark.sql(f"insert into {where}.{table} values (1)")
        assert line.spark.rows(f"select * from {where}.{table}") == [[1]]
        changed = line.alter(table, {"@type": "addColumn", "fieldName": ["more"], "type": "string", "comment": "new"})
        assert [c["name"] for c in changed["columns"]] == ["id", "more"]
        assert line.spark.rows(f"select id, more from {where}.{table}") == [[1, None]]
        line.spark.sql(f"insert into {where}.{table} values (2, 'two')")
        assert line.spark.rows(f"select * from {where}.{table} order by id") == [[1, None], [2, "two"]]
    assert line.table("grow_ice")["properties"]["schema-source"] == "iceberg metadata"


def test_the_columns_of_spark_and_hive_stay_in_step(line: Line) -> None:
    """Spark drops its own schema with a warning when Hive's columns are others."""
    line.spark.sql("create table db.steps (Id int, Name string) stored as parquet")
    line.alter(
        "steps",
        {"@type": "renameColumn", "oldFieldName": ["name"], "newFieldName": "Title"},
        {"@type": "addColumn", "fieldName": ["at"], "type": "timestamp"},
        {"@type": "updateColumnComment", "fieldName": ["id"], "newComment": "the key"},
    )
    raw = line.raw("steps")
    assert [(c.name, c.type, c.comment) for c in raw.sd.cols] == [
        ("id", "int", "the key"), ("title", "string", None), ("at", "timestamp", None),
    ]  # fmt: skip
    assert '"name":"Title"' in raw.parameters["spark.sql.sources.schema"]
    assert [r[:2] for r in line.spark.rows("describe db.steps")] == [
        ["Id", "int"], ["Title", "string"], ["at", "timestamp"],
    ]  # fmt: skip


def test_iceberg_tables_of_both_sides(line: Line) -> None:
    body = {
        "name": "ours_ice",
        "columns": [{"name": "id", "type": "long"}, {"name": "at", "type": "timestamp_tz"}],
        "properties": {"table-format": "iceberg"},
        "partitioning": [{"strategy": "day", "fieldName": ["at"]}],
    }
    line.server.ok("POST", f"{line.schemas}/db/tables", body)
    line.spark.sql("insert into ice.db.ours_ice values (1, timestamp'2024-01-01 10:00:00')")
    assert line.spark.rows("select id from ice.db.ours_ice") == [[1]]
    table = line.table("ours_ice")
    assert table["partitioning"] == [{"strategy": "day", "fieldName": ["at"]}]
    assert table["properties"]["current-snapshot-id"] != "none"
    refused = line.server.call("GET", f"{line.schemas}/db/tables/ours_ice/partitions")
    assert refused.status == 405 and b"Iceberg" in refused.raw


def test_renamed_tables_keep_their_rows(line: Line) -> None:
    """The Metastore moves a managed table's folder, and Spark reads its own tables by a path in the SerDe."""
    line.spark.sql("create table db.move_source (id int, name string) using parquet")
    line.spark.sql("create table db.move_parts (id int, p string) using parquet partitioned by (p)")
    line.spark.sql("create table db.move_hive (id int) partitioned by (p string) stored as orc")
    line.spark.sql("insert into db.move_source values (1, 'x')")
    line.spark.sql("insert into db.move_parts values (1, 'x')")
    line.spark.sql("insert into db.move_hive partition (p='x') values (1)")
    for name in ("move_source", "move_parts", "move_hive"):
        assert line.alter(name, {"@type": "rename", "newName": f"{name}_2"})["name"] == f"{name}_2"
        assert line.spark.rows(f"select id from db.{name}_2") == [[1]]
        values = "partition (p='y') values (2)" if name == "move_hive" else "values (2, 'y')"
        line.spark.sql(f"insert into db.{name}_2 {values}")
        assert line.spark.rows(f"select id from db.{name}_2 order by id") == [[1], [2]]
        raw = line.raw(f"{name}_2")
        path = raw.sd.serdeInfo.parameters.get("path")
        assert path is None or path == raw.sd.location
