"""The properties of Iceberg's own catalogs in Java, which Spark and Flink share."""

from __future__ import annotations

from collections.abc import Callable

from headwater.engines import database
from headwater.engines.aws import Aws, from_chain, location, scheme
from headwater.engines.base import SERVERS_OWN, Sheet
from headwater.model.aws import Identity
from headwater.model.properties import DRIVER_PREFIX

_DOCS = "https://iceberg.apache.org/docs/latest"
AWS = f"{_DOCS}/aws/"
JDBC = f"{_DOCS}/jdbc/"
CONFIGURATION = f"{_DOCS}/configuration/"
REST = f"{_DOCS}/catalog-properties/"

GLUE_CATALOG = "org.apache.iceberg.aws.glue.GlueCatalog"
JDBC_CATALOG = "org.apache.iceberg.jdbc.JdbcCatalog"
S3_FILE_IO = "org.apache.iceberg.aws.s3.S3FileIO"
RESOLVING_FILE_IO = "org.apache.iceberg.io.ResolvingFileIO"
ASSUME_ROLE = "org.apache.iceberg.aws.AssumeRoleAwsClientFactory"
FROM_ENVIRONMENT = "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider"

Put = Callable[[str, str | None, str], None]
"""Writes down one of Iceberg's own properties, under the name that the engine gives it."""

_REST_KEYS = (
    "prefix", "credential", "token", "oauth2-server-uri", "scope", "audience", "resource", "rest-page-size",
)  # fmt: skip
"""What the server and Iceberg's Java client call alike."""


