"""The Iceberg provider against the contract, on every backend that a server stands behind."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.catalogs.base import Page, Provider
from tests import servers
from tests.contract.provider import ProviderContract
from tests.contract.test_providers import opened

_numbers = itertools.count()


@pytest.fixture(scope="module")
def rest() -> Iterator[servers.iceberg_rest]:
    with servers.iceberg_rest() as started:
        yield started


@pytest.fixture(scope="module")
def hms31() -> Iterator[servers.hms31]:
    with servers.hms31() as started:
        yield started


@pytest.fixture(scope="module")
def hms40() -> Iterator[servers.hms40]:
    with servers.hms40() as started:
        yield started


@pytest.fixture(scope="module")
def aws() -> Iterator[servers.aws]:
    with servers.aws() as started:
        started.create_bucket("tables")
        yield started


@contextlib.contextmanager
def emptied(folder: Path, properties: dict[str, str], *kept: str) -> Iterator[Provider]:
    """An open provider on a backend that other tests used before."""
    provider = opened("lakehouse-iceberg", folder, properties)
    for name in provider.list_schemas((), Page()):  # type: ignore[attr-defined]
        if name not in kept:
            provider.drop_schema((name,), cascade=True)  # type: ignore[attr-defined]
    yield provider
    provider.close()


class TestIcebergOnRest(ProviderContract):
    @pytest.fixture
    def provider(self, tmp_path: Path, rest: servers.iceberg_rest) -> Iterator[Provider]:
        with emptied(tmp_path, {"catalog-backend": "rest", "uri": rest.uri}) as found:
            yield found


class OnMetastore(ProviderContract):
    """Databases: one level, lower case."""

    knows_upper_case = False
    knows_schemas_inside_schemas = False


class OnHive(OnMetastore):
    default_schemas = ("default",)
    characters = "c_"


class TestIcebergOnHive31(OnHive):
    @pytest.fixture
    def provider(self, tmp_path: Path, hms31: servers.hms31) -> Iterator[Provider]:
        properties = {"catalog-backend": "hive", "uri": hms31.uri, "warehouse": f"{tmp_path}/wh"}
        with emptied(tmp_path, properties, "default") as found:
            yield found


class TestIcebergOnHive40(OnHive):
    @pytest.fixture
    def provider(self, tmp_path: Path, hms40: servers.hms40) -> Iterator[Provider]:
        properties = {"catalog-backend": "hive", "uri": hms40.uri, "warehouse": f"{tmp_path}/wh"}
        with emptied(tmp_path, properties, "default") as found:
            yield found


class TestIcebergOnGlue(OnMetastore):
    @pytest.fixture
    def provider(self, tmp_path: Path, aws: servers.aws) -> Iterator[Provider]:
        properties = {
            "catalog-backend": "glue",
            "warehouse": "s3://tables/wh",
            "s3-region": "us-east-1",
            "s3-endpoint": aws.uri,
            "aws-glue-endpoint": aws.uri,
            "s3-access-key-id": aws.credentials["AWS_ACCESS_KEY_ID"],
            "s3-secret-access-key": aws.credentials["AWS_SECRET_ACCESS_KEY"],
            "s3-path-style-access": "true",
        }
        with emptied(tmp_path, properties) as found:
            yield found
