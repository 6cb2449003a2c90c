"""What Hive's client and Hadoop's S3 file system read, in whatever engine they are: Spark's and Flink's share of it."""

from __future__ import annotations

from collections.abc import Callable

from headwater.engines.aws import Aws, from_chain
from headwater.engines.base import Sheet
from headwater.model.aws import Identity

S3A = "https://hadoop.apache.org/docs/r3.3.4/hadoop-aws/tools/hadoop-aws/index.html"
ASSUMED_ROLES = "https://hadoop.apache.org/docs/r3.3.4/hadoop-aws/tools/hadoop-aws/assumed_roles.html"
EMR = "https://docs.aws.amazon.com/emr/latest/ReleaseGuide/emr-spark-glue.html"
CLIENT = "https://github.com/awslabs/aws-glue-data-catalog-client-for-apache-hive-metastore"

FACTORY = "com.amazonaws.glue.catalog.metastore.AWSGlueDataCatalogHiveClientFactory"
S3A_FILE_SYSTEM = "org.apache.hadoop.fs.s3a.S3AFileSystem"

_ASSUMED = "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider"
_TEMPORARY = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"

Put = Callable[[str, str | None, str], None]
"""Writes down one of Hadoop's properties, under the name that the engine gives it."""


def glue_client(sheet: Sheet, aws: Aws, put: Put) -> None:
    """AWS's client, which has Glue's API behind the interface of Hive's."""
    put("hive.metastore.client.factory.class", FACTORY, EMR)
    put("hive.metastore.glue.catalogid", aws.catalog_id, EMR)
    put("aws.region", aws.glue_region, CLIENT)
    put("aws.glue.endpoint", aws.glue_endpoint, CLIENT)
    sheet.note(
        "Hive tables in Glue need AWS's Glue client for Hive, which Amazon EMR brings along and which is not published "
        "for others: not verified live"
    )
    who = aws.glue
    from_chain(sheet, who)
    if who.keys:
        sheet.note(f"{', '.join(who.keys)}: AWS's client finds keys in {sheet.title}'s environment only")
    why = f"AWS's client has no setting for it; give {sheet.title} an identity that may call Glue"
    sheet.cannot(why, *(k for k in (who.role_arn, who.external_id, who.token_service) if k is not None))


def s3a(sheet: Sheet, aws: Aws, put: Put) -> None:
    """Hadoop's file system on S3."""
    put("fs.s3a.endpoint", aws.s3_endpoint, S3A)
    put("fs.s3a.endpoint.region", aws.s3_region, S3A)
    put("fs.s3a.path.style.access", aws.path_style, S3A)
    who = aws.s3
    for key, prop in (("access.key", who.access_key_id), ("secret.key", who.secret_access_key)):
        if prop is not None:
            put(f"fs.s3a.{key}", sheet.value(prop), S3A)
    if who.session_token is not None:
        put("fs.s3a.session.token", sheet.value(who.session_token), S3A)
    if who.profile is not None:
        from_chain(sheet, who)
    if who.role_arn is not None:
        _assume(sheet, aws, who, put)
    elif who.session_token is not None:
        put("fs.s3a.aws.credentials.provider", _TEMPORARY, S3A)


def _assume(sheet: Sheet, aws: Aws, who: Identity, put: Put) -> None:
    put("fs.s3a.aws.credentials.provider", _ASSUMED, ASSUMED_ROLES)
    put("fs.s3a.assumed.role.arn", sheet.value(who.role_arn or ""), ASSUMED_ROLES)
    if who.session_token is not None:
        put("fs.s3a.assumed.role.credentials.provider", _TEMPORARY, ASSUMED_ROLES)
    if who.token_service is not None:
        put("fs.s3a.assumed.role.sts.endpoint", sheet.value(who.token_service), ASSUMED_ROLES)
        put("fs.s3a.assumed.role.sts.endpoint.region", aws.s3_region, ASSUMED_ROLES)
    if who.external_id is not None:
        sheet.cannot("Hadoop's S3 file system has no setting for it", who.external_id)
