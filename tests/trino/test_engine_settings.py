"""Real Trino with nothing but the generated settings loads and reads tables."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater import Client
from headwater.engines import EngineSettings, rendering
from tests import servers
from tests.harness import running
from tests.servers import artifacts
from tests.servers.coordinates import TRINO_ARCHIVE
from tests.unit.engines.cases import CASES

KEY, SECRET = "AKIDTRINO", "hush-hush-this-is-secret"
COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "name", "type": "string"}]
CATALOGS = ("hive_hms", "hive_s3", "hive_glue", "ice_hms", "ice_hms_s3", "ice_glue", "ice_rest")


class World(msgspec.Struct):
    """Metastores, Headwater over them, and Trino with the files that Headwater's settings came to."""

    aws: servers.AwsServer
    client: Client
    trino: servers.TrinoServer
    found: dict[str, EngineSettings]


def catalogs(aws: servers.AwsServer, hms: str, rest: str, folder: Path) -> dict[str, tuple[str, dict[str, str]]]:
    s3 = {"s3-endpoint": aws.uri, "s3-region": "us-east-1", "s3-path-style-access": "true"}
    s3_keys = {"s3-access-key-id": KEY, "s3-secret-access-key": SECRET}
    glue = {
        "aws-region": "us-east-1", "aws-glue-endpoint": aws.uri, "aws-glue-catalog-id": "123456789012",
        "aws-access-key-id": KEY, "aws-secret-access-key": SECRET, "warehouse": "s3://lake/warehouse", **s3,
    }  # fmt: skip
    on_hms = {"catalog-backend": "hive", "uri": hms}
    return {
        "hive_hms": ("hive", {"metastore.uris": hms}),
        "hive_s3": ("hive", {"metastore.uris": hms, **s3, **s3_keys}),
        "hive_glue": ("hive", {"metastore-type": "glue", **glue}),
        "ice_hms": ("lakehouse-iceberg", {**on_hms, "warehouse": str(folder / "ice_hms")}),
        "ice_hms_s3": ("lakehouse-iceberg", {**on_hms, "warehouse": "s3://lake/ice_hms", **s3, **s3_keys}),
        "ice_glue": ("lakehouse-iceberg", {"catalog-backend": "glue", **glue}),
        "ice_rest": ("lakehouse-iceberg", {"catalog-backend": "rest", "uri": rest}),
    }


def locations(name: str) -> dict[str, str]:
    return {"location": f"s3://lake/{name}.db"} if name in ("hive_s3", "hive_glue") else {}


class TrinoWithVariables(servers.TrinoServer):
    """Its operator has set the variables that the settings name."""

    variables: Mapping[str, str] = {}

    def environment(self) -> Mapping[str, str]:
        return {**super().environment(), **type(self).variables}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("lake")
    with (
        servers.aws() as aws,
        servers.hms31(aws=aws) as hms,
        servers.iceberg_rest() as rest,
        running(folder / "data", env={"AWS_CONFIG_FILE": os.devnull}) as server,
        Client(uri=server.uri, metalake="lake") as client,
    ):
        aws.create_bucket("lake")
        client.create_metalake("lake")
        found: dict[str, EngineSettings] = {}
        variables: dict[str, str] = {}
        for name, (provider, properties) in catalogs(aws, hms.uri, rest.uri, folder).items():
            catalog = client.create_catalog(name, provider, properties=properties)
            catalog.as_schemas().create_schema(f"db_{name}", properties=locations(name))
            catalog.as_table_catalog().create_table(f"db_{name}.t", COLUMNS)
            found[name] = catalog.engine_settings("trino")
            variables |= {secret.name: properties[secret.property] for secret in found[name].secrets}
        TrinoWithVariables.variables = variables
        files = {name: {s.key: s.value for s in settings.settings} for name, settings in found.items()}
        with TrinoWithVariables(catalogs=files) as trino:
            yield World(aws, client, trino, found)


@pytest.mark.parametrize("name", CATALOGS)
def test_trino_reads_and_writes_with_nothing_but_the_settings(name: str, world: World) -> None:
    table = f"{name}.db_{name}.t"
    world.aws.forget_calls()
    if name != "hive_glue":  # Glue's tables are external: Trino writes to them only when told to
        world.trino.query(f"INSERT INTO {table} VALUES (1, 'one'), (2, 'two')")
        expected: list[list[Any]] = [[1, "one"], [2, "two"]]
    else:
        expected = []
    assert world.trino.query(f"SELECT * FROM {table} ORDER BY id") == expected
    assert world.trino.query(f"SHOW TABLES FROM {name}.db_{name}") == [["t"]]
    used = {call["accessKeyId"] for call in world.aws.calls() if call["service"] in ("glue", "s3")}
    if name.endswith(("glue", "s3")):
        assert used == {KEY}, "the keys came from the environment"
    if name.startswith("ice"):
        loaded = world.client.load_catalog(name).as_table_catalog().load_table(f"db_{name}.t")
        assert int(loaded.properties["current-snapshot-id"]) > 0, "Headwater sees what Trino wrote"


def test_a_table_of_trinos_is_seen_by_headwater(world: World) -> None:
    world.trino.query("CREATE TABLE ice_glue.db_ice_glue.made AS SELECT 5 AS n")
    tables = world.client.load_catalog("ice_glue").as_table_catalog()
    assert [c.name for c in tables.load_table("db_ice_glue.made").columns] == ["n"]


@pytest.mark.parametrize("name", ["hive_hms", "ice_glue"])
def test_sql_makes_the_catalog_in_a_running_trino(name: str, world: World) -> None:
    """Placeholders are filled in here as well."""
    found = msgspec.structs.replace(world.found[name], catalog=f'{name}"2')
    statement = "\n".join(line for line in rendering.as_sql(found).splitlines() if not line.startswith("--"))
    world.trino.query(statement.removesuffix(";"))
    try:
        assert world.trino.query(f'SELECT count(*) FROM "{name}""2".db_{name}.t') == world.trino.query(
            f"SELECT count(*) FROM {name}.db_{name}.t"
        )
    finally:
        world.trino.query(f'DROP CATALOG "{name}""2"')


def test_trino_knows_every_key() -> None:
    """Golden files name keys that no catalog here sets; an unknown one would keep a catalog from being loaded."""
    plugins = artifacts.archive(TRINO_ARCHIVE) / "plugin"
    known = b""
    for jar in (file for plugin in ("hive", "iceberg") for file in (plugins / plugin).glob("io.trino_*.jar")):
        with zipfile.ZipFile(jar) as archive:
            known += b"".join(archive.read(n) for n in archive.namelist() if n.endswith("Config.class"))
    keys = {s.key for case in CASES.values() for s in case.settings("trino").settings}
    assert len(keys) > 40
    # The connector's name is Trino's own business; connector lakehouse came with Trino 477.
    unknown = [k for k in sorted(keys) if k.encode() not in known]
    assert unknown == ["connector.name", "lakehouse.table-type"]
