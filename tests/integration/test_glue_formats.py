"""One Glue database with tables of every format, made by real engines with real files on S3."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hive_metastore import ttypes
from pyiceberg.catalog.glue import GlueCatalog

from tests import servers
from tests.engines import spark
from tests.engines.spark import SparkSession
from tests.harness import Server, running

CATALOGS = "/api/metalakes/lake/catalogs"
# What Spark makes in a Hive Metastore, and how the filter calls it.
BY_SPARK = {
    "h_text": ("(id int, name string) row format delimited fields terminated by ','", "hive"),
    "h_parquet": ("(id int, name string) partitioned by (p string) stored as parquet", "parquet"),
    "h_orc": ("(id int, name string) stored as orc", "orc"),
    "s_parquet": ("(Id int, Name string) using parquet", "parquet"),
    "s_csv": ("(id int, name string) using csv", "csv"),
    "s_json": ("(id int, name string) using json", "json"),
    "d_spark": ("(id int, name string) using delta", "delta"),
    "u_spark": ("(id int, name string) using hudi tblproperties (primaryKey = 'id')", "hudi"),
}
DELTA_BY_TRINO = {
    "Name": "d_trino",
    "Owner": "admin",
    "StorageDescriptor": {
        "Columns": [{"Name": "col", "Type": "array<string>", "Parameters": {}}],
        "InputFormat": "org.apache.hadoop.mapred.SequenceFileInputFormat",
        "OutputFormat": "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
        "SerdeInfo": {
            "SerializationLibrary": "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
            "Parameters": {"path": "s3://lake/db/d_spark"},
        },
        "Location": "s3://lake/db/d_spark",
        "Parameters": {},
    },
    "PartitionKeys": [],
    "TableType": "MANAGED_TABLE",
    "Parameters": {"location": "s3://lake/db/d_spark", "spark.sql.sources.provider": "DELTA", "numFiles": "-1"},
}
VIEW_BY_TRINO = {
    "Name": "a_view",
    "Owner": "admin",
    "ViewOriginalText": "/* Presto View: e30= */",
    "ViewExpandedText": "/* Presto View */",
    "TableType": "VIRTUAL_VIEW",
    "Parameters": {"presto_view": "true", "comment": "Presto View"},
}
ICEBERG = {"i_pyiceberg", "i_spark"}
ALL = {*BY_SPARK, *ICEBERG, "d_trino"}
KIND = (
    {name: kind for name, (_, kind) in BY_SPARK.items()} | {name: "iceberg" for name in ICEBERG} | {"d_trino": "delta"}
)


class Lake(msgspec.Struct):
    """Glue with its database `db`, and Headwater over it."""

    aws: servers.AwsServer
    server: Server
    spark: SparkSession
    glue: Any
    iceberg: GlueCatalog

    def entry(self, name: str) -> dict[str, Any]:
        """The whole entry as Glue answers it, without what every write changes."""
        found = self.glue.get_table(DatabaseName="db", Name=name)["Table"]
        return {k: v for k, v in found.items() if k not in ("UpdateTime", "VersionId", "IsRegisteredWithLakeFormation")}

    def tables(self, catalog: str = "all") -> str:
        return f"{CATALOGS}/{catalog}/schemas/db/tables"

    def names(self, catalog: str) -> set[str]:
        return {i["name"] for i in self.server.ok("GET", self.tables(catalog))["identifiers"]}

    def load(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.server.ok("GET", f"{self.tables()}/{name}")["table"]
        return found

    def alter(self, name: str, *updates: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.server.ok("PUT", f"{self.tables()}/{name}", {"updates": updates})["table"]
        return found


def differences(before: Any, after: Any, path: str = "") -> set[str]:
    """The paths at which two answers differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = before.keys() | after.keys()
        return set().union(*(differences(before.get(k), after.get(k), f"{path}.{k}".strip(".")) for k in keys))
    return set() if before == after else {path}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = Path(tmp_path_factory.mktemp("formats"))
    with contextlib.ExitStack() as stack:
        aws = stack.enter_context(servers.aws())
        aws.create_bucket("lake")
        aws.client("glue").create_database(DatabaseInput={"Name": "db", "LocationUri": "s3://lake/db"})
        hms = stack.enter_context(servers.hms31())
        session = stack.enter_context(spark_on(aws, hms))
        fill(aws, hms, session)
        catalog = with_pyiceberg(aws)
        server = stack.enter_context(running(folder / "data", env=aws.credentials))
        server.ok("POST", "/api/metalakes", {"name": "lake"})
        for kind in ("all", "hive", "parquet", "orc", "csv", "json", "iceberg", "delta", "hudi", "delta,hudi"):
            properties = {"aws-region": aws.region, "aws-glue-catalog-id": "123456789012", "table-type-filter": kind}
            properties |= {"s3-path-style-access": "true"}
            body = {"name": kind.replace(",", "_"), "provider": "glue", "properties": properties}
            server.ok("POST", CATALOGS, body)
        yield Lake(aws, server, session, aws.client("glue"), catalog)


