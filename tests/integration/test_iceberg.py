"""Iceberg tables through the server: what is written is what other Iceberg libraries read."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType

from tests import servers
from tests.harness import Server

_numbers = itertools.count()


class Lake:
    """A metalake with one Iceberg catalog and schema `s`, and pyiceberg beside it on the same database."""

    def __init__(self, server: Server, folder: Path, warehouse: str, **properties: str) -> None:
        self.server = server
        name = f"iceberg{next(_numbers)}"
        server.ok("POST", "/api/metalakes", {"name": name})
        self.database = folder / f"{name}.db"
        self.base = f"/api/metalakes/{name}/catalogs/ice"
        catalog = {"catalog-backend": "jdbc", "uri": f"sqlite:///{self.database}", "warehouse": warehouse}
        body = {"name": "ice", "provider": "lakehouse-iceberg", "properties": {**catalog, **properties}}
        server.ok("POST", self.base.removesuffix("/ice"), body)
        server.ok("POST", f"{self.base}/schemas", {"name": "s"})
        self.tables = f"{self.base}/schemas/s/tables"

    def create(self, columns: list[Any], name: str = "t", **fields: Any) -> Any:
        return self.server.ok("POST", self.tables, {"name": name, "columns": columns, **fields})["table"]

    def load(self, name: str = "t") -> Any:
        return self.server.ok("GET", f"{self.tables}/{name}")["table"]

    def alter(self, *updates: Any, name: str = "t") -> Any:
        return self.server.ok("PUT", f"{self.tables}/{name}", {"updates": updates})["table"]

    def refused(self, *updates: Any, name: str = "t") -> str:
        before = self.load(name)
        answer = self.server.call("PUT", f"{self.tables}/{name}", {"updates": updates})
        assert answer.status in (400, 405), answer
        assert self.load(name) == before
        message: str = answer.json["message"]
        return message

    def pyiceberg(self, **properties: str) -> SqlCatalog:
        return SqlCatalog("jdbc", uri=f"sqlite:///{self.database}", **properties)

    def pointers(self) -> list[tuple[str, str]]:
        with sqlite3.connect(self.database) as connection:
            return connection.execute("select table_name, metadata_location from iceberg_tables").fetchall()


@pytest.fixture
def lake(server: Server, tmp_path: Path) -> Lake:
    return Lake(server, tmp_path, str(tmp_path / "wh"))


def column(name: str, type_: Any, **fields: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **fields}


TEXT = {"type": "literal", "dataType": "string", "value": "x"}
SIMPLE = [column("id", "bigint", nullable=False), column("name", "string"), column("day", "date")]


def test_types_as_sent_and_as_served(lake: Lake) -> None:
    pairs: list[tuple[Any, Any]] = [
        ("bigint", "long"), ("INT", "integer"), ("decimal(18,2)", "decimal(18,2)"), ("varchar(20)", "varchar(20)"),
        ("char(3)", "char(3)"), ("Boolean", "boolean"), ("real", "float"), ("double precision", "double"),
        ("date", "date"), ("time", "time(6)"), ("timestamp", "timestamp(6)"), ("timestamp(3)", "timestamp(6)"),
        ("timestamp with time zone", "timestamp_tz(6)"), ("text", "string"), ("uuid", "uuid"), ("bytea", "binary"),
        ("fixed(16)", "fixed(16)"),
        ("array<int>", {"type": "list", "containsNull": True, "elementType": "integer"}),
        ("map<string,bigint>", {"type": "map", "valueContainsNull": True, "keyType": "string", "valueType": "long"}),
    ]  # fmt: skip
    lake.create([column(f"c{i}", sent) for i, (sent, _) in enumerate(pairs)])
    served = [c["type"] for c in lake.load()["columns"]]
    assert served == [expected for _, expected in pairs]
    assert "unparsed" not in json.dumps(served)


@pytest.mark.parametrize("type_", ["byte", "smallint", "interval_year", "long unsigned", "timestamp(12)", "varchat(3)"])
def test_types_that_are_refused(lake: Lake, type_: str) -> None:
    answer = lake.server.call("POST", lake.tables, {"name": "t", "columns": [column("a", type_)]})
    assert answer.status == 400
    assert "columns[0].type" in answer.json["message"]
    assert lake.pointers() == []


def test_others_read_and_write_it(lake: Lake) -> None:
    lake.create(
        SIMPLE,
        comment="orders",
        partitioning=[
            {"strategy": "month", "fieldName": ["day"]},
            {"strategy": "bucket", "numBuckets": 8, "fieldNames": [["id"]]},
        ],
        sortOrders=[{"sortTerm": {"type": "field", "fieldName": ["id"]}, "direction": "desc"}],
        distribution={"strategy": "hash", "number": 0, "funcArgs": []},
        properties={"owner": "me", "format": "parquet"},
    )
    table = lake.pyiceberg().load_table("s.t")
    assert [str(f) for f in table.spec().fields] == ["1000: day_month: month(3)", "1001: id_bucket: bucket[8](1)"]
    assert [(f.source_id, f.direction.value, f.null_order.value) for f in table.sort_order().fields] == [
        (1, "desc", "nulls-last")
    ]
    assert table.properties["owner"] == "me" and table.properties["write.distribution-mode"] == "hash"


def test_data_others_write_stays_readable(lake: Lake) -> None:
    lake.create(SIMPLE, partitioning=[{"strategy": "identity", "fieldName": ["day"]}])
    table = lake.pyiceberg().load_table("s.t")
    day = pa.array([20000, 20001], pa.date32())
    rows = pa.table({"id": pa.array([1, 2]), "name": ["a", "b"], "day": day}, schema=table.schema().as_arrow())
    table.append(rows)
    served = lake.load()
    assert served["properties"]["current-snapshot-id"] == str(table.current_snapshot().snapshot_id)
    assert lake.pyiceberg().load_table("s.t").scan().to_arrow().num_rows == 2
    lake.alter({"@type": "renameColumn", "oldFieldName": ["name"], "newFieldName": "title"})
    read = lake.pyiceberg().load_table("s.t").scan().to_arrow()
    assert sorted(read["title"].to_pylist()) == ["a", "b"], "data written before is read under the new name"


def test_what_others_change_is_seen_at_once(lake: Lake) -> None:
    lake.create(SIMPLE)
    lake.load()
    outside = lake.pyiceberg()
    with outside.load_table("s.t").update_schema() as update:
        update.add_column("extra", LongType())
    assert [c["name"] for c in lake.load()["columns"]] == ["id", "name", "day", "extra"]
    assert lake.load()["audit"]["creator"] == "anonymous"
    outside.drop_table("s.t")
    assert lake.server.call("GET", f"{lake.tables}/t").status == 404
    outside.create_table("s.t", Schema(), location=f"file://{lake.database.parent}/x")
    assert "creator" not in lake.load()["audit"], "another table of that name inherits nothing"


def test_one_request_is_one_commit(lake: Lake) -> None:
    lake.create([*SIMPLE, column("place", "struct<city:string,zip:int>")])
    before = lake.pointers()[0][1]
    by_day = {"type": "function", "funcName": "day", "funcArgs": [{"type": "field", "fieldName": ["day"]}]}
    served = lake.alter(
        {"@type": "updateComment", "newComment": "new"},
        {"@type": "setProperty", "property": "a", "value": ""},
        {"@type": "addColumn", "fieldName": ["price"], "type": "decimal(9,2)", "position": {"after": "id"}},
        {"@type": "addColumn", "fieldName": ["place", "street"], "type": "varchar(50)", "position": "first"},
        {"@type": "renameColumn", "oldFieldName": ["place", "zip"], "newFieldName": "code"},
        {"@type": "updateColumnType", "fieldName": ["place", "code"], "newType": "bigint"},
        {"@type": "updateColumnType", "fieldName": ["price"], "newType": "decimal(18,2)"},
        {"@type": "updateColumnNullability", "fieldName": ["id"], "nullable": True},
        {"@type": "updateColumnComment", "fieldName": ["name"], "newComment": "of the thing"},
        {"@type": "updateColumnPosition", "fieldName": ["day"], "newPosition": "first"},
        {"@type": "replacePartitioning", "partitioning": [{"strategy": "truncate", "width": 4, "fieldName": ["name"]}]},
        {"@type": "replaceSortOrders", "sortOrders": [{"sortTerm": by_day}]},
        {"@type": "replaceDistribution", "distribution": {"strategy": "range", "number": 0, "funcArgs": []}},
    )  # fmt: skip
    assert [c["name"] for c in served["columns"]] == ["day", "id", "price", "name", "place"]
    place = served["columns"][4]["type"]["fields"]
    assert [(f["name"], f["type"]) for f in place] == [("street", "varchar(50)"), ("city", "string"), ("code", "long")]
    assert served["comment"] == "new" and served["properties"]["a"] == ""
    assert served["columns"][3]["comment"] == "of the thing" and served["columns"][1]["nullable"] is True
    assert served["partitioning"] == [{"strategy": "truncate", "width": 4, "fieldName": ["name"]}]
    assert served["sortOrders"][0]["sortTerm"]["funcName"] == "day"
    assert served["distribution"]["strategy"] == "range"
    metadata = json.loads(Path(lake.pointers()[0][1].removeprefix("file://")).read_text())
    assert [entry["metadata-file"] for entry in metadata["metadata-log"]] == [before]
    unpartitioned = lake.alter(
        {"@type": "replacePartitioning", "partitioning": []}, {"@type": "replaceSortOrders", "sortOrders": []}
    )
    assert (unpartitioned["partitioning"], unpartitioned["sortOrders"]) == ([], [])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"@type": "deleteColumn", "fieldName": ["none"], "ifExists": False}, "there are id, name, day"),
        ({"@type": "addColumn", "fieldName": ["NAME"], "type": "int"}, "a column 'NAME' already"),
        ({"@type": "addColumn", "fieldName": ["x"], "type": "int", "nullable": False}, "must be nullable"),
        ({"@type": "addColumn", "fieldName": ["x"], "type": "int", "position": {"after": "no"}}, "no column 'no'"),
        ({"@type": "addColumn", "fieldName": ["no", "x"], "type": "int"}, "no column 'no'"),
        ({"@type": "updateColumnType", "fieldName": ["name"], "newType": "int"}, "Cannot change column type"),
        ({"@type": "updateColumnNullability", "fieldName": ["name"], "nullable": False}, "can't be made NOT NULL"),
        ({"@type": "renameColumn", "oldFieldName": ["name"], "newFieldName": "id"}, "a column 'id' already"),
        ({"@type": "deleteColumn", "fieldName": ["day"], "ifExists": False}, "part of the partitioning"),
        ({"@type": "setProperty", "property": "location", "value": "/x"}, "can't be changed"),
        ({"@type": "setProperty", "property": "current-snapshot-id", "value": "1"}, "reserved"),
        ({"@type": "removeProperty", "property": "format-version"}, "can't be removed"),
        ({"@type": "rename", "newName": "a b"}, "illegal"),
        ({"@type": "updateColumnDefaultValue", "fieldName": ["name"], "newDefaultValue": TEXT}, "default values"),
        ({"@type": "deleteColumn", "fieldName": [" "], "ifExists": False}, "no column"),
        ({"@type": "addColumn", "fieldName": [" "], "type": "int"}, "blank"),
        ({"@type": "addColumn", "fieldName": ["id", "x"], "type": "int"}, "updates[0]"),
        ({"@type": "addTableIndex", "index": {"indexType": "PRIMARY_KEY", "fieldNames": [["id"]]}}, "indexes"),
    ],
)  # fmt: skip
def test_changes_that_are_refused(lake: Lake, change: dict[str, Any], words: str) -> None:
    lake.create(SIMPLE, partitioning=[{"strategy": "day", "fieldName": ["day"]}])
    assert words in lake.refused({"@type": "updateComment", "newComment": "half"}, change) or words in lake.refused(
        change
    )


def test_rename_keeps_what_is_remembered(lake: Lake) -> None:
    lake.create(SIMPLE)
    created = lake.load()["audit"]["createTime"]
    lake.server.ok("POST", f"{lake.base}/schemas", {"name": "s:in"})
    lake.alter({"@type": "rename", "newName": "u", "newSchemaName": "s:in"})
    moved = lake.server.ok("GET", f"{lake.base}/schemas/s:in/tables/u")["table"]
    assert moved["audit"]["createTime"] == created and moved["audit"]["lastModifier"] == "anonymous"
    assert lake.server.call("GET", f"{lake.tables}/t").status == 404


def test_where_a_table_lies(lake: Lake, server: Server, tmp_path: Path) -> None:
    assert lake.create(SIMPLE)["properties"]["location"] == f"file://{tmp_path}/wh/s/t"
    own = lake.create(SIMPLE, "own", properties={"location": f"{tmp_path}/own"})
    assert own["properties"]["location"] == f"file://{tmp_path}/own"
    server.ok("POST", f"{lake.base}/schemas", {"name": "at", "properties": {"location": f"{tmp_path}/at"}})
    below = server.ok("POST", f"{lake.base}/schemas/at/tables", {"name": "t", "columns": SIMPLE})["table"]
    assert below["properties"]["location"] == f"file://{tmp_path}/at/t"


def test_nowhere_to_lie(server: Server, tmp_path: Path) -> None:
    homeless = Lake(server, tmp_path, str(tmp_path / "wh"))
    server.ok("PUT", homeless.base, {"updates": [{"@type": "removeProperty", "property": "warehouse"}]})
    answer = server.call("POST", homeless.tables, {"name": "t", "columns": SIMPLE})
    assert answer.status == 400
    assert all(word in answer.json["message"] for word in ("location", "schema", "warehouse"))


def test_purge_removes_the_files(lake: Lake, tmp_path: Path) -> None:
    lake.create(SIMPLE)
    table = lake.pyiceberg().load_table("s.t")
    table.append(
        pa.table({"id": [1], "name": ["a"], "day": pa.array([1], pa.date32())}, schema=table.schema().as_arrow())
    )
    assert list(tmp_path.rglob("*.parquet"))
    assert lake.server.ok("DELETE", f"{lake.tables}/t?purge=true")["dropped"] is True
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and "/wh/" in str(p)]
    assert lake.server.ok("DELETE", f"{lake.tables}/t?purge=true")["dropped"] is False


@pytest.fixture(scope="module")
def aws() -> Iterator[servers.moto]:
    with servers.moto() as started:
        yield started


def test_warehouse_on_s3(server: Server, tmp_path: Path, aws: servers.moto) -> None:
    bucket = aws.create_bucket("tables")
    s3 = {
        "s3-endpoint": aws.uri,
        "s3-region": "us-east-1",
        "s3-access-key-id": aws.credentials["AWS_ACCESS_KEY_ID"],
        "s3-secret-access-key": aws.credentials["AWS_SECRET_ACCESS_KEY"],
        "s3-path-style-access": "true",
    }
    lake = Lake(server, tmp_path, f"{bucket}/wh", **s3)
    assert lake.create(SIMPLE)["properties"]["location"] == f"{bucket}/wh/s/t"
    lake.alter({"@type": "addColumn", "fieldName": ["extra"], "type": "int"})
    assert [c["name"] for c in lake.load()["columns"]] == ["id", "name", "day", "extra"]
    assert all(location.startswith("s3://tables/wh/s/t/metadata/") for _, location in lake.pointers())
    assert lake.server.ok("DELETE", f"{lake.tables}/t?purge=true")["dropped"] is True


def test_all_columns_can_not_go(lake: Lake) -> None:
    lake.create(SIMPLE)
    drops = [{"@type": "deleteColumn", "fieldName": [c["name"]], "ifExists": False} for c in SIMPLE]
    assert "at least one column" in lake.refused(*drops)


def test_partitioning_twice_is_refused(lake: Lake) -> None:
    twice = [{"strategy": "identity", "fieldName": ["id"]}] * 2
    times = [{"strategy": strategy, "fieldName": ["day"]} for strategy in ("year", "day")]
    lake.create(SIMPLE)
    for partitioning in (twice, times):
        body = {"name": "u", "columns": SIMPLE, "partitioning": partitioning}
        assert lake.server.call("POST", lake.tables, body).status == 400
        assert "twice" in lake.refused({"@type": "replacePartitioning", "partitioning": partitioning})


def test_partitioning_changes_as_asked(lake: Lake) -> None:
    lake.create(SIMPLE, partitioning=[{"strategy": "bucket", "numBuckets": 4, "fieldNames": [["id"]]}])
    by_name, by_id = {"strategy": "identity", "fieldName": ["name"]}, {"strategy": "identity", "fieldName": ["id"]}
    for wanted in (
        [{"strategy": "bucket", "numBuckets": 8, "fieldNames": [["id"]]}],
        [by_name, by_id],
        [by_id, by_name],
        [],
        [by_id, by_name],
    ):
        assert lake.alter({"@type": "replacePartitioning", "partitioning": wanted})["partitioning"] == wanted
        assert lake.pyiceberg().load_table("s.t").metadata is not None


def test_nested_fields_in_partitioning_and_order(lake: Lake) -> None:
    by = {"strategy": "identity", "fieldName": ["place", "city"]}
    order = {"type": "field", "fieldName": ["place", "zip"]}
    made = lake.create(
        [*SIMPLE, column("place", "struct<city:string,zip:int>")], partitioning=[by], sortOrders=[{"sortTerm": order}]
    )
    assert (made["partitioning"], made["sortOrders"][0]["sortTerm"]) == ([by], order)


def test_a_struct_keeps_a_field(lake: Lake) -> None:
    lake.create([*SIMPLE, column("place", "struct<city:string>")])
    assert "at least one field" in lake.refused(
        {"@type": "deleteColumn", "fieldName": ["place", "city"], "ifExists": False}
    )


def test_schemas_are_told_apart_by_case(lake: Lake) -> None:
    lake.server.ok("POST", f"{lake.base}/schemas", {"name": "s:x"})
    assert lake.server.call("GET", f"{lake.base}/schemas/S").status == 404
    lake.server.ok("POST", f"{lake.base}/schemas", {"name": "S"})


def test_broken_metadata_is_told_with_its_file(lake: Lake) -> None:
    lake.create(SIMPLE)
    file = Path(lake.pointers()[0][1].removeprefix("file://"))
    whole = file.read_bytes()
    change = {"updates": [{"@type": "updateComment", "newComment": "x"}]}
    for broken in (b"", whole[:100], b"[]", b"\xff\xfe"):
        file.write_bytes(broken)
        lake.server.call("PUT", "/api/metalakes/none", {"updates": []})
        with sqlite3.connect(lake.database) as connection:  # so that nothing is answered from memory
            connection.execute("update iceberg_namespace_properties set property_value = property_value")
        for method, body in (("GET", None), ("PUT", change)):
            answer = lake.server.call(method, f"{lake.tables}/t", body)
            assert answer.status == 502 and file.name in answer.json["message"], answer
    assert lake.server.ok("DELETE", f"{lake.tables}/t")["dropped"] is True


def test_views_of_others_are_safe(lake: Lake) -> None:
    lake.server.ok("GET", lake.tables)
    with sqlite3.connect(lake.database) as connection:
        connection.execute("insert into iceberg_tables values ('jdbc', 's', 'v', 'file:///x', null, 'VIEW')")
    assert lake.server.ok("GET", lake.tables)["identifiers"] == []
    for query in ("", "?cascade=true"):
        answer = lake.server.call("DELETE", f"{lake.base}/schemas/s{query}")
        assert (answer.status, answer.json["code"]) == (409, 1005) and "v" in answer.json["message"]
    taken = lake.server.call("POST", lake.tables, {"name": "v", "columns": SIMPLE})
    assert taken.status == 409 and "view" in taken.json["message"]


def test_replaced_database_is_noticed(lake: Lake) -> None:
    lake.create(SIMPLE)
    with sqlite3.connect(lake.database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = lake.database.read_bytes()
    lake.create(SIMPLE, "later")
    for path in lake.database.parent.glob(f"{lake.database.name}*"):
        path.unlink()
    assert lake.server.call("GET", lake.tables).status == 502
    lake.database.write_bytes(copy)
    assert [i["name"] for i in lake.server.ok("GET", lake.tables)["identifiers"]] == ["t"]


def test_two_tables_never_share_a_folder(lake: Lake) -> None:
    first = lake.create(SIMPLE)["properties"]["location"]
    lake.alter({"@type": "rename", "newName": "u"})
    second = lake.create(SIMPLE)["properties"]["location"]
    assert second != first and second.startswith(first)
