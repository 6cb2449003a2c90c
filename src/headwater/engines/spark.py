"""Spark: lines of spark-defaults.conf, or `--conf`. Tested with Spark 3.5 and Iceberg 1.9."""

from __future__ import annotations

from headwater.engines import database, hive
from headwater.engines.aws import Aws, scheme
from headwater.engines.base import EngineSettings, Sheet, Source
from headwater.engines.iceberg import GLUE_CATALOG, IcebergOptions

HIVE_TABLES = "https://spark.apache.org/docs/3.5.4/sql-data-sources-hive-tables.html"
CONFIGURATION = "https://spark.apache.org/docs/3.5.4/configuration.html"
ICEBERG = "https://iceberg.apache.org/docs/latest/spark-configuration/"

SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
SESSION_CATALOG = "spark_catalog"


class SparkSheet(Sheet):
    """Spark has no way of its own to name a secret: whoever starts it fills in `${NAME}`."""

    engine = "spark"
    title = "Spark"

    def hadoop(self, key: str, value: str | None, documentation: str) -> None:
        """A property of Hadoop or Hive."""
        self.add(f"spark.hadoop.{key}", value, documentation)

    def iceberg(self, key: str, value: str | None, documentation: str) -> None:
        """A property of the Iceberg catalog."""
        self.add(f"spark.sql.catalog.{self.catalog}.{key}", value, documentation)


def settings(source: Source) -> EngineSettings:
    """What Spark must be told of a catalog."""
    sheet = SparkSheet(source)
    if source.provider == "hive":
        _hive(sheet, on_glue=source.choice("metastore-type", "hive") == "glue")
        return sheet.finish(lambda key: key if key.startswith("spark.") else f"spark.hadoop.{key}")
    if source.provider == "glue":
        _iceberg(sheet)
        _hive(sheet, on_glue=True)
        sheet.note(f"{sheet.catalog} holds the Iceberg tables; all others are in {SESSION_CATALOG}")
        sheet.note("Delta and Hudi tables need their makers' packages and extensions too")
    else:
        _iceberg(sheet)
    return sheet.finish(lambda key: key if key.startswith("spark.") else f"spark.sql.catalog.{sheet.catalog}.{key}")


def _iceberg(sheet: SparkSheet) -> None:
    source = sheet.source
    backend = "glue" if source.provider == "glue" else source.choice("catalog-backend")
    if backend == "jdbc":
        database.call_by_backend_name(sheet)
    sheet.add("spark.sql.extensions", EXTENSIONS, ICEBERG)
    sheet.add(f"spark.sql.catalog.{sheet.catalog}", SPARK_CATALOG, ICEBERG)
    kind = ("catalog-impl", GLUE_CATALOG) if backend == "glue" else ("type", backend)
    IcebergOptions(sheet, sheet.iceberg, kind, ICEBERG).write()
    packages = "iceberg-spark-runtime"
    if any(sheet.has(f"spark.sql.catalog.{sheet.catalog}.{k}") for k in ("client.region", "s3.endpoint", "glue.id")):
        packages += " and iceberg-aws-bundle"
    sheet.note(f"Spark needs the packages org.apache.iceberg:{packages} of its own version")


def _hive(sheet: SparkSheet, *, on_glue: bool) -> None:
    """Spark's own Hive support, of which a session has one."""
    source = sheet.source
    mixed = source.provider == "glue"
    aws = Aws(source, separate=mixed)
    if not mixed:
        sheet.catalog = SESSION_CATALOG
        sheet.note(f"Spark has one Hive catalog in a session, and calls it {SESSION_CATALOG}")
    sheet.add("spark.sql.catalogImplementation", "hive", HIVE_TABLES)
    if on_glue:
        hive.glue_client(sheet, aws, sheet.hadoop)
        sheet.cannot("without effect, for the tables are in Glue", "metastore.uris", "default.catalog")
    else:
        aws.without_glue(sheet)
        sheet.hadoop("hive.metastore.uris", source.take("metastore.uris"), CONFIGURATION)
        if source.take("default.catalog", "hive") != "hive":
            sheet.note("default.catalog: Spark's Hive client knows only the Metastore's catalog hive")
        sheet.note(
            "For a Hive Metastore 4 set spark.sql.hive.metastore.version and spark.sql.hive.metastore.jars too; "
            f"Spark 4.1 and later can: {HIVE_TABLES}"
        )
    warehouse = source.take("warehouse")
    if warehouse is not None and not mixed:
        sheet.note("warehouse: it is for Iceberg tables made through Headwater; Spark puts tables where it is told")
    if on_glue or aws.names_s3 or scheme(warehouse) == "s3":
        for name in ("s3", "s3n"):
            sheet.hadoop(f"fs.{name}.impl", hive.S3A_FILE_SYSTEM, hive.S3A)
        hive.s3a(sheet, aws, sheet.hadoop)
        sheet.note("Spark needs the package org.apache.hadoop:hadoop-aws of its Hadoop's version to read S3")
    if not mixed:
        sheet.note(
            "Iceberg tables in it need Iceberg's packages, and spark.sql.catalog.spark_catalog="
            "org.apache.iceberg.spark.SparkSessionCatalog with spark.sql.catalog.spark_catalog.type=hive"
        )
    sheet.filters()
    sheet.source.deal_with("default-table-format")
