"""The providers of metastores that hold many formats, each on real servers, against the contract."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.catalogs.base import Page, Provider
from tests import servers
from tests.contract.provider import ProviderContract, Relational
from tests.contract.test_providers import opened

_numbers = itertools.count()


@pytest.fixture(scope="module")
def hms31() -> Iterator[servers.Server]:
    with servers.hms31() as started:
        yield started


@pytest.fixture(scope="module")
def hms40() -> Iterator[servers.Server]:
    with servers.hms40() as started:
        yield started


@pytest.fixture(scope="module")
def moto() -> Iterator[servers.MotoServer]:
    with servers.moto() as started:
        started.create_bucket("lake")
        yield started


def emptied(provider: Relational) -> Relational:
    """The same metastore serves all tests of a suite: each one begins without schemas."""
    for name in provider.list_schemas((), Page()):
        if name != "default":
            provider.drop_schema((name,), cascade=True)
    return provider


class HiveContract(ProviderContract):
    """Hive tables know less than others."""

    knows_upper_case = False
    knows_not_null = False
    knows_schemas_inside_schemas = False
    default_schemas = ("default",)
    characters = "z_9"


class TestHiveOnHms31(HiveContract):
    guards_positions = True

    @pytest.fixture
    def provider(self, tmp_path: Path, hms31: servers.Server) -> Iterator[Provider]:
        found = opened("hive", tmp_path, {"metastore.uris": hms31.uri})
        yield emptied(found)  # type: ignore[arg-type, misc]
        found.close()


class TestHiveOnHms40(HiveContract):
    guards_positions = True

    @pytest.fixture
    def provider(self, tmp_path: Path, hms40: servers.Server) -> Iterator[Provider]:
        found = opened("hive", tmp_path, {"metastore.uris": hms40.uri})
        yield emptied(found)  # type: ignore[arg-type, misc]
        found.close()


def glue_properties(moto: servers.MotoServer) -> dict[str, str]:
    return {
        "aws-glue-endpoint": moto.uri,
        "s3-endpoint": moto.uri,
        "s3-path-style-access": "true",
        "warehouse": "s3://lake/warehouse",
    }


class TestHiveOnGlue(HiveContract):
    """Provider hive with metastore-type=glue."""

    renames_tables = False
    default_schemas = ()

    @pytest.fixture
    def provider(self, tmp_path: Path, moto: servers.MotoServer) -> Iterator[Provider]:
        moto.reset()
        moto.create_bucket("lake")
        properties = {
            "metastore-type": "glue",
            "s3-region": moto.region,
            "s3-access-key-id": moto.access_key_id,
            "s3-secret-access-key": moto.secret_access_key,
        }
        found = opened("hive", tmp_path, {**properties, **glue_properties(moto)})
        yield found
        found.close()


class TestGlue(ProviderContract):
    """Provider glue, whose new tables are Iceberg's."""

    knows_upper_case = False
    knows_schemas_inside_schemas = False
    characters = "z_9"

    @pytest.fixture
    def provider(self, tmp_path: Path, moto: servers.MotoServer) -> Iterator[Provider]:
        moto.reset()
        moto.create_bucket("lake")
        properties = {
            "aws-region": moto.region,
            "aws-glue-catalog-id": "123456789012",
            "aws-access-key-id": moto.access_key_id,
            "aws-secret-access-key": moto.secret_access_key,
        }
        found = opened("glue", tmp_path, {**properties, **glue_properties(moto)})
        yield found
        found.close()
