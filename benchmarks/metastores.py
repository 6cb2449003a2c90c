"""What Headwater adds to a metastore's own calls: Glue's and the Hive Metastore's, made raw in the same run."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from benchmarks import lake, processes
from benchmarks.report import Section, Table
from tests import servers

TABLES = 10_000
PARTITIONS = 1_000
ROUNDS = 7
COLUMNS = 20
DATABASE, PARTED = "db", "parted"
GLUE, HIVE = f"{lake.METALAKE}/catalogs/glue", f"{lake.METALAKE}/catalogs/hive"
_BATCH = 100
"""Partitions that Glue takes in one call."""


@dataclass(frozen=True)
class Kind:
    """One thing to do, by us and by the metastore's own client; both do it `times` times in a round."""

    name: str
    raw_call: str
    goal: float
    raw: Callable[[], object]
    ours: Callable[[], object]
    times: int = 1


def run(folder: Path) -> Section:
    """A Glue with 10,000 tables and a Hive Metastore; both sides take turns."""
    with contextlib.ExitStack() as stack:
        aws, hms = stack.enter_context(servers.aws()), stack.enter_context(servers.hms31())
        _make_glue_tables(aws)
        server = stack.enter_context(processes.headwater(folder / "metastores"))
        server.wait_ready()
        client = lake.Client(server.port)
        stack.callback(client.close)
        _make_catalogs(client, aws, hms)
        thrift = stack.enter_context(_thrift(hms))
        kinds = [*_glue_kinds(client, aws), *_hive_kinds(client, thrift)]
        measured = [_measure(kind, client) for kind in kinds]
    table = Table(("request", "raw", "raw ms", "Headwater ms", "ours / raw", "goal", "verdict"), texts=2)
    for kind, (raw, ours) in zip(kinds, measured, strict=True):
        ratio = statistics.median(b / a for a, b in zip(raw, ours, strict=True))
        over = round(ratio, 2) - kind.goal
        verdict = "reached" if over <= 0 else f"missed by {over:.2f}"
        times = (f"{statistics.median(side) * 1000:,.1f}" for side in (raw, ours))
        table.add(kind.name, kind.raw_call, *times, f"{ratio:.2f}", f"{kind.goal:g}", verdict)
    return Section("metastores", ["Wall time of one request, and of the metastore's own client for the same:", table])


def _measure(kind: Kind, client: lake.Client) -> tuple[list[float], list[float]]:
    """Seconds of one request in each round, raw and ours; who comes first changes with the round."""
    measured: tuple[list[float], list[float]] = ([], [])
    for round_ in range(ROUNDS + 1):
        sides = list(zip((kind.raw, kind.ours), measured, strict=True))
        for act, found in reversed(sides) if round_ % 2 else sides:
            client.close()  # it connects anew: our server hangs up on who is silent while the other side works
            begun = time.perf_counter()
            for _ in range(kind.times):
                act()
            if round_:  # the first round fills caches
                found.append((time.perf_counter() - begun) / kind.times)
    return measured


def _make_catalogs(client: lake.Client, aws: servers.AwsServer, hms: servers.HiveMetastore) -> None:
    client.ask("POST", "/api/metalakes", {"name": "lake"})
    glue = {
        "aws-glue-endpoint": aws.uri,
        "aws-glue-catalog-id": aws.account,
        "aws-region": aws.region,
        "aws-access-key-id": aws.access_key_id,
        "aws-secret-access-key": aws.secret_access_key,
    }
    for path, properties in ((GLUE, glue), (HIVE, {"metastore.uris": hms.uri})):
        name = path.rpartition("/")[2]
        body = {"name": name, "type": "RELATIONAL", "provider": name, "properties": properties}
        client.ask("POST", f"{lake.METALAKE}/catalogs", body)
    client.ask("POST", f"{HIVE}/schemas", {"name": DATABASE})


# --- Glue --------------------------------------------------------------------------------------------------------


def _make_glue_tables(aws: servers.AwsServer) -> None:
    glue = aws.client("glue")
    for database in (DATABASE, PARTED):
        glue.create_database(DatabaseInput={"Name": database})
    for n in range(TABLES):
        glue.create_table(DatabaseName=DATABASE, TableInput=_glue_table(f"orders_{n:05}"))


def _glue_kinds(client: lake.Client, aws: servers.AwsServer) -> Iterator[Kind]:
    glue = aws.client("glue")
    list_ = glue.get_paginator("get_tables").paginate

    def raw_list(**parameters: Any) -> None:
        pages = list_(DatabaseName=DATABASE, PaginationConfig={"PageSize": 100}, **parameters)
        _expect(TABLES, sum(len(page["TableList"]) for page in pages))

    def our_list() -> None:
        _expect(TABLES, client.ask("GET", f"{GLUE}/schemas/{DATABASE}/tables").count(b'"name"'))

    name, goal = f"list {TABLES:,} Glue tables", 1.2
    names = {"AttributesToGet": ["NAME", "TABLE_TYPE"]}
    yield Kind(name, "GetTables, names and kinds", goal, lambda: raw_list(**names), our_list, times=5)
    yield Kind(name, "GetTables, whole", goal, raw_list, our_list)
    numbers = itertools.count()

    def new_table() -> str:
        table = f"t{next(numbers)}"
        glue.create_table(DatabaseName=PARTED, TableInput=_glue_table(table))
        return table

    yield _adding(
        "Glue",
        "BatchCreatePartition, 100 in one",
        3,
        lambda: _ready_for_glue(glue, new_table()),
        lambda: _ready_for_us(client, f"{GLUE}/schemas/{PARTED}/tables/{new_table()}"),
    )


