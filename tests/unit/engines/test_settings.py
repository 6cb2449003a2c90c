"""Settings for every engine and every kind of catalog, against golden files that name the page of each key."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from headwater.catalogs.registry import Providers
from headwater.core.catalogs import declared
from headwater.engines import ENGINES, PROVIDERS, Source, engine_settings, rendering
from headwater.engines.base import SERVER_ONLY, Sheet
from headwater.model.errors import IllegalArgumentError, UnsupportedOperationError
from headwater.model.properties import Kind, Property
from tests.unit.engines.cases import CASES, Case

GOLDEN = Path(__file__).parent / "golden"
PAGES = re.compile(
    r"https://(trino\.io/docs|iceberg\.apache\.org/docs|spark\.apache\.org/docs|hadoop\.apache\.org/docs"
    r"|nightlies\.apache\.org/flink|docs\.aws\.amazon\.com/emr|github\.com/awslabs)/.+"
)
EVERY = [(engine, name) for engine in ENGINES for name in CASES]


@pytest.mark.parametrize(("engine", "name"), EVERY)
def test_the_settings_are_those_of_the_golden_file(engine: str, name: str) -> None:
    """After a wanted change: WRITE_GOLDEN=1, and read the difference."""
    written = rendering.as_file(CASES[name].settings(engine))
    file = GOLDEN / f"{engine}-{name}.{'yaml' if engine == 'flink' else 'properties'}"
    if os.environ.get("WRITE_GOLDEN"):
        file.write_text(written)
    assert written == file.read_text()


def test_there_is_no_golden_file_too_many() -> None:
    assert len(list(GOLDEN.iterdir())) == len(EVERY)


@pytest.mark.parametrize(("engine", "name"), EVERY)
def test_every_key_names_the_page_that_explains_it(engine: str, name: str) -> None:
    for setting in CASES[name].settings(engine).settings:
        if setting.documentation is None:
            assert (setting.comment or "").startswith(f"from {engine}.bypass.")
        else:
            assert PAGES.fullmatch(setting.documentation), setting


# --- nothing is forgotten ------------------------------------------------------------------------------------------

BASES = {
    "glue": Case("glue", {"aws-region": "eu-west-1", "aws-glue-catalog-id": "123456789012"}),
    "hive": Case("hive", {"metastore.uris": "thrift://a:9083"}),
    "hive on glue": Case("hive", {"metastore-type": "glue"}),
    **{
        backend: Case("lakehouse-iceberg", {"catalog-backend": backend, "uri": uri})
        for backend, uri in (
            ("hive", "thrift://a:9083"), ("glue", ""), ("rest", "http://a"), ("jdbc", "postgresql://a/b"),
        )
    },
}  # fmt: skip
NEEDS = {
    "external-id": "role-arn", "sts-endpoint": "role-arn", "token-service-endpoint": "role-arn",
    "secret-access-key": "access-key-id", "session-token": "access-key-id", "access-key-id": "secret-access-key",
}  # fmt: skip


def sample(prop: Property) -> str:
    if prop.name == "default-table-format":
        return "hive"
    if prop.kind is Kind.CHOICE:
        return prop.choices[-1]
    if prop.kind is Kind.BOOLEAN:
        return "false" if prop.default == "true" else "true"
    if prop.kind is Kind.INTEGER:
        return "17"
    return "s3://somewhere/else" if prop.name == "warehouse" else f"given-{prop.name.strip('*')}"


def properties_of(base: str) -> list[Property]:
    provider = Providers().get(BASES[base].provider)
    return [p for p in declared(provider).declared if p.name not in BASES[base].properties and not p.reserved]


def is_the_servers_own(base: str, name: str) -> bool:
    """What only the server reads, or refuses; a catalog's second name counts in a database only."""
    if name == "catalog-backend-name":
        return base != "jdbc"
    return name in SERVER_ONLY or name.startswith(("kerberos.", "authentication."))


CHECKED = [
    (engine, base, prop)
    for engine in ENGINES
    for base in BASES
    for prop in properties_of(base)
    if not is_the_servers_own(base, prop.name)
]