class IcebergOptions:
    """Writes the properties of one Iceberg catalog onto a sheet."""

    def __init__(self, sheet: Sheet, put: Put, kind: tuple[str, str], documentation: str) -> None:
        self._sheet, self._source, self._put = sheet, sheet.source, put
        self._kind, self._page = kind, documentation

    def write(self) -> None:
        """All of them, by provider and backend."""
        source = self._source
        backend = "glue" if source.provider == "glue" else source.choice("catalog-backend")
        if backend in SERVERS_OWN:
            raise self._sheet.refuse(f"catalog-backend={backend} {SERVERS_OWN[backend]}")
        aws = Aws(source, separate=source.provider == "glue")
        warehouse = location(source.take("warehouse"))
        self._put(*self._kind, self._page)
        {"hive": self._hive, "rest": self._rest, "jdbc": self._jdbc, "glue": self._glue}[backend](aws)
        self._put("warehouse", warehouse, self._page)
        if warehouse is None and backend in ("jdbc", "glue"):
            self._sheet.note("No warehouse is given: Iceberg wants one before it makes a table without a location")
        self._files(aws, backend, warehouse)
        if backend != "glue":
            aws.without_glue(self._sheet)
        if backend != "jdbc":
            source.deal_with("catalog-backend-name")

    # --- backends --------------------------------------------------------------------------------------------------

    def _hive(self, aws: Aws) -> None:
        self._put("uri", self._source.take("uri"), self._page)
        if self._source.take("default.catalog", "hive") != "hive":
            self._sheet.note("default.catalog: Iceberg's HiveCatalog knows only the Metastore's catalog hive")

    def _glue(self, aws: Aws) -> None:
        self._put("glue.id", aws.catalog_id, AWS)
        self._put("glue.endpoint", aws.glue_endpoint, AWS)
        self._sheet.cannot("without effect, for the tables are in Glue", "uri")

    def _jdbc(self, aws: Aws) -> None:
        sheet, source = self._sheet, self._source
        kind, url, user = database.address(sheet)
        self._put("uri", url, JDBC)
        self._put("jdbc.user", sheet.value(database.USER) or user, JDBC)
        self._put("jdbc.password", sheet.value("jdbc-password"), JDBC)
        if source.choice("jdbc-initialize", "true") == "false":
            self._put("jdbc.init-catalog-tables", "false", JDBC)
        database.driver_note(sheet, kind, source.take("jdbc-driver") or database.DRIVERS[kind])

    def _rest(self, aws: Aws) -> None:
        source, sheet = self._source, self._sheet
        self._put("uri", source.take("uri"), self._page)
        basic = f"{DRIVER_PREFIX}rest.auth.basic."
        if source.has(f"{basic}username"):
            self._put("rest.auth.type", "basic", REST)
            self._put("rest.auth.basic.username", sheet.value(f"{basic}username"), REST)
            self._put("rest.auth.basic.password", sheet.value(f"{basic}password"), REST)
        headers = [k.removeprefix(DRIVER_PREFIX) for k in source.below(f"{DRIVER_PREFIX}header.")]
        for key in (*_REST_KEYS, *headers):
            self._put(key, sheet.value(DRIVER_PREFIX + key), REST)
        for what in ("connection", "socket"):
            self._put(f"rest.client.{what}-timeout-ms", source.take(f"rest-client-{what}-timeout-ms"), REST)

    # --- AWS -------------------------------------------------------------------------------------------------------

    def _files(self, aws: Aws, backend: str, warehouse: str | None) -> None:
        """How files are reached. Only Glue and REST choose by themselves what fits S3."""
        own, kind = self._source.take("io-impl"), scheme(warehouse)
        on_s3 = backend == "glue" or kind == "s3" or aws.names_s3
        if own is not None:
            self._put("io-impl", own, CONFIGURATION)
        elif on_s3 and backend != "rest":
            local = kind not in ("s3", None) and backend != "glue"
            self._put("io-impl", RESOLVING_FILE_IO if local else S3_FILE_IO, AWS)
        if on_s3:
            self._regions(aws, backend)
            self._put("s3.endpoint", aws.s3_endpoint, AWS)
            self._put("s3.path-style-access", aws.path_style, AWS)
            self._identify(aws, backend)

    def _regions(self, aws: Aws, backend: str) -> None:
        """One region serves for Glue and S3."""
        region = (aws.glue_region if backend == "glue" else None) or aws.s3_region
        self._put("client.region", region, AWS)
        if region is None:
            self._sheet.note(f"No region is given: set AWS_REGION in {self._sheet.title}'s environment")
        elif aws.s3_region not in (None, region) and aws.s3_endpoint is None:
            self._put("s3.cross-region-access-enabled", "true", AWS)

    def _identify(self, aws: Aws, backend: str) -> None:
        sheet = self._sheet
        glue = aws.glue if backend == "glue" else None
        role = aws.s3.role_arn if glue is None else glue.role_arn or aws.s3.role_arn
        if role is not None:
            self._assume(aws, role, aws.s3 if glue is None or glue.role_arn is None else glue)
            return
        if glue is not None and glue.keys:
            # Iceberg has settings for keys of S3 only.
            from_chain(sheet, glue)
            self._put("client.credentials-provider", FROM_ENVIRONMENT, AWS)
            sheet.note(
                "Iceberg has no setting for the keys of Glue: it takes them from the environment of "
                f"{sheet.title}, where two catalogs can't have different ones"
            )
        elif glue is not None and glue.profile is not None:
            from_chain(sheet, glue)
        for key, prop in zip(
            ("s3.access-key-id", "s3.secret-access-key", "s3.session-token"),
            (aws.s3.access_key_id, aws.s3.secret_access_key, aws.s3.session_token),
            strict=True,
        ):
            if prop is not None:
                self._put(key, sheet.value(prop), AWS)
        if aws.s3.profile is not None:
            from_chain(sheet, aws.s3)

    def _assume(self, aws: Aws, role: str, who: Identity) -> None:
        """One role serves for Glue and S3; it is assumed with what the SDK finds in the environment."""
        sheet = self._sheet
        self._put("client.factory", ASSUME_ROLE, AWS)
        self._put("client.assume-role.arn", sheet.value(role), AWS)
        self._put("client.assume-role.region", aws.glue_region or aws.s3_region, AWS)
        if who.external_id is not None:
            self._put("client.assume-role.external-id", sheet.value(who.external_id), AWS)
        from_chain(sheet, who)
        sheet.note(
            f"{role}: Iceberg assumes the role with the keys, and in the region, that it finds in the environment of "
            f"{sheet.title} (AWS_REGION and the like)"
        )
        if aws.glue_endpoint is not None:
            sheet.note(
                "aws-glue-endpoint: with a role Iceberg does not use its setting glue.endpoint; AWS's SDK reads "
                "AWS_ENDPOINT_URL_GLUE in the environment"
            )
        if who.token_service is not None:
            sheet.cannot(
                "Iceberg has no setting for it; AWS's SDK reads AWS_ENDPOINT_URL_STS in the environment",
                who.token_service,
            )
        for other in (aws.glue, aws.s3):
            if other.role_arn != role:
                sheet.cannot(f"Iceberg calls Glue and S3 alike, here by {role}", *other.everything)
