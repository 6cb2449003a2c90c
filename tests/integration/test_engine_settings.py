"""What engines are told about a catalog: over the API, on the command line, and to real Spark in a fresh session."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from headwater import Client
from headwater.engines import ENGINES, EngineSettings
from headwater.model import errors
from tests import servers
from tests.engines.spark import SparkError, SparkSession
from tests.harness import Server, running
from tests.servers import artifacts
from tests.servers.coordinates import ICEBERG_REST_JARS, SPARK_PACKAGES
from tests.unit.engines.cases import CASES

KEY, SECRET = "AKIDENGINESETTINGS", "hush-hush-this-is-secret"
ROLE = "arn:aws:iam::123456789012:role/lake"
COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "name", "type": "string"}]
PLACEHOLDER = re.compile(r"\$\{(?:ENV:|env:)?(\w+)\}")


class World(msgspec.Struct):
    """Real metastores, and Headwater over them."""

    aws: servers.AwsServer
    hms: servers.HiveMetastore
    rest: servers.IcebergRestServer
    server: Server
    client: Client
    folder: Path

    @property
    def on_s3(self) -> dict[str, str]:
        return {
            "s3-endpoint": self.aws.uri, "s3-region": "us-east-1", "s3-path-style-access": "true",
            "s3-access-key-id": KEY, "s3-secret-access-key": SECRET,
        }  # fmt: skip

    @property
    def on_glue(self) -> dict[str, str]:
        keys = {f"aws-{k}": v for k, v in (("access-key-id", KEY), ("secret-access-key", SECRET))}
        where = {"aws-region": "us-east-1", "aws-glue-catalog-id": "123456789012", "aws-glue-endpoint": self.aws.uri}
        s3 = {k: v for k, v in self.on_s3.items() if "key" not in k}
        return {**where, **keys, **s3, "warehouse": "s3://lake/warehouse"}

    def properties(self, case: str) -> tuple[str, dict[str, str]]:
        """The provider and the properties of a catalog."""
        return {
            "glue": ("glue", self.on_glue),
            "ice_glue": ("lakehouse-iceberg", {"catalog-backend": "glue", **self.on_glue}),
            "ice_role": ("lakehouse-iceberg", {
                "catalog-backend": "glue", **self.on_glue, "aws-role-arn": ROLE, "aws-sts-endpoint": self.aws.uri,
            }),
            "ice_hms": ("lakehouse-iceberg", {
                "catalog-backend": "hive", "uri": self.hms.uri, "warehouse": str(self.folder / "ice_hms"),
            }),
            "ice_hms_s3": ("lakehouse-iceberg", {
                "catalog-backend": "hive", "uri": self.hms.uri, "warehouse": "s3://lake/ice_hms", **self.on_s3,
            }),
            "ice_rest": ("lakehouse-iceberg", {
                "catalog-backend": "rest", "uri": self.rest.uri, "gravitino.bypass.header.X-Who": SECRET,
            }),
            "ice_jdbc": ("lakehouse-iceberg", {
                "catalog-backend": "jdbc", "uri": f"sqlite:///{self.folder}/ice.db",
                "warehouse": str(self.folder / "ice_jdbc"),
            }),
            "hive_hms": ("hive", {"metastore.uris": self.hms.uri}),
            "hive_s3": ("hive", {"metastore.uris": self.hms.uri, **self.on_s3}),
        }[case]  # fmt: skip

    def make(self, case: str) -> EngineSettings:
        """A catalog with one empty table `t`, and what Spark is told about it."""
        provider, properties = self.properties(case)
        catalog = self.client.create_catalog(case, provider, properties=properties)
        schema = {"location": f"s3://lake/{case}.db"} if case == "hive_s3" else {}
        catalog.as_schemas().create_schema(f"db_{case}", properties=schema)
        catalog.as_table_catalog().create_table(f"db_{case}.t", COLUMNS)
        return catalog.engine_settings("spark")


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
        yield World(aws, hms, rest, server, client, folder)


def environment(found: EngineSettings, properties: Mapping[str, str]) -> dict[str, str]:
    """The variables that an engine's operator sets: exactly those that the answer lists."""
    return {secret.name: properties[secret.property] for secret in found.secrets}


def filled(found: EngineSettings, variables: Mapping[str, str]) -> dict[str, str]:
    """The settings with their placeholders filled from the environment."""
    return {s.key: PLACEHOLDER.sub(lambda m: variables[m[1]], s.value) for s in found.settings}


@contextlib.contextmanager
def fresh_spark(
    conf: Mapping[str, str], variables: Mapping[str, str], *packages: str, jars: tuple[Path, ...] = ()
) -> Iterator[SparkSession]:
    """Spark that knows nothing of our servers but what it is told."""
    found = [*jars, *(file for p in packages for file in artifacts.class_path(SPARK_PACKAGES["3.5"][p]))]
    session = SparkSession("3.5", conf, found, variables)
    try:
        yield session
    finally:
        session.close()


SESSIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "hive": (("hive_hms",), ()),
    "hive on s3": (("hive_s3",), ("s3a",)),
    "glue": (("glue", "ice_glue"), ("iceberg", "iceberg-aws", "s3a")),
    "glue by a role": (("ice_role",), ("iceberg", "iceberg-aws")),
    "iceberg": (("ice_hms", "ice_hms_s3", "ice_rest", "ice_jdbc"), ("iceberg", "iceberg-aws")),
}
"""Catalogs that one fresh session is told of, side by side, and the packages that the notes ask for."""


@pytest.mark.parametrize("session", SESSIONS)
def test_spark_reads_and_writes_with_nothing_but_the_settings(session: str, world: World) -> None:
    cases, packages = SESSIONS[session]
    conf: dict[str, str] = {}
    variables: dict[str, str] = {}
    names = {}
    for case in cases:
        found = world.make(case)
        own = environment(found, world.properties(case)[1])
        told = filled(found, own)
        assert all(conf.get(key, value) == value for key, value in told.items()), "catalogs get along"
        conf, variables, names[case] = conf | told, variables | own, found.catalog
    if "ice_role" in cases:  # what the notes on the role say
        endpoints = dict.fromkeys(("AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL_GLUE"), world.aws.uri)
        variables |= {"AWS_REGION": "us-east-1", **endpoints}
    sqlite = next(j for j in artifacts.class_path(ICEBERG_REST_JARS) if "sqlite-jdbc" in j.name)
    world.aws.forget_calls()
    with fresh_spark(conf, variables, *packages, jars=(sqlite,) if "ice_jdbc" in cases else ()) as spark:
        for case, catalog in names.items():
            table = f"{catalog}.db_{case}.t"
            spark.sql(f"INSERT INTO {table} VALUES (1, 'one'), (2, 'two')")
            assert spark.rows(f"SELECT * FROM {table} ORDER BY id") == [[1, "one"], [2, "two"]]
    calls = world.aws.calls()
    used = {call["accessKeyId"] for call in calls if call["service"] in ("glue", "s3")}
    if "ice_role" in cases:
        assert used and KEY not in used, "the role's own keys are used"
        assert {call["accessKeyId"] for call in calls if call["service"] == "sts"} == {KEY}
    elif session == "glue":
        assert used == {KEY}, "the keys came from the environment"
    for case in cases:
        loaded = world.client.load_catalog(case).as_table_catalog().load_table(f"db_{case}.t")
        if not case.startswith("hive"):
            assert int(loaded.properties["current-snapshot-id"]) > 0, "Headwater sees what Spark wrote"


def test_sql_makes_the_catalog_in_a_running_session(world: World) -> None:
    """Spark fills in the environment by itself here."""
    world.client.create_catalog("later", "glue", properties=world.on_glue)
    world.client.load_catalog("later").as_schemas().create_schema("db_later")
    world.client.load_catalog("later").as_table_catalog().create_table("db_later.t", COLUMNS)
    text = cli(world, "later", "spark", "sql")
    found = world.client.load_catalog("later").engine_settings("spark")
    variables = environment(found, world.on_glue)
    with fresh_spark({}, variables, "iceberg", "iceberg-aws") as spark:
        with pytest.raises(SparkError):
            spark.sql("SELECT * FROM later.db_later.t")
        for line in text.splitlines():
            if not line.startswith("--"):
                spark.sql(line.removesuffix(";"))
        spark.sql("INSERT INTO later.db_later.t VALUES (7, 'seven')")
        assert spark.rows("SELECT * FROM later.db_later.t") == [[7, "seven"]]


# --- over the API and on the command line --------------------------------------------------------------------------


