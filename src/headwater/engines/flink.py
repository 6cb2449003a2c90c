"""Flink: the options of CREATE CATALOG, and the files that stand beside them. Verified against its documentation."""

from __future__ import annotations

from xml.sax.saxutils import escape

from headwater.engines import database, hive
from headwater.engines.aws import Aws, scheme
from headwater.engines.base import EngineSettings, Sheet, Source
from headwater.engines.iceberg import GLUE_CATALOG, JDBC_CATALOG, IcebergOptions

HIVE = "https://nightlies.apache.org/flink/flink-docs-stable/docs/connectors/table/hive/overview/"
S3 = "https://nightlies.apache.org/flink/flink-docs-stable/docs/deployment/filesystems/s3/"
ICEBERG = "https://iceberg.apache.org/docs/latest/flink-configuration/"

CONF_FOLDER = "/opt/flink/conf/"
HIVE_SITE, FLINK_CONFIG = "hive-site.xml", "config.yaml"

_IMPLEMENTATIONS = {"glue": GLUE_CATALOG, "jdbc": JDBC_CATALOG}
"""Flink's `catalog-type` knows only hive, hadoop and rest in every release; all others are named by their class."""


class FlinkSheet(Sheet):
    """Flink has no way of its own to name a secret: whoever runs the statement fills in `${NAME}`."""

    engine = "flink"
    title = "Flink"

    def iceberg(self, key: str, value: str | None, documentation: str) -> None:
        """A property of the Iceberg catalog is an option of the statement."""
        self.add(key, value, documentation)


def settings(source: Source) -> EngineSettings:
    """What Flink must be told of a catalog."""
    sheet = FlinkSheet(source)
    if source.provider == "hive":
        _hive(sheet)
    else:
        _iceberg(sheet)
        if source.provider == "glue":
            sheet.note(
                "Only the Iceberg tables: for Hive tables in Glue make a catalog of provider hive with "
                "metastore-type=glue and take its settings"
            )
    sheet.note("Mapping verified against Flink's and Iceberg's documentation, not run")
    return sheet.finish()


def _iceberg(sheet: FlinkSheet) -> None:
    source = sheet.source
    backend = "glue" if source.provider == "glue" else source.choice("catalog-backend")
    if backend == "jdbc":
        database.call_by_backend_name(sheet)
    sheet.add("type", "iceberg", ICEBERG)
    named = _IMPLEMENTATIONS.get(backend)
    kind = ("catalog-impl", named) if named else ("catalog-type", backend)
    IcebergOptions(sheet, sheet.iceberg, kind, ICEBERG).write()
    packages = "iceberg-flink-runtime"
    if any(sheet.has(key) for key in ("client.region", "s3.endpoint", "glue.id")):
        packages += " and iceberg-aws-bundle"
    sheet.note(f"Flink needs the packages org.apache.iceberg:{packages} of its own version, and Hadoop's classes")
    if source.provider == "glue":
        sheet.filters()
    sheet.source.deal_with("default-table-format")


def _hive(sheet: FlinkSheet) -> None:
    source = sheet.source
    aws = Aws(source)
    on_glue = source.choice("metastore-type", "hive") == "glue"
    site: dict[str, str] = {}
    config: dict[str, str] = {}

    def put(key: str, value: str | None, _: str) -> None:
        if value is not None:
            site[key] = value

    def put_s3(key: str, value: str | None, _: str) -> None:
        if value is not None:
            config[_FLINK_NAMES.get(key, key.replace("fs.s3a.", "s3."))] = value

    folder = f"{CONF_FOLDER}{source.name}"
    sheet.add("type", "hive", HIVE)
    sheet.add("hive-conf-dir", folder, HIVE, f"the folder of the {HIVE_SITE} below; put it where you like")
    if on_glue:
        hive.glue_client(sheet, aws, put)
        sheet.cannot("without effect, for the tables are in Glue", "metastore.uris", "default.catalog")
    else:
        aws.without_glue(sheet)
        put("hive.metastore.uris", source.take("metastore.uris"), HIVE)
        if (inner := source.take("default.catalog", "hive")) != "hive":
            put("metastore.catalog.default", inner, HIVE)
            sheet.note("default.catalog: only Flink's connector for Hive 3.1 knows catalogs inside a Metastore")
        sheet.note("Flink has connectors for Hive 2.3 and 3.1")
    warehouse = source.take("warehouse")
    if warehouse is not None:
        sheet.note("warehouse: it is for Iceberg tables made through Headwater; Flink puts tables where it is told")
    if on_glue or aws.names_s3 or scheme(warehouse) == "s3":
        hive.s3a(sheet, aws, put_s3)
        sheet.note(f"Flink reads S3 by its plugin flink-s3-fs-hadoop: {S3}")
    sheet.file(HIVE_SITE, _xml(site))
    if config:
        sheet.file(FLINK_CONFIG, "".join(f"{key}: {value}\n" for key, value in config.items()))
        sheet.note(f"{FLINK_CONFIG}: its lines go into Flink's own, one for all catalogs")
    sheet.note(f"{HIVE_SITE} goes into the folder hive-conf-dir")
    sheet.filters()
    sheet.source.deal_with("default-table-format")


_FLINK_NAMES = {"fs.s3a.access.key": "s3.access-key", "fs.s3a.secret.key": "s3.secret-key"}


def _xml(properties: dict[str, str]) -> str:
    lines = [
        f"  <property><name>{escape(key)}</name><value>{escape(value)}</value></property>"
        for key, value in properties.items()
    ]
    return "\n".join(['<?xml version="1.0"?>', "<configuration>", *lines, "</configuration>", ""])
