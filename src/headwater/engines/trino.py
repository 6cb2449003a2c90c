"""Trino: the properties of a catalog file. The keys are those of Trino 476, where they are run by our tests."""

from __future__ import annotations

from headwater.engines import database
from headwater.engines.aws import Aws, from_chain, location, scheme
from headwater.engines.base import SERVERS_OWN, EngineSettings, Sheet, Source
from headwater.model.aws import Identity
from headwater.model.properties import DRIVER_PREFIX

_DOCS = "https://trino.io/docs/476"
HIVE = f"{_DOCS}/connector/hive.html"
ICEBERG = f"{_DOCS}/connector/iceberg.html"
METASTORES = f"{_DOCS}/object-storage/metastores.html"
S3 = f"{_DOCS}/object-storage/file-system-s3.html"
HDFS = f"{_DOCS}/object-storage/file-system-hdfs.html"
GCS = f"{_DOCS}/object-storage/file-system-gcs.html"
AZURE = f"{_DOCS}/object-storage/file-system-azure.html"
LAKEHOUSE = "https://trino.io/docs/477/connector/lakehouse.html"

_GLUE = "hive.metastore.glue."
_REST = "iceberg.rest-catalog."
_JDBC = "iceberg.jdbc-catalog."


class TrinoSheet(Sheet):
    """Trino replaces `${ENV:NAME}` by itself."""

    engine = "trino"
    title = "Trino"

    def placeholder(self, name: str) -> str:
        """Trino's own form."""
        return f"${{ENV:{name}}}"

    def connect(self, connector: str, documentation: str) -> None:
        """The first line of every catalog file."""
        self.connector = connector
        self.add("connector.name", connector, documentation)


def settings(source: Source) -> EngineSettings:
    """What Trino must be told of a catalog."""
    sheet = TrinoSheet(source)
    if source.provider == "glue":
        _lakehouse(sheet)
    elif source.provider == "hive":
        _hive(sheet)
    else:
        _iceberg(sheet)
    if source.name != source.name.lower():
        sheet.note(f"Trino reads names in lower case: name the catalog {source.name.lower()} there")
    return sheet.finish()


# --- providers -----------------------------------------------------------------------------------------------------


def _lakehouse(sheet: TrinoSheet) -> None:
    aws = Aws(sheet.source, separate=True)
    sheet.connect("lakehouse", LAKEHOUSE)
    sheet.add("hive.metastore", "glue", METASTORES)
    _glue(sheet, aws)
    kind = sheet.source.choice("default-table-format", "iceberg").upper()
    sheet.add("lakehouse.table-type", kind, LAKEHOUSE, "the format of new tables")
    _files(sheet, aws, None, on_glue=True)
    sheet.note("Trino 477 and later: mapping verified against its documentation, not run")
    older = "With an older Trino use the connector hive, which reads only Hive tables, and set table-type-filter=hive"
    if sheet.source.choice("table-type-filter") == "hive":
        sheet.source.deal_with("table-type-filter")
        older = "With an older Trino use connector.name=hive without lakehouse.table-type: it reads only Hive tables"
    sheet.note(f"{older} on the catalog, so that Headwater shows what Trino can read")
    sheet.filters()


def _hive(sheet: TrinoSheet) -> None:
    source = sheet.source
    aws = Aws(source)
    on_glue = source.choice("metastore-type", "hive") == "glue"
    sheet.connect("hive", HIVE)
    if on_glue:
        sheet.add("hive.metastore", "glue", METASTORES)
        _glue(sheet, aws)
        sheet.cannot("without effect, for the tables are in Glue", "metastore.uris", "default.catalog")
        _files(sheet, aws, None, on_glue=True)
    else:
        sheet.add("hive.metastore", "thrift", METASTORES)
        _thrift(sheet, aws, "metastore.uris")
        warehouse = source.take("warehouse")
        _files(sheet, aws, warehouse)
        if warehouse is not None:
            sheet.note("warehouse: Trino puts new tables below their schema's location; the Metastore knows it")
    sheet.note(
        "The connector hive reads no Iceberg, Delta and Hudi tables; hive.iceberg-catalog-name (and its like) names a "
        "second catalog of Trino's to which it passes them on"
    )
    sheet.filters()


