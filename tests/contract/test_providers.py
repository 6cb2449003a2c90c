"""The providers that Headwater brings along, and one from outside, against the contract."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from headwater.catalogs.base import Context, Provider
from headwater.catalogs.registry import Providers
from tests import servers
from tests.contract.provider import ProviderContract, Relational

PLUGINS = Path(__file__).parent.parent / "plugins" / "toybox"
_numbers = itertools.count()


def opened(name: str, folder: Path, properties: dict[str, str]) -> Provider:
    """A provider as the core opens it."""
    provider = Providers().get(name)
    provider.catalog_properties.check_new(properties, strict=True)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    return provider(
        Context(
            "c",
            properties,
            scratch,
            30.0,
            many_processes=False,
            check_local=lambda *_: None,
            check_removable=lambda *_: None,
        )
    )


@pytest.fixture(scope="module")
def postgres() -> Iterator[servers.postgres]:
    with servers.postgres(fsync=False) as started:
        yield started


class TestIcebergOnSqlite(ProviderContract):
    @pytest.fixture
    def provider(self, tmp_path: Path) -> Iterator[Provider]:
        properties = {"catalog-backend": "jdbc", "uri": f"sqlite:///{tmp_path}/ice.db", "warehouse": f"{tmp_path}/wh"}
        found = opened("lakehouse-iceberg", tmp_path, properties)
        yield found
        found.close()


class TestIcebergInMemory(ProviderContract):
    @pytest.fixture
    def provider(self, tmp_path: Path) -> Iterator[Provider]:
        found = opened("lakehouse-iceberg", tmp_path, {"catalog-backend": "memory"})
        yield found
        found.close()


class TestIcebergOnPostgres(ProviderContract):
    @pytest.fixture
    def provider(self, tmp_path: Path, postgres: servers.postgres) -> Iterator[Provider]:
        uri = urlsplit(postgres.create_database(f"ice{next(_numbers)}"))
        properties = {
            "catalog-backend": "jdbc",
            "uri": f"jdbc:postgresql://{uri.hostname}:{uri.port}{uri.path}",
            "jdbc-user": uri.username or "",
            "jdbc-password": uri.password or "",
            "warehouse": f"file://{tmp_path}/wh",
        }
        found = opened("lakehouse-iceberg", tmp_path, properties)
        yield found
        found.close()


class TestProviderFromOutside(ProviderContract):
    """Found by its entry point, with no edit elsewhere."""

    @pytest.fixture
    def provider(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Relational:
        monkeypatch.setattr(sys, "path", [*sys.path, str(PLUGINS)])
        return opened("toybox", tmp_path, {"colour": "red"})  # type: ignore[return-value]