def spark_on(aws: servers.AwsServer, hms: servers.HiveMetastore) -> Any:
    conf = {
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
        "spark.sql.catalog.ice.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "spark.sql.catalog.ice.warehouse": "s3://lake/spark",
        "spark.sql.catalog.ice.glue.endpoint": aws.uri,
        "spark.sql.catalog.ice.s3.endpoint": aws.uri,
        "spark.sql.catalog.ice.s3.path-style-access": "true",
        "spark.sql.catalog.ice.client.region": aws.region,
        "spark.sql.catalog.ice.cache-enabled": "false",
    }
    return spark("3.5", packages=("iceberg", "iceberg-aws", "delta", "hudi"), hive=hms, aws=aws, conf=conf)


def fill(aws: servers.AwsServer, hms: servers.HiveMetastore, session: SparkSession) -> None:
    """Spark's tables with their files and the entries that Spark records; Trino's as Trino records them."""
    glue, s3 = aws.client("glue"), aws.client("s3")
    session.sql("create database db")
    for name, (definition, _) in BY_SPARK.items():
        session.sql(f"create table db.{name} {definition}")
        where = " partition (p='x')" if "partitioned" in definition else ""
        session.sql(f"insert into db.{name}{where} values (1, 'one'), (2, 'two')")
        raw = raw_entry(hms, name)
        folder = Path(raw.sd.location.removeprefix("file:"))
        for file in (f for f in folder.rglob("*") if f.is_file()):
            s3.upload_file(str(file), "lake", f"db/{name}/{file.relative_to(folder)}")
        glue.create_table(DatabaseName="db", TableInput=table_input(raw, f"s3://lake/db/{name}"))
    for entry in (DELTA_BY_TRINO, VIEW_BY_TRINO):
        glue.create_table(DatabaseName="db", TableInput=entry)
    session.sql("create table ice.db.i_spark (id int, at timestamp) using iceberg partitioned by (days(at))")
    session.sql("insert into ice.db.i_spark values (1, timestamp'2024-01-01 00:00:00')")


def raw_entry(hms: servers.HiveMetastore, name: str) -> Any:
    wanted = ttypes.GetTableRequest(dbName="db", tblName=name, capabilities=ttypes.ClientCapabilities([]))
    with hms.client() as client:
        return client.get_table_req(wanted).table


