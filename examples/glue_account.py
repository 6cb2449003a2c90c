"""An AWS Glue account on this machine, for the demo: moto plays AWS, and the entries are as engines leave them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

BUCKET, DATABASE, REGION = "fleet-data", "fleet", "us-east-1"
KEY, SECRET = "demo", "demo-secret"
HUDI = Path(__file__).parent / "data" / "hudi_trips"
"""A small table written by Spark with Hudi."""

_IO = "org.apache.hadoop.hive.ql.io"
_MAPRED, _SERDE = "org.apache.hadoop.mapred", "org.apache.hadoop.hive.serde2"
# The classes that read files, write them, and read rows.
_PARQUET = (
    f"{_IO}.parquet.MapredParquetInputFormat",
    f"{_IO}.parquet.MapredParquetOutputFormat",
    f"{_IO}.parquet.serde.ParquetHiveSerDe",
)
_CSV = (f"{_MAPRED}.TextInputFormat", f"{_IO}.HiveIgnoreKeyTextOutputFormat", f"{_SERDE}.OpenCSVSerde")
_HUDI = ("org.apache.hudi.hadoop.HoodieParquetInputFormat", *_PARQUET[1:])
_DELTA = (
    f"{_MAPRED}.SequenceFileInputFormat",
    f"{_IO}.HiveSequenceFileOutputFormat",
    f"{_SERDE}.lazy.LazySimpleSerDe",
)
_TRIP = {"id": "int", "rider": "string", "fare": "double", "started": "timestamp"}


@contextlib.contextmanager
def glue_account() -> Iterator[str]:
    """The account's address; it ends with the block."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        _fill(endpoint)
        yield endpoint
    finally:
        server.stop()


def _fill(endpoint: str) -> None:
    session = boto3.Session(KEY, SECRET, region_name=REGION)
    s3 = session.client("s3", endpoint_url=endpoint)
    s3.create_bucket(Bucket=BUCKET)
    for file in (f for f in HUDI.rglob("*") if f.is_file()):
        s3.put_object(Bucket=BUCKET, Key=f"hudi_trips/{file.relative_to(HUDI)}", Body=file.read_bytes())
    glue = session.client("glue", endpoint_url=endpoint)
    glue.create_database(DatabaseInput={"Name": DATABASE, "LocationUri": f"s3://{BUCKET}/{DATABASE}"})
    for entry in _entries():
        glue.create_table(DatabaseName=DATABASE, TableInput=entry)


def _entries() -> Iterator[dict[str, Any]]:
    yield _table("events", {"at": "timestamp", "vehicle": "bigint", "what": "string"}, _PARQUET, {"dt": "string"})
    yield _table("stations", {"code": "string", "place": "string"}, _CSV, {}, {"skip.header.line.count": "1"})
    hoodie = [f"_hoodie_{n}" for n in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")]
    columns = {**dict.fromkeys(hoodie, "string"), **_TRIP}
    marks = {"spark.sql.sources.provider": "hudi", "last_commit_time_sync": "20261120011952986"}
    yield _table("hudi_trips", columns, _HUDI, {"city": "string"}, marks)
    # Trino's Delta connector leaves no columns in Glue: they are in the table's own log.
    yield _table("readings", {"col": "array<string>"}, _DELTA, {}, {"spark.sql.sources.provider": "DELTA"})
    yield {
        "Name": "busy_stations",
        "TableType": "VIRTUAL_VIEW",
        "ViewOriginalText": "/* Presto View: eyJvcmlnaW5hbFNxbCI6IlNFTEVDVCAxIn0= */",
        "ViewExpandedText": "/* Presto View */",
        "Parameters": {"presto_view": "true", "comment": "Presto View"},
    }


def _table(
    name: str,
    columns: Mapping[str, str],
    classes: tuple[str, ...],
    keys: Mapping[str, str],
    parameters: Mapping[str, str] = {},
) -> dict[str, Any]:
    return {
        "Name": name,
        "TableType": "EXTERNAL_TABLE",
        "StorageDescriptor": {
            "Columns": _columns(columns),
            "Location": f"s3://{BUCKET}/{name}",
            "InputFormat": classes[0],
            "OutputFormat": classes[1],
            "SerdeInfo": {"SerializationLibrary": classes[2]},
        },
        "PartitionKeys": _columns(keys),
        "Parameters": {"EXTERNAL": "TRUE", **parameters},
    }


def _columns(given: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Name": name, "Type": type_} for name, type_ in given.items()]
