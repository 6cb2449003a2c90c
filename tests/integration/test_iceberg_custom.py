"""Iceberg tables behind a Python class: only one that the server's operator allows."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from headwater.catalogs.base import Context, NewTable, Page
from headwater.catalogs.iceberg import IcebergProvider
from headwater.model import Column, types
from headwater.model.errors import ConnectionFailedError, IllegalArgumentError
from tests.contract.test_providers import opened

MODULE = """
from pyiceberg.catalog.memory import InMemoryCatalog

class Own(InMemoryCatalog):
    def __init__(self, name, **properties):
        assert properties["greeting"] == "hello"
        super().__init__(name, **properties)

class Other:
    pass
"""


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """Of a server on which a package offers the catalog class `own`."""
    package = tmp_path / "packages"
    information = package / "own_catalogs-1.0.dist-info"
    information.mkdir(parents=True)
    (package / "own_catalogs.py").write_text(MODULE)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: own-catalogs\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[headwater.iceberg_catalogs]\nown = own_catalogs:Own\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(package)])
    monkeypatch.delitem(sys.modules, "own_catalogs", raising=False)
    return opened("lakehouse-iceberg", tmp_path, {"catalog-backend": "memory"}).context


def provider(context: Context, impl: str, *allowed: str) -> IcebergProvider:
    properties = {
        "catalog-backend": "custom",
        "catalog-backend-impl": impl,
        "warehouse": f"file://{context.scratch}/wh",
        "gravitino.bypass.greeting": "hello",
    }
    IcebergProvider.catalog_properties.check_new(properties, strict=True)
    return IcebergProvider(msgspec.structs.replace(context, properties=properties, allowed_classes=frozenset(allowed)))


@pytest.mark.parametrize("allowed", [("own",), ("own_catalogs.Own", "own_catalogs.Own")])
def test_allowed_classes(context: Context, allowed: tuple[str, ...]) -> None:
    found = provider(context, *allowed)
    assert "own_catalogs" not in sys.modules, "nothing is imported before it is needed"
    found.test()
    found.create_schema(("s",), "a schema", {})
    found.create_table(("s",), NewTable("t", [Column("id", types.Long())]))
    assert found.list_tables(("s",), Page()) == ["t"]
    assert found.load_table(("s",), "t").value.columns[0].name == "id"
    assert found.drop_table(("s",), "t", purge=True) is True
    found.close()


@pytest.mark.parametrize("impl", ["own_catalogs.Own", "own_catalogs:Own", "os.system", "other", ""])
def test_other_classes(context: Context, impl: str) -> None:
    with pytest.raises(IllegalArgumentError, match=r"catalog-backend-impl: .* is not allowed; .*custom-classes: .*own"):
        provider(context, impl)


def test_impl_is_required(context: Context) -> None:
    with pytest.raises(IllegalArgumentError, match="catalog-backend-impl"):
        IcebergProvider.catalog_properties.check_new({"catalog-backend": "custom"})


@pytest.mark.parametrize(
    ("impl", "reason"),
    [
        ("own_catalogs.Other", "is not a pyiceberg catalog class"),
        ("own_catalogs.Missing", "can't be imported"),
        ("no_such_module.Own", "can't be imported"),
    ],
)
def test_classes_that_are_none(context: Context, impl: str, reason: str) -> None:
    found = provider(context, impl, impl)
    with pytest.raises(ConnectionFailedError, match=reason):
        found.test()
