"""The ten commands of the two designs of Glue, letter for letter: what else is needed comes from the environment."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.harness import Server, running

BIN = Path(sys.executable).parent
MAKE = [
    "gcli catalog create --name my_glue --provider glue \\\n"
    "     --properties aws-region=us-east-1,aws-glue-catalog-id=123456789012",
    "gcli catalog create --name hive_on_glue --provider hive \\\n"
    "     --properties metastore-type=glue,s3-region=us-east-1",
    "gcli catalog create --name iceberg_on_glue --provider lakehouse-iceberg \\\n"
    "     --properties catalog-backend=glue,warehouse=s3://bucket/iceberg,s3-region=us-east-1",
]
READ = {
    "gcli schema list --catalog my_glue": "analytics\nmy_database\n",
    "gcli table list --catalog my_glue --schema my_database": "orders\nsessions\n",
    "gcli table list --catalog my_glue --schema analytics": "events\n",
    "gcli schema list --catalog hive_on_glue": "analytics\nmy_database\n",
    "gcli table list --catalog hive_on_glue --schema my_database": "orders\nsessions\n",
}
DETAILS = {
    "gcli table details --catalog my_glue --schema analytics --table events": (
        "columns.id: long",
        "properties.table_type: ICEBERG",
        "properties.metadata_location: s3://bucket/",
    ),
    "gcli table details --catalog iceberg_on_glue --schema analytics --table events": (
        "columns.id: long",
        "properties.location: s3://bucket/",
    ),
}


@pytest.fixture(scope="module")
def aws() -> Iterator[servers.AwsServer]:
    with servers.aws() as started:
        started.create_bucket("bucket")
        fill(started)
        yield started


def fill(aws: servers.AwsServer) -> None:
    """A Hive table, a Parquet table, a view, and an Iceberg table made by pyiceberg."""
    from pyiceberg.catalog.glue import GlueCatalog
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField

    glue: Any = aws.client("glue")
    for name in ("my_database", "analytics"):
        glue.create_database(DatabaseInput={"Name": name})
    storage = {"Columns": [{"Name": "id", "Type": "bigint"}], "Location": "s3://bucket/x"}
    for name, kind in (("orders", "EXTERNAL_TABLE"), ("sessions", "EXTERNAL_TABLE"), ("hidden", "VIRTUAL_VIEW")):
        entry = {"Name": name, "TableType": kind, "StorageDescriptor": storage}
        glue.create_table(DatabaseName="my_database", TableInput=entry)
    settings = {"s3.endpoint": aws.uri, "s3.region": aws.region, "s3.force-virtual-addressing": "false"}
    keys = {"s3.access-key-id": aws.access_key_id, "s3.secret-access-key": aws.secret_access_key}
    catalog = GlueCatalog("g", client=glue, **settings, **keys)
    schema = Schema(NestedField(1, "id", LongType()))
    catalog.create_table("analytics.events", schema, location="s3://bucket/analytics/events")


@contextlib.contextmanager
def serving(aws: servers.AwsServer, folder: Path, *, by_file: bool) -> Iterator[Server]:
    """A server that knows AWS by its environment, or by AWS's own configuration files."""
    env = dict(aws.credentials)
    if by_file:
        (folder / "config").write_text(f"[default]\nendpoint_url = {aws.uri}\n")
        keys = f"aws_access_key_id = {aws.access_key_id}\naws_secret_access_key = {aws.secret_access_key}\n"
        (folder / "credentials").write_text(f"[default]\n{keys}")
        env = {"AWS_CONFIG_FILE": str(folder / "config"), "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials")}
    with running(folder / "data", env=env) as started:
        yield started


@pytest.mark.parametrize("by_file", [False, True])
def test_the_ten_commands(aws: servers.AwsServer, tmp_path: Path, by_file: bool) -> None:
    with serving(aws, tmp_path, by_file=by_file) as server:

        def type_(line: str) -> subprocess.CompletedProcess[str]:
            env = {k: v for k, v in os.environ.items() if not k.startswith(("HEADWATER_", "AWS_"))}
            env |= {
                "PATH": f"{BIN}:{os.environ['PATH']}",
                "HEADWATER_URI": server.uri,
                "XDG_CONFIG_HOME": str(tmp_path),
            }
            return subprocess.run(
                ["bash", "-c", line], check=False, env=env, capture_output=True, text=True, timeout=60
            )

        for line in MAKE:
            done = type_(line)
            assert done.returncode == 0, done.stderr
        for line, expected in READ.items():
            done = type_(line)
            assert (done.returncode, done.stdout, done.stderr) == (0, expected, ""), line
        for line, parts in DETAILS.items():
            done = type_(line)
            assert done.returncode == 0 and all(part in done.stdout for part in parts), done.stdout + done.stderr