@pytest.mark.parametrize(("engine", "base", "prop"), CHECKED, ids=lambda v: getattr(v, "name", v))
def test_every_declared_property_counts_or_is_named(engine: str, base: str, prop: Property) -> None:
    """With a property the answer is another one than without it."""
    case, key = BASES[base], prop.name.replace("*", "x")
    properties, hidden = dict(case.properties), []
    for suffix, other in NEEDS.items():
        if key.endswith(suffix):
            needed = key.removesuffix(suffix).removesuffix("token-service-").removesuffix("sts-") + other
            (hidden.append(needed) if "access-key" in needed else properties.update({needed: "arn:aws:iam::1:role/x"}))
    before = engine_settings(engine, case.provider, "sales", properties, hidden)
    if prop.hidden:
        after = engine_settings(engine, case.provider, "sales", properties, [*hidden, key])
    else:
        after = engine_settings(engine, case.provider, "sales", {**properties, key: sample(prop)}, hidden)
    assert after != before, f"{key} is ignored"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_nobody_knows_is_named(engine: str) -> None:
    found = engine_settings(engine, "hive", "h", {"metastore.uris": "thrift://a:1", "colour": "red"}, ["my-password"])
    assert f"colour, my-password: no setting of {engine.capitalize()} is made of it" in found.notes
    assert found.secrets == []


# --- single rules --------------------------------------------------------------------------------------------------


def test_engines_read_other_keys_than_the_designs_say() -> None:
    spark = CASES["glue"].settings("spark")
    assert spark.value("spark.sql.catalog.sales.glue.id") == "123456789012"
    assert spark.value("spark.sql.catalog.sales.glue.catalog-id") is None
    assert spark.value("spark.hadoop.hive.metastore.glue.catalogid") == "123456789012"
    assert "StaticCredentialsProvider" not in rendering.as_file(spark), "Iceberg can't make one of two keys"


def test_glue_for_trino_is_the_lakehouse_connector() -> None:
    found = CASES["glue-of-the-design"].settings("trino")
    assert found.connector == found.value("connector.name") == "lakehouse"
    assert "Trino 477 and later: mapping verified against its documentation, not run" in found.notes
    assert any("table-type-filter=hive" in note for note in found.notes)


def test_the_advice_is_not_given_to_those_who_follow_it() -> None:
    case = CASES["glue-of-the-design"]
    found = case._replace(properties={**case.properties, "table-type-filter": "hive"}).settings("trino")
    assert not any("set table-type-filter=hive" in note for note in found.notes)


def test_keys_of_an_engines_own_win_and_say_so() -> None:
    case = CASES["with-bypass"]
    trino = case.settings("trino")
    assert trino.value("hive.metastore.uri") == "thrift://c:9083"
    assert trino.value("iceberg.file-format") == "ORC"
    assert trino.value("s3.http-proxy.password") == "${ENV:HEADWATER_SALES_TRINO_BYPASS_S3_HTTP_PROXY_PASSWORD}"
    replaced = "trino.bypass.hive.metastore.uri replaces the value of hive.metastore.uri that follows from"
    assert [n for n in trino.notes if "replaces" in n] == [n for n in trino.notes if n.startswith(replaced)] != []
    spark = case.settings("spark")
    assert spark.value("spark.sql.catalog.sales.cache-enabled") == "false"
    assert spark.value("spark.sql.defaultCatalog") == "sales"
    assert case.settings("flink").value("default-database") == "db"
    for found in (trino, spark):
        assert not any(s.key.startswith(("flink", "trino.bypass", "spark.bypass")) for s in found.settings)


def test_secrets_of_one_kind_do_not_mix() -> None:
    """Glue is called by the aws- keys, files by the s3- keys."""
    case = Case("glue", {"aws-region": "eu-west-1", "aws-glue-catalog-id": "1"}, (
        "aws-access-key-id", "aws-secret-access-key", "s3-access-key-id", "s3-secret-access-key",
    ))  # fmt: skip
    trino = case.settings("trino")
    assert trino.value("hive.metastore.glue.aws-access-key") == "${ENV:HEADWATER_SALES_AWS_ACCESS_KEY_ID}"
    assert trino.value("s3.aws-access-key") == "${ENV:HEADWATER_SALES_S3_ACCESS_KEY_ID}"
    spark = case.settings("spark")
    assert spark.value("spark.sql.catalog.sales.s3.access-key-id") == "${HEADWATER_SALES_S3_ACCESS_KEY_ID}"
    assert {s.name: s.property for s in spark.secrets} == {
        "AWS_ACCESS_KEY_ID": "aws-access-key-id", "AWS_SECRET_ACCESS_KEY": "aws-secret-access-key",
        "HEADWATER_SALES_S3_ACCESS_KEY_ID": "s3-access-key-id",
        "HEADWATER_SALES_S3_SECRET_ACCESS_KEY": "s3-secret-access-key",
    }  # fmt: skip