def _glue_table(name: str) -> dict[str, Any]:
    return {
        "Name": name,
        "TableType": "EXTERNAL_TABLE",
        "StorageDescriptor": _glue_storage(f"s3://lake/{name}"),
        "PartitionKeys": [{"Name": "dt", "Type": "string"}],
        "Parameters": {"EXTERNAL": "TRUE", "classification": "parquet"},
    }


def _glue_storage(location: str) -> dict[str, Any]:
    parquet = "org.apache.hadoop.hive.ql.io.parquet"
    return {
        "Columns": [{"Name": f"column_{i:02}", "Type": "string", "Comment": f"the column {i}"} for i in range(COLUMNS)],
        "Location": location,
        "InputFormat": f"{parquet}.MapredParquetInputFormat",
        "OutputFormat": f"{parquet}.MapredParquetOutputFormat",
        "SerdeInfo": {"SerializationLibrary": f"{parquet}.serde.ParquetHiveSerDe"},
    }


def _ready_for_glue(glue: Any, table: str) -> Callable[[], None]:
    storage = _glue_storage("")
    inputs = [
        {
            "Values": [value],
            "StorageDescriptor": {**storage, "Location": f"s3://lake/{table}/dt={value}"},
            "Parameters": {},
        }
        for value in _values()
    ]

    def act() -> None:
        for start in range(0, PARTITIONS, _BATCH):
            batch = inputs[start : start + _BATCH]
            answer = glue.batch_create_partition(DatabaseName=PARTED, TableName=table, PartitionInputList=batch)
            _expect([], answer.get("Errors", []))

    return act


# --- the Hive Metastore ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _thrift(hms: servers.HiveMetastore) -> Iterator[Any]:
    """One connection that stays open, as those of our pool do."""
    transport = TBufferedTransport(TSocket("127.0.0.1", hms.port))
    client: Any = ThriftHiveMetastore.Client(TBinaryProtocolAccelerated(transport))
    transport.open()
    with contextlib.closing(transport):
        client.set_ugi("bench", [])
        yield client


def _hive_kinds(client: lake.Client, thrift: Any) -> Iterator[Kind]:
    client.close()  # it was silent for long
    numbers = itertools.count()

    def new_table() -> str:
        name = f"t{next(numbers)}"
        columns = [
            *({"name": f"column_{i:02}", "type": "string", "comment": f"the column {i}"} for i in range(COLUMNS)),
            {"name": "dt", "type": "string"},
        ]
        by_day = [{"strategy": "identity", "fieldName": ["dt"]}]
        body = {"name": name, "columns": columns, "partitioning": by_day, "properties": {"format": "PARQUET"}}
        client.ask("POST", f"{HIVE}/schemas/{DATABASE}/tables", body)
        return name

    def raw_load(table: str) -> Any:
        wanted = ttypes.GetTableRequest(
            dbName=DATABASE, tblName=table, catName="hive", capabilities=ttypes.ClientCapabilities([])
        )
        return thrift.get_table_req(wanted).table

    loaded = new_table()
    our_load = f"{HIVE}/schemas/{DATABASE}/tables/{loaded}"
    yield Kind(
        "load an HMS table",
        "get_table_req",
        1.5,
        lambda: raw_load(loaded),
        lambda: client.ask("GET", our_load),
        times=500,
    )

    def ready(table: str) -> Callable[[], None]:
        found = raw_load(table)
        request = ttypes.AddPartitionsRequest(
            dbName=DATABASE,
            tblName=table,
            parts=[_thrift_partition(found, value) for value in _values()],
            ifNotExists=False,
            needResult=False,
            catName="hive",
        )
        return lambda: thrift.add_partitions_req(request)

    yield _adding(
        "HMS",
        "add_partitions_req, all in one",
        1,
        lambda: ready(new_table()),
        lambda: _ready_for_us(client, f"{HIVE}/schemas/{DATABASE}/tables/{new_table()}"),
    )


def _thrift_partition(table: Any, value: str) -> Any:
    sd = copy.copy(table.sd)
    sd.location = f"{table.sd.location}/dt={value}"
    return ttypes.Partition(
        values=[value], dbName=DATABASE, tableName=table.tableName, sd=sd, parameters={}, catName="hive"
    )


# --- partitions --------------------------------------------------------------------------------------------------


def _adding(
    where: str, raw_call: str, times: int, raw: Callable[[], Callable[[], None]], ours: Callable[[], Callable[[], None]]
) -> Kind:
    """Each addition is to a table of its own; tables and what is sent are ready before the clock starts."""

    def each_once(make: Callable[[], Callable[[], None]]) -> Callable[[], None]:
        ready = [make() for _ in range(times * (ROUNDS + 1))]

        def act() -> None:
            ready.pop()()

        return act

    return Kind(f"add {PARTITIONS:,} partitions on {where}", raw_call, 1.3, each_once(raw), each_once(ours), times)


def _ready_for_us(client: lake.Client, path: str) -> Callable[[], None]:
    new = [
        {
            "type": "identity",
            "fieldNames": [["dt"]],
            "values": [{"type": "literal", "dataType": "string", "value": value}],
        }
        for value in _values()
    ]
    body = json.dumps({"partitions": new}).encode()
    return lambda: _expect(PARTITIONS, client.ask("POST", f"{path}/partitions", body).count(b'"name":"dt='))


def _values() -> list[str]:
    return [f"day-{n:04}" for n in range(PARTITIONS)]


def _expect(wanted: object, found: object) -> None:
    if found != wanted:
        raise RuntimeError(f"expected {wanted}, found {found}")
