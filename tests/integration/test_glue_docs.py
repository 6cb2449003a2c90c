"""What docs/glue.md promises: its commands work, its tables are whole, its permissions are the calls that are made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headwater.catalogs.aws import S3_PROPERTIES, aws_properties
from headwater.catalogs.base import NewTable, Page
from headwater.catalogs.glue import GlueProvider
from headwater.catalogs.hive import HiveProvider
from headwater.catalogs.iceberg import IcebergProvider
from headwater.model import Column, types
from headwater.model import changes as c
from headwater.model.expressions import Literal
from headwater.model.tables import Identity, IdentityPartition
from tests import servers
from tests.contract.provider import Relational
from tests.contract.test_providers import opened
from tests.e2e.test_docs import Reader, commands
from tests.servers.aws import AwsServer

PAGE = (Path(__file__).parents[2] / "docs" / "glue.md").read_text()
S = ("s",)
S3_ACTIONS = {
    "HeadObject": "GetObject",
    "CreateMultipartUpload": "PutObject",
    "UploadPart": "PutObject",
    "CompleteMultipartUpload": "PutObject",
    "ListObjectsV2": "ListBucket",
    "HeadBucket": "ListBucket",
    "DeleteObjects": "DeleteObject",
}
"""The action that IAM knows, for operations of S3 that are called otherwise."""


def section(heading: str) -> str:
    """What stands below a heading, up to the next one."""
    return re.split(r"^#+ ", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def documented(*headings: str) -> set[str]:
    """The actions of these policies."""
    blocks = [re.findall(r"```json\n(.*?)```", section(h), re.DOTALL) for h in headings]
    return {action for found in blocks for block in found for action in json.loads(block)["Action"]}


def properties_in(heading: str) -> list[str]:
    return re.findall(r"^\| `([a-z0-9.-]+)` \|", section(heading), re.MULTILINE)


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with servers.aws() as started:
        started.create_bucket("lake")
        yield started


@pytest.fixture(scope="module")
def catalog(aws: AwsServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relational]:
    given = {
        "aws-region": aws.region,
        "aws-glue-catalog-id": aws.account,
        "aws-glue-endpoint": aws.uri,
        "s3-endpoint": aws.uri,
        "aws-access-key-id": aws.access_key_id,
        "aws-secret-access-key": aws.secret_access_key,
        "aws-role-arn": "arn:aws:iam::123456789012:role/lake",
        "aws-sts-endpoint": aws.uri,
        "warehouse": "s3://lake/glue",
    }
    found = opened("glue", tmp_path_factory.mktemp("glue"), given)
    yield found  # type: ignore[misc]
    found.close()


@pytest.fixture(scope="module")
def iceberg(aws: AwsServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relational]:
    given = {
        "catalog-backend": "glue",
        "s3-region": aws.region,
        "s3-endpoint": aws.uri,
        "aws-glue-endpoint": aws.uri,
        "s3-access-key-id": aws.access_key_id,
        "s3-secret-access-key": aws.secret_access_key,
        "warehouse": "s3://lake/iceberg",
    }
    found = opened("lakehouse-iceberg", tmp_path_factory.mktemp("iceberg"), given)
    yield found  # type: ignore[misc]
    found.close()


def test_commands(aws: AwsServer, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    reader.environment |= aws.credentials
    try:
        reader.type("headwater serve")
        typed = [command for block in re.findall(r"```shell\n(.*?)```", PAGE, re.DOTALL) for command in commands(block)]
        assert len(typed) == 8
        for command in typed:
            reader.type(command)
    finally:
        reader.close()


def test_properties() -> None:
    whole = properties_in("One catalog for everything: provider glue")
    assert sorted(whole) == sorted(p.name for p in GlueProvider.catalog_properties.declared)
    beside = properties_in("Glue as a metastore: providers hive and lakehouse-iceberg")
    shared = [p.name for p in (*S3_PROPERTIES, *aws_properties(required=False))]
    assert sorted(beside) == sorted([*shared, "metastore-type", "catalog-backend", "warehouse", "list-all-tables"])
    for name in [*shared, "warehouse"]:
        assert HiveProvider.catalog_properties.get(name) is not None
        assert IcebergProvider.catalog_properties.get(name) is not None


def called(aws: AwsServer, *steps: Callable[[], object]) -> set[str]:
    """The actions, as IAM calls them, that some steps need."""
    aws.forget_calls()
    for step in steps:
        step()
    return {f"{call['service']}:{S3_ACTIONS.get(call['operation'], call['operation'])}" for call in aws.calls()}


def by(service: str, actions: set[str]) -> set[str]:
    return {a for a in actions if a.startswith(service)}


COLUMNS = [Column("id", types.Long()), Column("dt", types.String())]
HIVE = NewTable(
    "h", COLUMNS, properties={"table-format": "hive", "location": "s3://lake/h"}, partitioning=[Identity(["dt"])]
)
ICEBERG = NewTable("i", COLUMNS)
ADD = [c.AddColumn(["more"], types.Long())]


def partition(value: str) -> IdentityPartition:
    return IdentityPartition(field_names=[["dt"]], values=[Literal(types.String(), value)])


def test_permissions(aws: AwsServer, catalog: Relational, iceberg: Relational) -> None:
    load = documented("List and load")
    seen: dict[str, set[str]] = {}
    made = called(
        aws,
        lambda: catalog.create_schema(S, None, {}),
        lambda: catalog.alter_schema(S, [c.SetProperty("a", "1")]),
        lambda: catalog.create_table(S, HIVE),
        lambda: catalog.create_table(S, ICEBERG),
        lambda: catalog.alter_table(S, "h", [c.UpdateComment("x")]),
        lambda: catalog.alter_table(S, "i", ADD),
    )
    seen["Assume a role"] = by("sts", made)
    seen["Create and alter"] = by("glue", made) - load
    seen["List and load"] = by("glue", called(
        aws,
        catalog.test,
        lambda: catalog.list_schemas((), Page()),
        lambda: catalog.load_schema(S),
        lambda: catalog.list_tables(S, Page()),
        lambda: catalog.load_table(S, "h"),
    ))  # fmt: skip
    read = called(aws, lambda: catalog.load_table(S, "i"))
    assert by("glue", read) <= load
    seen["Read Iceberg metadata"] = by("s3", read)
    seen["Create and alter Iceberg tables"] = by("s3", made) - by("s3", read)
    add = called(aws, lambda: catalog.add_partitions(S, "h", [partition("a"), partition("b")]))  # type: ignore[attr-defined]
    drop = called(aws, lambda: catalog.drop_partitions(S, "h", ["dt=a"], purge=False))  # type: ignore[attr-defined]
    seen["Show partitions"] = called(
        aws,
        lambda: catalog.list_partitions(S, "h", Page()),  # type: ignore[attr-defined]
        lambda: catalog.load_partitions(S, "h", Page(limit=1)),  # type: ignore[attr-defined]
        lambda: catalog.load_partition(S, "h", "dt=b"),  # type: ignore[attr-defined]
    ) - load  # fmt: skip
    seen["Add and drop partitions"] = (add | drop) - load - seen["Show partitions"]
    renamed = called(aws, lambda: catalog.alter_table(S, "i", [c.RenameTable("j")]))
    dropped = called(aws, lambda: catalog.drop_table(S, "j", purge=True), lambda: catalog.drop_schema(S, cascade=True))
    assert by("s3", dropped) == set()
    seen["Drop"] = by("glue", dropped) - load
    assert by("glue", renamed) <= load | seen["Drop"] | seen["Create and alter"]

    every = called(
        aws,
        lambda: iceberg.create_schema(S, None, {}),
        lambda: iceberg.create_table(S, ICEBERG),
        lambda: iceberg.list_tables(S, Page()),
        lambda: iceberg.alter_table(S, "i", ADD),
        lambda: iceberg.alter_table(S, "i", [c.RenameTable("j")]),
    )
    purged = called(aws, lambda: iceberg.drop_table(S, "j", purge=True), lambda: iceberg.drop_schema(S, cascade=True))
    seen["Purge Iceberg tables"] = by("s3", purged) - by("s3", read) - seen["Create and alter Iceberg tables"]
    assert by("glue", every | purged) <= load | seen["Drop"] | seen["Create and alter"]
    assert by("s3", every) <= seen["Read Iceberg metadata"] | seen["Create and alter Iceberg tables"]

    headings = re.findall(r"^### (.*)$", PAGE.split("## Permissions", 1)[1], re.MULTILINE)
    assert {h: documented(h) for h in headings} == seen