def _iceberg(sheet: TrinoSheet) -> None:
    source = sheet.source
    aws, backend = Aws(source), source.choice("catalog-backend")
    warehouse = source.take("warehouse")
    sheet.connect("iceberg", ICEBERG)
    if backend == "hive":
        sheet.add("iceberg.catalog.type", "hive_metastore", METASTORES)
        _thrift(sheet, aws, "uri")
        _files(sheet, aws, warehouse)
        if warehouse is not None:
            sheet.note("warehouse: Trino puts new tables below their schema's location; the Metastore knows it")
    elif backend == "glue":
        sheet.add("iceberg.catalog.type", "glue", METASTORES)
        _glue(sheet, aws, warehouse)
        sheet.cannot("without effect, for the tables are in Glue", "uri")
        _files(sheet, aws, warehouse, on_glue=True)
    elif backend == "jdbc":
        sheet.add("iceberg.catalog.type", "jdbc", METASTORES)
        _jdbc(sheet, warehouse)
        aws.without_glue(sheet)
        _files(sheet, aws, warehouse)
    elif backend == "rest":
        sheet.add("iceberg.catalog.type", "rest", METASTORES)
        _rest(sheet, warehouse)
        aws.without_glue(sheet)
        _files(sheet, aws, None)
    else:
        raise sheet.refuse(f"catalog-backend={backend} {SERVERS_OWN[backend]}")
    if backend != "jdbc":
        source.deal_with("catalog-backend-name")


# --- metastores ----------------------------------------------------------------------------------------------------


def _thrift(sheet: TrinoSheet, aws: Aws, uri: str) -> None:
    sheet.copy(uri, "hive.metastore.uri", METASTORES)
    if sheet.source.take("default.catalog", "hive") != "hive":
        sheet.copy("default.catalog", "hive.metastore.thrift.catalog-name", METASTORES)
    aws.without_glue(sheet)


def _glue(sheet: TrinoSheet, aws: Aws, warehouse: str | None = None) -> None:
    sheet.add(f"{_GLUE}region", aws.glue_region, METASTORES)
    sheet.add(f"{_GLUE}endpoint-url", aws.glue_endpoint, METASTORES)
    sheet.add(f"{_GLUE}catalogid", aws.catalog_id, METASTORES)
    where = warehouse or sheet.source.take("warehouse")
    sheet.add(f"{_GLUE}default-warehouse-dir", where, METASTORES, "where schemas without a location go")
    if aws.glue_region is None:
        sheet.note(f"No region is given: set {_GLUE}region, or AWS_REGION in Trino's environment")
    _identify(sheet, aws.glue, aws.glue_region, _GLUE, METASTORES)


def _identify(sheet: TrinoSheet, who: Identity, region: str | None, prefix: str, documentation: str) -> None:
    """Keys, role and token service, which Glue and S3 call alike."""
    if who.session_token is not None:
        sheet.note(
            f"{who.session_token}: Trino has no setting for it; it finds temporary keys in its environment, in "
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
        )
        from_chain(sheet, who)
    elif who.access_key_id is not None and who.secret_access_key is not None:
        sheet.copy(who.access_key_id, f"{prefix}aws-access-key", documentation)
        sheet.copy(who.secret_access_key, f"{prefix}aws-secret-key", documentation)
    else:
        from_chain(sheet, who)
    if who.role_arn is not None:
        sheet.copy(who.role_arn, f"{prefix}iam-role", documentation)
    if who.external_id is not None:
        sheet.copy(who.external_id, f"{prefix}external-id", documentation)
    if who.token_service is not None:
        sheet.copy(who.token_service, f"{prefix}sts.endpoint", documentation)
        sheet.add(f"{prefix}sts.region", region, documentation, "goes with the endpoint")


