"""What goes wrong with metastores: each gives a clear error or a right result, and never a 500."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hive_metastore import ttypes

from tests import servers
from tests.harness import Answer, Server, running

CATALOGS = "/api/metalakes/lake/catalogs"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def aws() -> Iterator[servers.AwsServer]:
    with servers.aws() as started:
        started.create_bucket("lake")
        yield started


@pytest.fixture(scope="module")
def hms() -> Iterator[servers.HiveMetastore]:
    with servers.hms31() as started:
        yield started


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, aws: servers.AwsServer) -> Iterator[Server]:
    folder = Path(tmp_path_factory.mktemp("faults"))
    config = folder / "c.toml"
    config.write_text("[catalogs]\ntimeout = 10\n")
    env = {k: v for k, v in aws.credentials.items() if "ENDPOINT" not in k}
    with running(folder / "data", "--config", str(config), env=env) as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
        yield server


def make(lake: Server, name: str, provider: str, properties: dict[str, str]) -> str:
    lake.ok("POST", CATALOGS, {"name": name, "provider": provider, "properties": properties})
    return f"{CATALOGS}/{name}/schemas"


def tried(lake: Server, provider: str, properties: dict[str, str]) -> Answer:
    return lake.call(
        "POST", f"{CATALOGS}/testConnection", {"name": "x", "provider": provider, "properties": properties}
    )


def glue(aws: servers.AwsServer, **more: str) -> dict[str, str]:
    own = {"aws-region": aws.region, "aws-glue-catalog-id": "123456789012", "aws-glue-endpoint": aws.uri}
    return (
        own
        | {"s3-endpoint": aws.uri, "s3-path-style-access": "true"}
        | {k.replace("_", "-"): v for k, v in more.items()}
    )


# --- properties ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "properties", "named"),
    [
        ("hive", {}, "metastore.uris"),
        ("hive", {"metastore.uris": "host:9083"}, "thrift://host:9083"),
        ("hive", {"metastore.uris": "thrift://host:99999"}, "metastore.uris"),
        ("hive", {"metastore.uris": "thrift://a:1,thrift://"}, "metastore.uris"),
        ("hive", {"metastore.uris": "thrift://a:1", "metastore-type": "nessie"}, "metastore-type"),
        ("hive", {"metastore.uris": "thrift://a:1", "kerberos.principal": "p"}, "kerberos.principal"),
        ("hive", {"metastore.uris": "thrift://a:1", "impersonation-enable": "true"}, "impersonation-enable"),
        ("hive", {"metastore.uris": "thrift://a:1", "authentication.type": "kerberos"}, "authentication.type"),
        ("hive", {"metastore.uris": "thrift://a:1", "client.pool-size": "0"}, "client.pool-size"),
        ("hive", {"metastore.uris": "thrift://a:1", "aws-glue-catalog-id": "1"}, "aws-glue-catalog-id"),
        ("hive", {"metastore-type": "glue", "metastore.uris": "thrift://a:1"}, "metastore.uris"),
        ("hive", {"metastore.uris": "thrift://a:1", "list-all-tables": "maybe"}, "list-all-tables"),
        ("glue", {"aws-region": "us-east-1"}, "aws-glue-catalog-id"),
        ("glue", {"aws-region": "us-east-1", "aws-glue-catalog-id": "1", "table-type-filter": "icebreg"}, "icebreg"),
        (
            "glue",
            {"aws-region": "us-east-1", "aws-glue-catalog-id": "1", "table-type-filter": " , "},
            "table-type-filter",
        ),
        (
            "glue",
            {"aws-region": "x", "aws-glue-catalog-id": "1", "table-type-filter": "hive", "table-format-filter": "orc"},
            "contradict",
        ),
        (
            "glue",
            {"aws-region": "x", "aws-glue-catalog-id": "1", "default-table-format": "delta"},
            "default-table-format",
        ),
        ("glue", {"aws-region": "x", "aws-glue-catalog-id": "1", "aws-access-key-id": "k"}, "aws-secret-access-key"),
    ],
)
def test_bad_properties_are_named(lake: Server, provider: str, properties: dict[str, str], named: str) -> None:
    answer = lake.call("POST", CATALOGS, {"name": "bad", "provider": provider, "properties": properties})
    assert answer.status == 400, answer
    assert named in answer.json["message"]
    assert lake.call("GET", f"{CATALOGS}/bad").status == 404


# --- connections -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "cause"),
    [
        ({"aws_glue_endpoint": NOWHERE}, "127.0.0.1:9"),
        ({"aws_glue_endpoint": "http://glue.nowhere.invalid"}, "glue.nowhere.invalid"),
        ({"aws_glue_catalog_id": "999999999999"}, "999999999999"),
        ({"aws_profile": "nobody"}, "nobody"),
    ],
)
def test_glue_that_can_not_be_reached(
    lake: Server, aws: servers.AwsServer, properties: dict[str, str], cause: str
) -> None:
    answer = tried(lake, "glue", glue(aws, **properties))
    assert answer.status == 200 and answer.json["code"] in (1001, 1007), answer
    assert cause in answer.json["message"]


def test_a_region_that_is_none(lake: Server) -> None:
    answer = tried(lake, "glue", {"aws-region": "mars-east-9", "aws-glue-catalog-id": "123456789012"})
    assert answer.status == 200 and answer.json["code"] == 1007, answer
    assert "mars-east-9" in answer.json["message"]


def test_wrong_credentials_of_glue(lake: Server, aws: servers.AwsServer) -> None:
    for refusal in ("UnrecognizedClientException", "AccessDeniedException", "ExpiredTokenException"):
        aws.fail("GetDatabases", refusal, times=1)
        answer = tried(lake, "glue", glue(aws))
        assert answer.status == 200 and answer.json["code"] == 1007, answer
        assert refusal.removesuffix("Exception") in answer.json["message"] or "refused" in answer.json["message"]


def test_throttling_ends_as_a_503(lake: Server, aws: servers.AwsServer) -> None:
    schemas = make(lake, "throttled", "glue", glue(aws))
    aws.throttle("GetDatabases", times=2)
    assert lake.call("GET", schemas).status == 200, "a little of it is waited out"
    aws.throttle("GetDatabases", times=3)
    answer = lake.call("GET", schemas)
    assert answer.status == 503 and answer.headers["Retry-After"], answer


def test_a_metastore_that_is_down_and_comes_back(lake: Server, hms: servers.HiveMetastore) -> None:
    schemas = make(lake, "restarted", "hive", {"metastore.uris": hms.uri})
    lake.ok("POST", schemas, {"name": "down"})
    table = {"name": "t", "columns": [{"name": "id", "type": "int"}]}
    lake.ok("POST", f"{schemas}/down/tables", table)
    hms.stop()
    for answer in (
        lake.call("GET", f"{schemas}/down/tables/t"),
        lake.call("PUT", f"{schemas}/down/tables/t", {"updates": [{"@type": "updateComment", "newComment": "x"}]}),
    ):
        assert answer.status == 502 and str(hms.port) in answer.json["message"], answer
    answer = tried(lake, "hive", {"metastore.uris": hms.uri})
    assert answer.json["code"] == 1007 and "refused" in answer.json["message"].lower()
    hms.start()
    assert lake.ok("GET", f"{schemas}/down/tables/t")["table"]["name"] == "t"
    lake.ok("DELETE", f"{schemas}/down?cascade=true")


def test_a_restart_under_load_loses_nothing(lake: Server, hms: servers.HiveMetastore) -> None:
    schemas = make(lake, "busy", "hive", {"metastore.uris": hms.uri})
    lake.ok("POST", schemas, {"name": "load"})
    lake.ok("POST", f"{schemas}/load/tables", {"name": "t", "columns": [{"name": "id", "type": "int"}]})
    seen: list[Answer] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.append(lake.call("GET", f"{schemas}/load/tables/t"))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    time.sleep(0.5)
    hms.kill()
    time.sleep(0.5)
    hms.start()
    time.sleep(1)
    stop.set()
    for reader in readers:
        reader.join()
    assert {a.status for a in seen} <= {200, 502, 503, 504}
    assert seen[-1].status == 200
    assert lake.ok("GET", f"{schemas}/load/tables/t")["table"]["name"] == "t"


def test_the_second_address_answers_for_the_first(lake: Server, hms: servers.HiveMetastore) -> None:
    uris = f"thrift://127.0.0.1:9,thrift://no.such.host.invalid:9083, {hms.uri}"
    schemas = make(lake, "failover", "hive", {"metastore.uris": uris})
    assert "default" in [i["name"] for i in lake.ok("GET", schemas)["identifiers"]]
    begun = time.monotonic()
    for _ in range(20):
        lake.ok("GET", schemas)
    assert time.monotonic() - begun < 10, "the dead ones are not asked again and again"


def test_a_metastore_that_hangs(lake: Server) -> None:
    with servers.hanging() as silent:
        port = silent.uri.rpartition(":")[2]
        answer = tried(lake, "hive", {"metastore.uris": f"thrift://127.0.0.1:{port}"})
    assert answer.json["code"] == 1007 or answer.status == 504, answer


# --- entries ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def odd(lake: Server, aws: servers.AwsServer) -> str:
    """A schema of Glue with odd entries in it."""
    client: Any = aws.client("glue")
    client.create_database(DatabaseInput={"Name": "odd"})
    nested = ",".join(f"f{n}:array<map<string,struct<a:int,b:decimal(10,{n % 5})>>>" for n in range(50))
    wide = [{"Name": f"c{n}", "Type": f"struct<{nested}>" if n % 30 == 0 else "string"} for n in range(300)]
    broken = {"Columns": [{"Name": "id", "Type": "int"}], "Location": "s3://lake/x"}
    serde = {"SerializationLibrary": "com.example.OwnSerDe", "Parameters": {"a": "b"}}
    iceberg = {"table_type": "ICEBERG", "metadata_location": "s3://lake/corrupt.metadata.json"}
    aws.client("s3").put_object(Bucket="lake", Key="corrupt.metadata.json", Body=b'{"format-version": 2, "sch')
    odd_columns = [{"Name": "a", "Type": "struct<"}, {"Name": "b", "Type": ""}, {"Name": "c"}]
    for entry in (
        {"Name": "wide", "StorageDescriptor": {"Columns": wide}},
        {"Name": "own_serde", "StorageDescriptor": {**broken, "SerdeInfo": serde, "InputFormat": "com.example.In"}},
        {"Name": "corrupt", "TableType": "EXTERNAL_TABLE", "Parameters": iceberg, "StorageDescriptor": broken},
        {"Name": "gone", "Parameters": {**iceberg, "metadata_location": "s3://lake/none.json"}},
        {"Name": "no_pointer", "Parameters": {"table_type": "iceberg"}},
        {"Name": "odd_types", "StorageDescriptor": {"Columns": odd_columns}},
        {"Name": "dots.and-more $1"},
        {"Name": "nothing"},
    ):  # fmt: skip
        client.create_table(DatabaseName="odd", TableInput=entry)
    return make(lake, "odd", "glue", glue(aws)) + "/odd/tables"


def test_odd_entries_are_all_served(lake: Server, odd: str) -> None:
    names = [i["name"] for i in lake.ok("GET", odd)["identifiers"]]
    assert len(names) == 8
    wide = lake.ok("GET", f"{odd}/wide")["table"]
    assert len(wide["columns"]) == 300
    assert len(wide["columns"][0]["type"]["fields"]) == 50
    own = lake.ok("GET", f"{odd}/own_serde")["table"]["properties"]
    assert (own["serde-lib"], own["serde.parameter.a"]) == ("com.example.OwnSerDe", "b") and "format" not in own
    types = [c["type"] for c in lake.ok("GET", f"{odd}/odd_types")["table"]["columns"]]
    assert types[0] == {"type": "external", "catalogString": "struct<"}
    assert lake.ok("GET", f"{odd}/dots.and-more%20%241")["table"]["columns"] == []
    assert lake.ok("GET", f"{odd}/nothing")["table"]["columns"] == []


def test_a_wide_and_nested_table_in_a_metastore(lake: Server, hms: servers.HiveMetastore) -> None:
    tables = make(lake, "wide_hive", "hive", {"metastore.uris": hms.uri}) + "/default/tables"
    nested = ",".join(f"f{n}:array<map<string,struct<a:int,b:decimal(10,{n % 5})>>>" for n in range(50))
    columns = [{"name": f"c{n}", "type": f"struct<{nested}>" if n % 30 == 0 else "string"} for n in range(300)]
    made = lake.ok("POST", tables, {"name": "wide", "columns": columns})["table"]
    assert len(made["columns"]) == 300 and len(made["columns"][270]["type"]["fields"]) == 50
    add = {"@type": "addColumn", "fieldName": ["last"], "type": f"struct<{nested}>", "position": "first"}
    refused = lake.call("PUT", f"{tables}/wide", {"updates": [add]})
    assert refused.status == 400 and "position" in refused.json["message"], "the Metastore guards types by position"
    changed = lake.ok("PUT", f"{tables}/wide", {"updates": [{**add, "position": None}]})["table"]
    assert [c["name"] for c in changed["columns"]][-1] == "last"
    lake.ok("DELETE", f"{tables}/wide")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("corrupt", "can't be read"), ("gone", "can't be read"), ("no_pointer", "no metadata_location")],
)
def test_unreadable_iceberg_tables_say_so(lake: Server, odd: str, name: str, reason: str) -> None:
    table = lake.ok("GET", f"{odd}/{name}")["table"]
    assert table["properties"]["schema-source"].startswith("metastore: ")
    assert reason in table["properties"]["schema-source"]
    change = {"@type": "addColumn", "fieldName": ["x"], "type": "int"}
    refused = lake.call("PUT", f"{odd}/{name}", {"updates": [change]})
    assert refused.status in (405, 502), refused
    purged = lake.call("DELETE", f"{odd}/{name}?purge=true")
    assert purged.status == 200, "Glue's purge is a drop"


def test_names_in_upper_case(lake: Server, hms: servers.HiveMetastore) -> None:
    schemas = make(lake, "upper", "hive", {"metastore.uris": hms.uri})
    made = lake.ok("POST", schemas, {"name": "Sales"})["schema"]
    assert made["name"] == "sales"
    body = {"name": "Orders", "columns": [{"name": "Id", "type": "int"}]}
    assert lake.ok("POST", f"{schemas}/SALES/tables", body)["table"]["name"] == "orders"
    assert lake.call("POST", f"{schemas}/sales/tables", {**body, "name": "ORDERS"}).status == 409
    assert lake.ok("GET", f"{schemas}/Sales/tables/oRDERS")["table"]["columns"][0]["name"] == "id"
    renamed = lake.ok("PUT", f"{schemas}/sales/tables/Orders", {"updates": [{"@type": "rename", "newName": "Other"}]})
    assert renamed["table"]["name"] == "other"
    assert renamed["table"]["audit"]["creator"] == "anonymous"
    for bad in ("a.b", "a b", "ä"):
        refused = lake.call("POST", f"{schemas}/sales/tables", {**body, "name": bad})
        assert refused.status == 400 and "name" in refused.json["message"], bad
    assert lake.call("GET", f"{schemas}/sales/tables/a.b").status == 404
    assert lake.call("GET", f"{schemas}/sa*/tables").status == 404
    assert lake.ok("DELETE", f"{schemas}/SALES?cascade=true")["dropped"] is True


COLUMNS = [{"name": "a", "type": "int"}]
BAD_TABLES: list[tuple[dict[str, Any], str]] = [
    ({"columns": [{"name": "a", "type": "uuid"}]}, "columns[0].type"),
    ({"columns": [{"name": "a", "type": "int", "nullable": False}]}, "columns[0].nullable"),
    ({"properties": {"format": "EXCEL"}}, "EXCEL"),
    ({"properties": {"table_type": "delta"}}, "table_type"),
    ({"properties": {"table-type": "VIRTUAL_VIEW"}}, "table-type"),
    ({"properties": {"table_type": "iceberg", "table-format": "hive"}}, "contradict"),
    ({"properties": {"external-table": "true", "managed-table": "true"}}, "contradict"),
    ({"partitioning": [{"strategy": "day", "fieldName": ["a"]}]}, "partitioning[0]"),
    (
        {
            "columns": [{"name": "p", "type": "int"}, {"name": "a", "type": "int"}],
            "partitioning": [{"strategy": "identity", "fieldName": ["p"]}],
        },
        "last",
    ),
    ({"distribution": {"strategy": "range", "number": 2, "funcArgs": []}}, "distribution"),
    ({"indexes": [{"indexType": "PRIMARY_KEY", "fieldNames": [["a"]]}]}, "indexes"),
]


@pytest.mark.parametrize(("body", "named"), BAD_TABLES)
def test_bad_hive_tables_are_refused_by_name(
    lake: Server, hms: servers.HiveMetastore, body: dict[str, Any], named: str
) -> None:
    with contextlib.suppress(AssertionError):
        make(lake, "bad_tables", "hive", {"metastore.uris": hms.uri})
    tables = f"{CATALOGS}/bad_tables/schemas/default/tables"
    answer = lake.call("POST", tables, {"name": "t", "columns": COLUMNS, **body})
    assert answer.status == 400, answer
    assert named in answer.json["message"]
    assert lake.ok("GET", tables)["identifiers"] == []


def test_a_cascade_that_can_not_end_does_not_begin(lake: Server, hms: servers.HiveMetastore) -> None:
    schemas = make(lake, "whole", "hive", {"metastore.uris": hms.uri})
    body = {"name": "kept", "columns": COLUMNS}
    lake.ok("POST", f"{schemas}/default/tables", body)
    refused = lake.call("DELETE", f"{schemas}/default?cascade=true")
    assert refused.status == 405 and "default" in refused.json["message"]
    lake.ok("POST", schemas, {"name": "functions"})
    lake.ok("POST", f"{schemas}/functions/tables", body)
    with hms.client() as client:
        client.create_function(
            ttypes.Function(
                functionName="f",
                dbName="functions",
                className="x.Y",
                ownerName="o",
                ownerType=1,
                createTime=1,
                functionType=ttypes.FunctionType.JAVA,
                resourceUris=[],
            )
        )
        refused = lake.call("DELETE", f"{schemas}/functions?cascade=true")
        assert refused.status == 409 and "f" in refused.json["message"]
        for schema in ("default", "functions"):
            assert lake.ok("GET", f"{schemas}/{schema}/tables/kept")
        client.drop_function("functions", "f")
    assert lake.ok("DELETE", f"{schemas}/functions?cascade=true")["dropped"] is True
    lake.ok("DELETE", f"{schemas}/default/tables/kept")


SPARK = "spark.sql.sources"
ODD_PARAMETERS = {
    "many_parts": {f"{SPARK}.provider": "parquet", f"{SPARK}.schema.numParts": "300000000"},
    "many_columns": {f"{SPARK}.provider": "parquet", f"{SPARK}.schema.numPartCols": "900000000"},
    "milliseconds": {"transient_lastDdlTime": "1795138516000"},
    "digits": {"transient_lastDdlTime": "9" * 30, f"{SPARK}.schema.numBuckets": "\u00b2"},
    "no_fields": {
        f"{SPARK}.provider": "orc",
        f"{SPARK}.schema": '{"type":"struct","fields":[{"name":"a","type":{"type":"array"},"metadata":[]}]}',
    },
    "no_type": {f"{SPARK}.provider": "orc", f"{SPARK}.schema": '{"type":"struct","fields":[{"name":"a","type":7}]}'},
    "no_json": {f"{SPARK}.provider": "orc", f"{SPARK}.schema": "{"},
}


@pytest.mark.parametrize("name", ODD_PARAMETERS)
def test_odd_parameters_of_others_are_served(lake: Server, hms: servers.HiveMetastore, name: str) -> None:
    with hms.client() as client:
        storage = ttypes.StorageDescriptor(
            cols=[ttypes.FieldSchema("id", "int")], serdeInfo=ttypes.SerDeInfo(parameters={}), parameters={}
        )
        table = ttypes.Table(
            tableName=name, dbName="default", sd=storage, partitionKeys=[], parameters=ODD_PARAMETERS[name],
            tableType="EXTERNAL_TABLE",
        )  # fmt: skip
        client.create_table(table)
    with contextlib.suppress(AssertionError):
        make(lake, "odd_hive", "hive", {"metastore.uris": hms.uri})
    tables = f"{CATALOGS}/odd_hive/schemas/default/tables"
    found = lake.ok("GET", f"{tables}/{name}")["table"]
    given = {k: v for k, v in ODD_PARAMETERS[name].items() if k != "transient_lastDdlTime"}
    assert given.items() <= found["properties"].items()
    lake.ok("PUT", f"{tables}/{name}", {"updates": [{"@type": "updateComment", "newComment": "x"}]})
    lake.ok("DELETE", f"{tables}/{name}")


def test_a_managed_table_owns_nobody_elses_folder(lake: Server, hms: servers.HiveMetastore) -> None:
    schemas = make(lake, "owned", "hive", {"metastore.uris": hms.uri})
    home = lake.ok("POST", schemas, {"name": "own"})["schema"]["properties"]["location"]
    tables = f"{schemas}/own/tables"
    key = [{"strategy": "identity", "fieldName": ["p"]}]
    columns = [*COLUMNS, {"name": "p", "type": "string"}]
    victim = lake.ok("POST", tables, {"name": "victim", "columns": columns, "partitioning": key})["table"]
    theirs = victim["properties"]["location"]
    for location in (home, "file:///", theirs, f"{theirs}/p=1", theirs.replace("file:/", "file:///")):
        refused = lake.call("POST", tables, {"name": "twin", "columns": COLUMNS, "properties": {"location": location}})
        assert refused.status == 400 and "belongs to" in refused.json["message"], location
    external = {"location": theirs, "table-type": "EXTERNAL_TABLE"}
    lake.ok("POST", tables, {"name": "looks_in", "columns": COLUMNS, "properties": external})
    lake.ok("DELETE", f"{tables}/looks_in")
    assert Path(theirs.removeprefix("file:")).is_dir()
    outside = {"type": "identity", "fieldNames": [["p"]], "properties": {"location": home},
               "values": [{"type": "literal", "dataType": "string", "value": "x"}]}  # fmt: skip
    refused = lake.call("POST", f"{tables}/victim/partitions", {"partitions": [outside]})
    assert refused.status == 400 and "outside" in refused.json["message"]
    for name in ("a/b", "s/b"):
        assert lake.call("POST", tables, {"name": name, "columns": COLUMNS}).status == 400
        assert lake.call("POST", schemas, {"name": name}).status == 400
    lake.ok("DELETE", f"{schemas}/own?cascade=true")


def test_no_property_disguises_a_table(lake: Server, aws: servers.AwsServer) -> None:
    client: Any = aws.client("glue")
    client.create_database(DatabaseInput={"Name": "disguise"})
    hive = make(lake, "only_hive", "glue", glue(aws, table_type_filter="hive")) + "/disguise/tables"
    properties = {"table-format": "hive", "location": "s3://lake/d"}
    lake.ok("POST", hive, {"name": "t", "columns": COLUMNS, "properties": properties})
    before = client.get_table(DatabaseName="disguise", Name="t")["Table"]
    for key, value in (("classification", "delta"), ("TABLE_TYPE", "iceberg"), ("Table-Format", "hudi")):
        change = {"updates": [{"@type": "setProperty", "property": key, "value": value}]}
        refused = lake.call("PUT", f"{hive}/t", change)
        assert refused.status == 400 and value in refused.json["message"], refused
        more = {**properties, key: value}
        assert lake.call("POST", hive, {"name": "u", "columns": COLUMNS, "properties": more}).status == 400
    assert client.get_table(DatabaseName="disguise", Name="t")["Table"] == before


def test_a_purge_that_would_delete_nothing_is_refused(
    lake: Server, aws: servers.AwsServer, hms: servers.HiveMetastore
) -> None:
    on_glue = {
        "metastore-type": "glue",
        "s3-region": aws.region,
        "aws-glue-endpoint": aws.uri,
        "warehouse": "s3://lake/w",
    }
    for name, properties in (("purge_hms", {"metastore.uris": hms.uri}), ("purge_glue", on_glue)):
        schemas = make(lake, name, "hive", properties)
        lake.ok("POST", schemas, {"name": "purges"})
        kind = {"table-type": "EXTERNAL_TABLE", "external.table.purge": "false"}
        lake.ok("POST", f"{schemas}/purges/tables", {"name": "t", "columns": COLUMNS, "properties": kind})
        refused = lake.call("DELETE", f"{schemas}/purges/tables/t?purge=true")
        assert refused.status == 405, refused
        assert lake.ok("GET", f"{schemas}/purges/tables/t")
        lake.ok("DELETE", f"{schemas}/purges?cascade=true")


@pytest.mark.parametrize(
    "body",
    [
        {"columns": [{"name": "a", "type": "int", "comment": "x" * 5000}]},
        {"columns": [{"name": "a" * 800, "type": "int"}]},
        {"columns": COLUMNS, "properties": {"k" * 300: "v"}},
        {"columns": COLUMNS, "properties": {"transactional": "true"}},
    ],
)
def test_what_the_metastore_refuses_is_bad_input(
    lake: Server, hms: servers.HiveMetastore, body: dict[str, Any]
) -> None:
    with contextlib.suppress(AssertionError):
        make(lake, "refused", "hive", {"metastore.uris": hms.uri})
    refused = lake.call("POST", f"{CATALOGS}/refused/schemas/default/tables", {"name": "t", **body})
    assert refused.status == 400 and "INSERT" not in refused.json["message"], refused


def test_partitions_of_other_keys_are_served(lake: Server, aws: servers.AwsServer) -> None:
    client: Any = aws.client("glue")
    client.create_database(DatabaseInput={"Name": "keys"})
    storage = {"Columns": [{"Name": "id", "Type": "int"}], "Location": "s3://lake/keys"}
    entry = {"Name": "t", "StorageDescriptor": storage, "PartitionKeys": [{"Name": "a", "Type": "int"}]}
    client.create_table(DatabaseName="keys", TableInput=entry)
    client.create_partition(DatabaseName="keys", TableName="t", PartitionInput={"Values": ["1"]})
    more = {**entry, "PartitionKeys": [*entry["PartitionKeys"], {"Name": "b", "Type": "int"}]}
    client.update_table(DatabaseName="keys", TableInput=more)
    partitions = make(lake, "keys", "glue", glue(aws)) + "/keys/tables/t/partitions"
    assert lake.ok("GET", partitions)["names"] == ["a=1"]
    assert [p["name"] for p in lake.ok("GET", f"{partitions}?details=true")["partitions"]] == ["a=1"]
    assert lake.call("GET", f"{partitions}/a=1%2Fb=").status == 404


def test_a_link_to_another_account_is_no_table_of_ours(lake: Server, aws: servers.AwsServer) -> None:
    client: Any = aws.client("glue")
    client.create_database(DatabaseInput={"Name": "links"})
    target = {"CatalogId": "210987654321", "DatabaseName": "theirs", "Name": "t"}
    client.create_table(DatabaseName="links", TableInput={"Name": "t", "TargetTable": target})
    table = make(lake, "links", "glue", glue(aws)) + "/links/tables/t"
    add = {"@type": "addColumn", "fieldName": ["x"], "type": "int"}
    refused = lake.call("PUT", table, {"updates": [add]})
    assert refused.status == 405 and "link to a table elsewhere" in refused.json["message"]
    assert "StorageDescriptor" not in client.get_table(DatabaseName="links", Name="t")["Table"]


def test_a_table_that_somebody_else_keeps_locked(lake: Server, hms: servers.HiveMetastore) -> None:
    """Whoever waits is told in time, and no lock of ours is left."""
    schemas = make(lake, "locked", "hive", {"metastore.uris": hms.uri})
    lake.ok("POST", schemas, {"name": "locked"})
    lake.ok("POST", f"{schemas}/locked/tables", {"name": "t", "columns": COLUMNS})
    change = {"updates": [{"@type": "updateComment", "newComment": "x"}]}
    with hms.client() as client:
        theirs = client.lock(
            ttypes.LockRequest(
                component=[
                    ttypes.LockComponent(
                        type=ttypes.LockType.EXCLUSIVE,
                        level=ttypes.LockLevel.TABLE,
                        dbname="locked",
                        tablename="t",
                        operationType=ttypes.DataOperationType.NO_TXN,
                        isTransactional=False,
                    )
                ],
                user="hive",
                hostname="elsewhere",
                agentInfo="theirs",
            )
        )
        begun, answers = time.monotonic(), list[Answer]()
        table = f"{schemas}/locked/tables/t"
        waiting = [threading.Thread(target=lambda: answers.append(lake.call("PUT", table, change))) for _ in range(4)]
        for one in waiting:
            one.start()
        for one in waiting:
            one.join()
        assert time.monotonic() - begun < 45, "the last one waits no longer than the first"
        assert {a.status for a in answers} <= {503, 504}
        left = client.show_locks(ttypes.ShowLocksRequest(dbname="locked", tablename="t")).locks
        assert [one.agentInfo for one in left] == ["theirs"]
        client.unlock(ttypes.UnlockRequest(lockid=theirs.lockid))
        assert lake.ok("PUT", table, change)["table"]["comment"] == "x"
        assert not client.show_locks(ttypes.ShowLocksRequest(dbname="locked", tablename="t")).locks
    lake.ok("DELETE", f"{schemas}/locked?cascade=true")


def test_owners_are_the_callers(lake: Server, hms: servers.HiveMetastore) -> None:
    schemas = make(lake, "owners", "hive", {"metastore.uris": hms.uri})
    alice = {"Authorization": "Basic YWxpY2U6eA=="}
    body = {"name": "of_alice", "columns": [{"name": "id", "type": "int"}]}
    lake.ok("POST", f"{schemas}/default/tables", body, alice)
    made = make(lake, "others", "hive", {"metastore.uris": hms.uri})
    table = lake.ok("GET", f"{made}/default/tables/of_alice")["table"]
    assert table["audit"]["creator"] == "alice", "the metastore itself knows it"
    lake.ok("DELETE", f"{schemas}/default/tables/of_alice")


# --- lost updates ----------------------------------------------------------------------------------------------------


def test_an_outside_update_is_not_overwritten(lake: Server, aws: servers.AwsServer) -> None:
    client: Any = aws.client("glue")
    client.create_database(DatabaseInput={"Name": "races"})
    entry = {"Name": "t", "StorageDescriptor": {"Columns": [{"Name": "id", "Type": "int"}]}}
    client.create_table(DatabaseName="races", TableInput=entry)
    table = make(lake, "races", "glue", glue(aws)) + "/races/tables/t"
    outside = {**entry, "Owner": "somebody else"}
    aws.on_next("UpdateTable", {"UpdateTable": {"DatabaseName": "races", "TableInput": outside}})
    change = {"updates": [{"@type": "updateComment", "newComment": "ours"}]}
    answer = lake.call("PUT", table, change)
    found = client.get_table(DatabaseName="races", Name="t")["Table"]
    assert found["Owner"] == "somebody else", "what somebody else wrote is still there"
    if answer.status == 200:  # seen, and done again on top of it
        assert found["Description"] == "ours"
    else:
        assert answer.status == 409 and "Description" not in found