def table_input(raw: Any, location: str) -> dict[str, Any]:
    """As the Glue client of Hive turns a Metastore's table into Glue's."""

    def columns(fields: Any) -> list[dict[str, Any]]:
        return [{"Name": f.name, "Type": f.type, **({"Comment": f.comment} if f.comment else {})} for f in fields]

    sd = raw.sd
    serde = {k: location if k == "path" else v for k, v in sd.serdeInfo.parameters.items()}
    return {
        "Name": raw.tableName,
        "Owner": raw.owner,
        "Retention": 7,
        "StorageDescriptor": {
            "Columns": columns(sd.cols),
            "Location": location,
            "InputFormat": sd.inputFormat,
            "OutputFormat": sd.outputFormat,
            "SerdeInfo": {"SerializationLibrary": sd.serdeInfo.serializationLib, "Parameters": serde},
            "BucketColumns": [],
            "SortColumns": [],
            "Parameters": {},
            "SkewedInfo": {"SkewedColumnNames": [], "SkewedColumnValues": [], "SkewedColumnValueLocationMaps": {}},
            "StoredAsSubDirectories": False,
        },
        "PartitionKeys": columns(raw.partitionKeys),
        "TableType": raw.tableType,
        "Parameters": dict(raw.parameters),
    }


def with_pyiceberg(aws: servers.AwsServer) -> GlueCatalog:
    settings = {"s3.endpoint": aws.uri, "s3.region": aws.region, "s3.force-virtual-addressing": "false"}
    keys = {"s3.access-key-id": aws.access_key_id, "s3.secret-access-key": aws.secret_access_key}
    catalog = GlueCatalog("g", client=aws.client("glue"), **settings, **keys)
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["one", "two"]})
    table = catalog.create_table("db.i_pyiceberg", rows.schema, location="s3://lake/db/i_pyiceberg")
    table.append(rows)
    return catalog


def test_everything_is_listed_and_each_kind_by_its_filter(lake: Lake) -> None:
    assert lake.names("all") == ALL
    for kind in ("parquet", "orc", "csv", "json", "iceberg", "delta", "hudi"):
        assert lake.names(kind) == {name for name, own in KIND.items() if own == kind}
    assert lake.names("hive") == {name for name in ALL if name.startswith(("h_", "s_"))}
    assert lake.names("delta_hudi") == {"d_spark", "d_trino", "u_spark"}
    for kind, hidden in (("iceberg", "h_text"), ("hive", "d_spark"), ("all", "a_view")):
        assert lake.server.call("GET", f"{lake.tables(kind)}/{hidden}").status == 404


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_table_is_loaded_whole_and_unharmed(lake: Lake, name: str) -> None:
    before = lake.entry(name)
    table = lake.load(name)
    assert before["Parameters"].items() <= table["properties"].items(), "every parameter passes through"
    assert table["properties"]["table-format"] == (KIND[name] if KIND[name] in ("iceberg", "delta", "hudi") else "hive")
    assert table["properties"]["location"] == before["StorageDescriptor"]["Location"]
    columns = {c["name"].lower(): c["type"] for c in table["columns"]}
    if name in ("d_trino", "d_spark"):
        assert columns == {} and "stand-in" in table["properties"]["schema-source"]
    else:
        assert columns["id"] == ("long" if name == "i_pyiceberg" else "integer")
    if name in ICEBERG:
        assert table["properties"]["schema-source"] == "iceberg metadata"
    assert differences(before, lake.entry(name)) == set(), "a load changes nothing"


