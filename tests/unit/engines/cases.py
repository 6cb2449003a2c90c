"""Catalogs of every kind, with all that can be said about them."""

from __future__ import annotations

from typing import NamedTuple

from headwater.engines import EngineSettings, engine_settings


class Case(NamedTuple):
    """A catalog: what it shows, and the names of what it hides."""

    provider: str
    properties: dict[str, str]
    hidden: tuple[str, ...] = ()
    name: str = "sales"

    def settings(self, engine: str) -> EngineSettings:
        return engine_settings(engine, self.provider, self.name, self.properties, self.hidden)


_S3 = {
    "s3-endpoint": "http://minio:9000", "s3-region": "us-east-1", "s3-path-style-access": "true",
}  # fmt: skip
_S3_KEYS = ("s3-access-key-id", "s3-secret-access-key")
_AWS_KEYS = ("aws-access-key-id", "aws-secret-access-key")
_GLUE = {"aws-region": "eu-west-1", "aws-glue-catalog-id": "123456789012"}
_ROLE = {"aws-role-arn": "arn:aws:iam::123456789012:role/lake", "aws-external-id": "x-1"}

CASES = {
    # The examples of the designs, as they stand there.
    "glue-of-the-design": Case("glue", {"aws-region": "us-east-1", "aws-glue-catalog-id": "123456789012"}),
    "hive-on-glue-of-the-design": Case("hive", {"metastore-type": "glue", "s3-region": "us-east-1"}),
    "iceberg-on-glue-of-the-design": Case(
        "lakehouse-iceberg",
        {"catalog-backend": "glue", "warehouse": "s3://bucket/iceberg", "s3-region": "us-east-1"},
    ),
    # And all that one can say.
    "glue": Case(
        "glue",
        {
            **_GLUE, "aws-glue-endpoint": "https://vpce.example", "warehouse": "s3://lake/warehouse",
            "default-table-format": "hive", "table-type-filter": "hive,iceberg",
        },
        _AWS_KEYS,
    ),
    "glue-with-role": Case("glue", {**_GLUE, **_ROLE, "aws-sts-endpoint": "https://sts.example"}, _AWS_KEYS),
    "hive": Case("hive", {"metastore.uris": "thrift://a:9083,thrift://b:9083", "default.catalog": "spark"}),
    "hive-on-s3": Case("hive", {"metastore.uris": "thrift://a:9083", **_S3}, _S3_KEYS),
    "hive-with-role": Case(
        "hive",
        {
            "metastore.uris": "thrift://a:9083", "s3-region": "eu-west-1",
            "s3-role-arn": "arn:aws:iam::123456789012:role/files", "s3-token-service-endpoint": "https://sts.example",
        },
    ),
    "hive-on-glue": Case("hive", {"metastore-type": "glue", **_GLUE, "warehouse": "s3://lake/hive"}, _AWS_KEYS),
    "iceberg-hive": Case(
        "lakehouse-iceberg",
        {"catalog-backend": "hive", "uri": "thrift://a:9083", "warehouse": "s3://lake/ice", **_S3},
        _S3_KEYS,
    ),
    "iceberg-glue": Case(
        "lakehouse-iceberg",
        {
            "catalog-backend": "glue", **_GLUE, **_ROLE, "warehouse": "s3://lake/ice", "s3-region": "eu-central-1",
        },
    ),
    "iceberg-jdbc": Case(
        "lakehouse-iceberg",
        {
            "catalog-backend": "jdbc", "uri": "postgresql://db:5432/iceberg", "warehouse": "/data/warehouse",
            "catalog-backend-name": "ice", "jdbc-initialize": "false",
        },
        ("jdbc-user", "jdbc-password"),
    ),
    "iceberg-rest": Case(
        "lakehouse-iceberg",
        {
            "catalog-backend": "rest", "uri": "https://catalog.example", "warehouse": "main",
            "gravitino.bypass.scope": "lake", "gravitino.bypass.oauth2-server-uri": "https://login.example/token",
            "rest-client-socket-timeout-ms": "5000",
        },
        ("gravitino.bypass.credential", "gravitino.bypass.header.X-Team"),
    ),
    "with-bypass": Case(
        "lakehouse-iceberg",
        {
            "catalog-backend": "hive", "uri": "thrift://a:9083", "colour": "red",
            "trino.bypass.iceberg.file-format": "ORC", "trino.bypass.hive.metastore.uri": "thrift://c:9083",
            "spark.bypass.cache-enabled": "false", "spark.bypass.spark.sql.defaultCatalog": "sales",
            "spark.bypass.uri": "thrift://c:9083", "flink.bypass.default-database": "db",
            "flink.bypass.uri": "thrift://c:9083",
        },
        ("trino.bypass.s3.http-proxy.password",),
    ),
}  # fmt: skip