def cli(world: World, name: str, engine: str, form: str | None = None, *more: str) -> str:
    flags = ["--format", form] if form else []
    done = run_cli(world, "catalog", "engine-config", "--name", name, "--engine", engine, *flags, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_cli(world: World, *args: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HEADWATER_")}
    environment = {**kept, "HEADWATER_URI": world.server.uri, "HEADWATER_METALAKE": "lake"}
    command = [sys.executable, "-m", "headwater.cli.main", *args]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def shown(world: World) -> str:
    """A catalog with secrets, whose engines' settings are looked at."""
    more = {"trino.bypass.hive.security": "allow-all", "flink.bypass.default-database": "sales", "colour": "red"}
    secret = {"trino.bypass.s3.sse.customer-secret-access-key": SECRET}
    world.client.create_catalog("shown", "glue", properties={**world.on_glue, **more, **secret})
    return "shown"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_route_answers_without_secrets(engine: str, shown: str, world: World) -> None:
    answer = world.server.call("GET", f"/api/metalakes/lake/catalogs/{shown}/engines/{engine}")
    assert answer.status == 200
    assert answer.json["code"] == 0
    found = answer.json["engineSettings"]
    assert (found["engine"], found["catalog"]) == (engine, shown)
    assert KEY.encode() not in answer.raw and SECRET.encode() not in answer.raw
    assert {s["property"] for s in found["secrets"]} >= {"aws-access-key-id", "aws-secret-access-key"}
    assert any(note.startswith("colour:") for note in found["notes"])
    assert all(s.get("documentation") or s["comment"].startswith("from ") for s in found["settings"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", [None, "properties", "sql", "json"])
def test_the_command_line_shows_no_secret(engine: str, form: str | None, shown: str, world: World) -> None:
    text = cli(world, shown, engine, form)
    assert KEY not in text and SECRET not in text
    assert "aws-secret-access-key" in text
    if form == "json":
        assert json.loads(text)["engine"] == engine
    elif form == "sql":
        assert ("SET `spark.sql.catalog.shown`=" if engine == "spark" else "CREATE CATALOG ") in text
    elif engine == "flink":
        assert yaml.safe_load(text)["default-database"] == "sales"
    else:
        assert all("=" in line for line in text.splitlines() if not line.startswith("#"))
    if engine == "trino" and form != "json":
        assert "${ENV:HEADWATER_SHOWN_AWS_SECRET_ACCESS_KEY}" in text
        assert "${ENV:HEADWATER_SHOWN_TRINO_BYPASS_S3_SSE_CUSTOMER_SECRET_ACCESS_KEY}" in text


def test_the_output_option_is_kept(shown: str, world: World) -> None:
    assert yaml.safe_load(cli(world, shown, "trino", None, "--output", "yaml"))["connector"] == "lakehouse"


def test_statements_that_spark_can_not_run_are_refused(world: World) -> None:
    world.client.create_catalog("only_hive", "hive", properties={"metastore.uris": world.hms.uri})
    done = run_cli(world, "catalog", "engine-config", "--name", "only_hive", "--engine", "spark", "--format", "sql")
    assert done.returncode == 1
    assert "use the format properties" in done.stderr


def test_an_unknown_engine_is_a_400_that_names_the_known_ones(shown: str, world: World) -> None:
    answer = world.server.call("GET", f"/api/metalakes/lake/catalogs/{shown}/engines/duckdb")
    assert (answer.status, answer.json["type"]) == (400, "IllegalArgumentException")
    assert answer.json["message"] == "engine: 'duckdb' is not allowed; allowed are spark, trino, flink"
    with pytest.raises(errors.IllegalArgumentError, match="spark, trino, flink"):
        world.client.load_catalog(shown).engine_settings("duckdb")


@pytest.mark.parametrize(
    ("provider", "properties", "why"),
    [
        ("fileset", {}, "no connector for provider fileset"),
        ("lakehouse-iceberg", {"catalog-backend": "memory"}, "inside the server's own process"),
    ],
)
def test_a_catalog_that_no_engine_can_have_says_why(
    provider: str, properties: dict[str, str], why: str, world: World
) -> None:
    name = f"own_{provider[:4]}"
    world.client.create_catalog(name, provider, properties=properties)
    for engine in ENGINES:
        answer: Any = world.server.call("GET", f"/api/metalakes/lake/catalogs/{name}/engines/{engine}")
        assert (answer.status, answer.json["type"]) == (405, "UnsupportedOperationException")
        assert why in answer.json["message"]


def test_missing_and_disabled_catalogs(shown: str, world: World) -> None:
    assert world.server.call("GET", "/api/metalakes/lake/catalogs/none/engines/trino").status == 404
    world.client.disable_catalog(shown)
    try:
        assert world.server.call("GET", f"/api/metalakes/lake/catalogs/{shown}/engines/trino").status == 409
    finally:
        world.client.enable_catalog(shown)


def test_a_change_of_the_catalog_changes_the_answer(world: World) -> None:
    catalog = world.client.create_catalog("moving", "hive", properties={"metastore.uris": "thrift://old:9083"})
    assert catalog.engine_settings("trino").value("hive.metastore.uri") == "thrift://old:9083"
    change = {"@type": "setProperty", "property": "metastore.uris", "value": "thrift://new:9083"}
    world.client.alter_catalog("moving", change)
    assert catalog.engine_settings("trino").value("hive.metastore.uri") == "thrift://new:9083"


KNOWN_CLASSES = re.compile(
    r"org/apache/iceberg/(aws/|rest/|jdbc/|CatalogProperties|CatalogUtil|spark/SparkCatalog|ClientPool)[\w/]*\.class"
)


def test_iceberg_knows_every_key() -> None:
    """Golden files name keys that no session here sets: Iceberg's own classes must know them all the same."""
    jar = next(j for j in artifacts.class_path(SPARK_PACKAGES["3.5"]["iceberg"]) if "runtime" in j.name)
    with zipfile.ZipFile(jar) as archive:
        known = b"".join(archive.read(n) for n in archive.namelist() if KNOWN_CLASSES.fullmatch(n))
    keys = set()
    for case in CASES.values():
        for setting in case.settings("spark").settings:
            _, _, key = setting.key.removeprefix("spark.sql.catalog.").partition(".")
            if setting.documentation and setting.key.startswith("spark.sql.catalog.") and key:
                keys.add("header." if key.startswith("header.") else key)
    assert len(keys) > 20
    # jdbc.user and jdbc.password are the driver's: Iceberg passes on what follows "jdbc.".
    assert [k for k in sorted(keys) if k.encode() not in known and k not in ("jdbc.user", "jdbc.password")] == []