def test_a_temporary_key_reaches_trino_by_its_environment() -> None:
    hidden = ("s3-access-key-id", "s3-secret-access-key", "s3-session-token")
    found = Case("hive", {"metastore.uris": "thrift://a:1"}, hidden).settings("trino")
    assert found.value("s3.aws-access-key") is None
    assert {s.name: s.property for s in found.secrets}["AWS_SESSION_TOKEN"] == "s3-session-token"
    assert any(note.startswith("s3-session-token:") for note in found.notes)


def test_an_iceberg_database_is_known_by_its_own_name() -> None:
    case = CASES["iceberg-jdbc"]
    assert case.settings("trino").value("iceberg.jdbc-catalog.catalog-name") == "ice"
    for engine in ("spark", "flink"):
        found = case.settings(engine)
        assert found.catalog == "ice"
        assert any("must call it ice" in note for note in found.notes)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("backend", ["memory", "custom"])
def test_what_lives_in_the_server_is_refused(engine: str, backend: str) -> None:
    with pytest.raises(UnsupportedOperationError, match=f"catalog-backend={backend}"):
        engine_settings(engine, "lakehouse-iceberg", "x", {"catalog-backend": backend})


def test_unknown_engines_and_providers() -> None:
    with pytest.raises(IllegalArgumentError, match="allowed are spark, trino, flink"):
        engine_settings("presto", "hive", "x", {})
    with pytest.raises(UnsupportedOperationError, match=", ".join(PROVIDERS)):
        engine_settings("trino", "fileset", "x", {})
    assert engine_settings("Trino", "hive", "x", {"metastore.uris": "thrift://a:1"}).engine == "trino"


def test_a_value_is_never_shown_once_it_is_hidden() -> None:
    """Even if somebody hands it over with the rest."""
    source = Source(
        "x", "hive", {"metastore.uris": "thrift://a:1", "s3-secret-access-key": "hush"}, ["s3-secret-access-key"]
    )
    assert Sheet(source).value("s3-secret-access-key") == "${HEADWATER_X_S3_SECRET_ACCESS_KEY}"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("provider", "properties", "secret"),
    [
        ("hive", {"s3-region": "eu-west-1"}, "metastore.uris"),
        ("lakehouse-iceberg", {"catalog-backend": "jdbc", "warehouse": "s3://b/w"}, "uri"),
        ("lakehouse-iceberg", {"catalog-backend": "rest", "uri": "http://a"}, "warehouse"),
    ],
)
def test_what_only_the_server_knows_is_asked_for(
    engine: str, provider: str, properties: dict[str, str], secret: str
) -> None:
    """A value that the server reads from its own environment, say."""
    found = engine_settings(engine, provider, "x", {**properties, secret: "env:WHERE"}, [secret])
    text = rendering.as_file(found)
    assert "env:WHERE" not in text
    named = [n for n in found.notes if n.startswith(f"{secret}: its value is a secret")]
    assert named or {s.property for s in found.secrets} == {secret}


# --- as text -------------------------------------------------------------------------------------------------------


def odd() -> Case:
    properties = {"metastore.uris": "thrift://a:1", "trino.bypass.k": "a\\b'c\"\nd ü😀", "flink.bypass.k": "it's\n`x`"}
    return Case("hive", properties, name='we"ird`')


def test_odd_values_survive_in_a_properties_file() -> None:
    line = next(x for x in rendering.as_file(odd().settings("trino")).splitlines() if x.startswith("k="))
    assert line == "k=a\\\\b'c\"\\nd \\u00fc\\ud83d\\ude00"


def test_odd_values_survive_in_sql() -> None:
    trino = rendering.as_sql(odd().settings("trino"))
    assert 'CREATE CATALOG "we""ird`" USING hive WITH (' in trino
    assert "\"k\" = 'a\\b''c\"\nd ü😀'" in trino
    assert '"connector.name"' not in trino
    flink = rendering.as_sql(odd().settings("flink"))
    assert 'CREATE CATALOG `we"ird``` WITH (' in flink
    assert "'k' = 'it''s\n`x`'" in flink


def test_flinks_file_is_yaml() -> None:
    import yaml

    assert yaml.safe_load(rendering.as_file(odd().settings("flink")))["k"] == "it's\n`x`"


def test_a_key_with_line_breaks_can_not_leave_its_comment() -> None:
    found = engine_settings("trino", "hive", "x", {"metastore.uris": "thrift://a:1", "a\nconnector.name=evil": "1"})
    assert "connector.name=evil" not in rendering.as_file(found).splitlines()