def _jdbc(sheet: TrinoSheet, warehouse: str | None) -> None:
    kind, url, user = database.address(sheet)
    driver = sheet.source.take("jdbc-driver") or database.DRIVERS[kind]
    sheet.add(f"{_JDBC}driver-class", driver, METASTORES)
    sheet.add(f"{_JDBC}connection-url", url, METASTORES)
    sheet.add(f"{_JDBC}connection-user", sheet.value(database.USER) or user, METASTORES)
    sheet.copy("jdbc-password", f"{_JDBC}connection-password", METASTORES)
    sheet.add(f"{_JDBC}catalog-name", database.backend_name(sheet), METASTORES)
    sheet.add(f"{_JDBC}default-warehouse-dir", location(warehouse), METASTORES)
    if warehouse is None:
        sheet.note(f"Trino wants {_JDBC}default-warehouse-dir: give the catalog a warehouse")
    if kind != "postgresql":
        database.driver_note(sheet, kind, driver)
    if sheet.source.choice("jdbc-initialize", "true") == "false":
        sheet.note("jdbc-initialize: Trino never makes Iceberg's tables in the database; they must be there")


def _rest(sheet: TrinoSheet, warehouse: str | None) -> None:
    sheet.copy("uri", f"{_REST}uri", METASTORES)
    sheet.add(f"{_REST}warehouse", warehouse, METASTORES)
    sheet.copy(f"{DRIVER_PREFIX}prefix", f"{_REST}prefix", METASTORES)
    sheet.add(f"{_REST}nested-namespace-enabled", "true", ICEBERG, "schemas inside schemas are seen")
    if sheet.source.has(f"{DRIVER_PREFIX}credential", f"{DRIVER_PREFIX}token"):
        sheet.add(f"{_REST}security", "OAUTH2", METASTORES)
        for key in ("credential", "token", "scope"):
            sheet.copy(DRIVER_PREFIX + key, f"{_REST}oauth2.{key}", METASTORES)
        sheet.copy(f"{DRIVER_PREFIX}oauth2-server-uri", f"{_REST}oauth2.server-uri", ICEBERG)
    unable = ["audience", "resource", "rest.auth.basic.username", "rest.auth.basic.password"]
    headers = sheet.source.below(f"{DRIVER_PREFIX}header.")
    sheet.cannot("Trino has no setting for it", *(DRIVER_PREFIX + k for k in unable), *headers)
    timeouts = "rest-client-connection-timeout-ms", "rest-client-socket-timeout-ms", f"{DRIVER_PREFIX}rest-page-size"
    sheet.cannot("Trino has no setting for it; the server keeps to it", *timeouts)


# --- files ---------------------------------------------------------------------------------------------------------


def _files(sheet: TrinoSheet, aws: Aws, warehouse: str | None, *, on_glue: bool = False) -> None:
    """The file systems in which data may lie; Trino reads none that is not switched on."""
    kind = scheme(warehouse)
    if on_glue or aws.names_s3 or kind == "s3":
        sheet.add("fs.native-s3.enabled", "true", S3)
        sheet.add("s3.region", aws.s3_region, S3)
        sheet.add("s3.endpoint", aws.s3_endpoint, S3)
        sheet.add("s3.path-style-access", aws.path_style, S3)
        _identify(sheet, aws.s3, aws.s3_region, "s3.", S3)
        if aws.s3_region is None:
            sheet.note("No region of the bucket is given: set s3.region, or AWS_REGION in Trino's environment")
    if kind == "gs":
        sheet.add("fs.native-gcs.enabled", "true", GCS)
        sheet.note(f"How Trino authenticates at Google's storage is yours to say, by trino.bypass.gcs.*: {GCS}")
    elif kind in ("abfs", "abfss", "wasb", "wasbs"):
        sheet.add("fs.native-azure.enabled", "true", AZURE)
        sheet.note(f"How Trino authenticates at Azure's storage is yours to say, by trino.bypass.azure.*: {AZURE}")
    elif kind != "s3" and not on_glue:
        sheet.add("fs.hadoop.enabled", "true", HDFS, "HDFS and folders of the machine")
        if kind is None and not aws.names_s3:
            sheet.note("Where files lie is not said: for S3 give the catalog s3-region or other s3- keys")