@pytest.mark.parametrize("name", sorted(ALL))
def test_an_alter_changes_what_it_says_and_nothing_else(lake: Lake, name: str) -> None:
    pointer = {"Parameters.metadata_location", "Parameters.previous_metadata_location"} if name in ICEBERG else set()
    before = lake.entry(name)
    assert lake.alter(name, {"@type": "updateComment", "newComment": "another"})["comment"] == "another"
    commented = lake.entry(name)
    assert differences(before, commented) == {"Description"} | pointer
    changed = lake.alter(name, {"@type": "setProperty", "property": "k", "value": "v"})
    assert changed["properties"]["k"] == "v"
    with_property = lake.entry(name)
    assert differences(commented, with_property) == (pointer or {"Parameters.k"})
    column = {"@type": "addColumn", "fieldName": ["more"], "type": "double", "comment": "new"}
    if KIND[name] in ("delta", "hudi"):
        refused = lake.server.call("PUT", f"{lake.tables()}/{name}", {"updates": [column]})
        assert refused.status == 405 and KIND[name].encode() in refused.raw
        assert differences(with_property, lake.entry(name)) == set()
        return
    assert "more" in [c["name"] for c in lake.alter(name, column)["columns"]]
    with_column = lake.entry(name)
    expected = pointer | {f"Parameters.{k}" for k in before["Parameters"] if k == "spark.sql.sources.schema"}
    if before["StorageDescriptor"]["Columns"][0]["Name"] != "col":  # a stand-in for columns that only Spark knows
        expected |= {"StorageDescriptor.Columns"}
    assert differences(with_property, with_column) == expected
    kept = [c for c in with_column["StorageDescriptor"]["Columns"] if c["Name"] != "more"]
    assert kept == before["StorageDescriptor"]["Columns"]


def test_an_iceberg_table_made_here_is_appended_to_by_engines(lake: Lake) -> None:
    columns = [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]
    body = {"name": "i_ours", "columns": columns, "properties": {"write.metadata.compression-codec": "none"}}
    made = lake.server.ok("POST", lake.tables(), body)["table"]
    assert made["properties"]["table_type"] == "ICEBERG"
    first = made["properties"]["metadata_location"]
    rows = pa.table({"id": pa.array([1], pa.int64()), "name": ["by pyiceberg"]})
    lake.iceberg.load_table("db.i_ours").append(rows)
    seen = lake.load("i_ours")["properties"]
    assert seen["previous_metadata_location"] == first and seen["current-snapshot-id"] != "none"
    lake.spark.sql("insert into ice.db.i_ours values (2, 'by spark')")
    again = lake.load("i_ours")["properties"]
    assert again["current-snapshot-id"] != seen["current-snapshot-id"]
    assert lake.spark.rows("select * from ice.db.i_ours order by id") == [[1, "by pyiceberg"], [2, "by spark"]]
    assert lake.iceberg.load_table("db.i_ours").scan().to_arrow().num_rows == 2
    lake.alter("i_ours", {"@type": "addColumn", "fieldName": ["more"], "type": "int"})
    assert lake.spark.rows("select id, more from ice.db.i_ours order by id") == [[1, None], [2, None]]
    assert lake.iceberg.load_table("db.i_ours").scan().to_arrow().column_names == ["id", "name", "more"]


def test_a_database_with_hidden_entries_is_not_dropped(lake: Lake) -> None:
    glue = lake.glue
    schemas = f"{CATALOGS}/all/schemas"
    for database, entries in (("views", [VIEW_BY_TRINO]), ("mixed", [VIEW_BY_TRINO, DELTA_BY_TRINO])):
        glue.create_database(DatabaseInput={"Name": database})
        for entry in entries:
            glue.create_table(DatabaseName=database, TableInput=entry)
    refused = lake.server.call("DELETE", f"{schemas}/views")
    assert refused.status == 409 and refused.json["type"] == "NonEmptySchemaException"
    assert "1 views" in refused.json["message"]
    only_iceberg = f"{CATALOGS}/iceberg/schemas"
    for query in ("", "?cascade=true"):
        refused = lake.server.call("DELETE", f"{only_iceberg}/mixed{query}")
        assert refused.status == 409, query
    assert "filter" in refused.json["message"]
    assert len(glue.get_tables(DatabaseName="mixed")["TableList"]) == 2
    assert lake.server.ok("DELETE", f"{schemas}/mixed?cascade=true")["dropped"] is True
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.get_database(Name="mixed")
    audit = "".join(f.read_text() for f in lake.server.data.rglob("audit*") if f.is_file())
    assert "mixed.d_trino" in audit and "mixed.a_view" in audit
