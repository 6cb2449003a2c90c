"""Credentials, regions and endpoints on their way to Glue, to the token service and to files on S3."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headwater.catalogs.aws import Access, reaching
from headwater.catalogs.base import Context
from headwater.model.errors import ConnectionFailedError
from tests import servers
from tests.servers.aws import AwsServer

ROLE = "arn:aws:iam::123456789012:role/lake"
KEYS = {"aws-access-key-id": "glue-key", "aws-secret-access-key": "glue-secret"}
S3_KEYS = {"s3-access-key-id": "file-key", "s3-secret-access-key": "file-secret"}


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with servers.aws() as started:
        yield started


@pytest.fixture(autouse=True)
def _bare(aws: AwsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is known about AWS but what a test says."""
    aws.reset()
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def access(properties: dict[str, str], *, separate: bool = False) -> Access:
    context = Context(
        name="lake.c",
        properties=properties,
        scratch=Path("unused"),
        timeout=30.0,
        many_processes=False,
        check_local=lambda field, location: None,
        check_removable=lambda field, location: None,
    )
    return Access(context, separate=separate)


def glue_caller(aws: AwsServer, given: Access) -> str:
    """The access key that Glue sees."""
    aws.forget_calls()
    client = given.glue_client()
    client.get_databases()
    client.close()
    return str(aws.calls("glue")[-1]["accessKeyId"])


def keys_of(given: Access) -> tuple[str | None, ...]:
    found = given.storage_properties()
    return tuple(found.get(f"s3.{name}") for name in ("access-key-id", "secret-access-key", "session-token"))


def test_keys_of_glue_serve_files_too(aws: AwsServer) -> None:
    given = {"aws-region": "eu-west-1", "aws-glue-endpoint": aws.uri, **KEYS, "aws-session-token": "T"}
    for separate in (True, False):
        own = access(given, separate=separate)
        assert glue_caller(aws, own) == "glue-key"
        assert own.storage_properties() == {
            "s3.region": "eu-west-1",
            "s3.access-key-id": "glue-key",
            "s3.secret-access-key": "glue-secret",
            "s3.session-token": "T",
        }


def test_keys_of_files_serve_glue_as_a_metastore_only(aws: AwsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"s3-region": "eu-west-1", "aws-glue-endpoint": aws.uri, **S3_KEYS}
    beside = access(given)
    assert glue_caller(aws, beside) == "file-key"
    assert beside.glue_client().meta.region_name == "eu-west-1"
    assert keys_of(beside) == ("file-key", "file-secret", None)

    whole = access({**given, "aws-region": "us-west-2"}, separate=True)
    with pytest.raises(ConnectionFailedError, match="no AWS credentials"), reaching("Glue"):
        whole.glue_client().get_databases()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "server-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "server-secret")
    whole = access({**given, "aws-region": "us-west-2"}, separate=True)
    assert glue_caller(aws, whole) == "server-key"
    assert whole.glue_client().meta.region_name == "us-west-2"
    assert whole.storage_properties()["s3.region"] == "eu-west-1"
    assert keys_of(whole) == ("file-key", "file-secret", None)


def test_both_have_keys_of_their_own(aws: AwsServer) -> None:
    given = {"aws-region": "us-east-1", "aws-glue-endpoint": aws.uri, **KEYS, **S3_KEYS}
    for separate in (True, False):
        own = access(given, separate=separate)
        assert glue_caller(aws, own) == "glue-key"
        assert keys_of(own) == ("file-key", "file-secret", None)


def test_environment_alone(aws: AwsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in aws.credentials.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    own = access({})
    assert glue_caller(aws, own) == aws.access_key_id
    assert own.glue_client().meta.region_name == aws.region
    assert own.storage_properties() == {"s3.endpoint": aws.uri, "s3.region": aws.region}
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    assert access({}).storage_properties()["s3.endpoint"] == "http://127.0.0.1:9"
    assert access({"s3-endpoint": "http://127.0.0.1:8"}).storage_properties()["s3.endpoint"] == "http://127.0.0.1:8"
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert "s3.endpoint" not in access({}).storage_properties()


def test_files_are_read_and_written(aws: AwsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.io.pyarrow import PyArrowFileIO

    bucket = aws.create_bucket("files")
    by_keys = access({"s3-endpoint": aws.uri, **S3_KEYS}).storage_properties()
    for name, value in aws.credentials.items():
        monkeypatch.setenv(name, value)
    by_environment = access({}).storage_properties()
    for n, properties in enumerate((by_keys, by_environment)):
        files = PyArrowFileIO(properties)
        with files.new_output(f"{bucket}/{n}").create() as stream:
            stream.write(b"here")
        with files.new_input(f"{bucket}/{n}").open() as stream:
            assert stream.read() == b"here"
    assert {c["accessKeyId"] for c in aws.calls("s3")} >= {"file-key", aws.access_key_id}


def test_profile(aws: AwsServer, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[lake]\naws_access_key_id = p-key\naws_secret_access_key = p-secret\n")
    (tmp_path / "config").write_text(
        f"[profile lake]\nregion = eu-north-1\nservices = here\n"
        f"[services here]\ns3 =\n  endpoint_url = {aws.uri}\nglue =\n  endpoint_url = {aws.uri}\n"
    )
    own = access({"aws-profile": "lake"})
    assert glue_caller(aws, own) == "p-key"
    assert own.glue_client().meta.region_name == "eu-north-1"
    assert own.storage_properties() == {
        "s3.endpoint": aws.uri,
        "s3.region": "eu-north-1",
        "s3.access-key-id": "p-key",
        "s3.secret-access-key": "p-secret",
    }
    with pytest.raises(ConnectionFailedError, match="unknown"):
        access({"aws-profile": "unknown"}).glue_client()


def test_role_is_assumed_by_the_keys(aws: AwsServer) -> None:
    given = {"aws-region": "us-east-1", "aws-glue-endpoint": aws.uri, **KEYS}
    role = {"aws-role-arn": ROLE, "aws-external-id": "ext", "aws-sts-endpoint": aws.uri}
    own = access({**given, **role}, separate=True)
    assert glue_caller(aws, own) not in ("glue-key", "")
    assumed = aws.calls("sts")
    assert [(c["accessKeyId"], c["operation"]) for c in assumed] == [("glue-key", "AssumeRole")]
    said = assumed[0]["parameters"]
    assert (said["RoleArn"], said["ExternalId"]) == (ROLE, "ext")

    aws.forget_calls()
    first, second = keys_of(own), keys_of(own)
    assert None not in first
    assert first == second
    assert aws.operations("sts") == ["AssumeRole"]


def test_role_for_files_alone(aws: AwsServer) -> None:
    given = {"aws-region": "us-east-1", "aws-glue-endpoint": aws.uri, **KEYS}
    own = access({**given, "s3-role-arn": ROLE, "s3-token-service-endpoint": aws.uri}, separate=True)
    assert glue_caller(aws, own) == "glue-key"
    assert aws.calls("sts") == []
    assert None not in keys_of(own)
    assert [c["accessKeyId"] for c in aws.calls("sts")] == ["glue-key"]


def test_role_that_runs_out_is_assumed_again(aws: AwsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"s3-endpoint": aws.uri, **S3_KEYS, "s3-role-arn": ROLE, "s3-token-service-endpoint": aws.uri}
    own = access(given)
    first = keys_of(own)
    session, _ = own._s3_session()

    def soon() -> datetime:
        return datetime.now(UTC) + timedelta(minutes=58)

    monkeypatch.setattr(session.get_credentials(), "_time_fetcher", soon)
    monkeypatch.setattr("botocore.credentials._local_now", soon)
    assert keys_of(own) != first
    assert aws.operations("sts") == ["AssumeRole", "AssumeRole"]


def test_refused_role(aws: AwsServer) -> None:
    given = {"aws-region": "us-east-1", **KEYS, "aws-role-arn": ROLE, "aws-sts-endpoint": aws.uri}
    aws.fail("AssumeRole", "AccessDenied", status=403, message="not you", times=2)
    with pytest.raises(ConnectionFailedError, match=r"the role can't be assumed: .*not you") as e:
        access(given).storage_properties()
    assert "glue-secret" not in e.value.message


def test_addressing() -> None:
    for given, expected in (
        ({}, None),
        ({"s3-path-style-access": "TRUE"}, "false"),
        ({"s3-path-style-access": "false"}, "true"),
    ):
        assert access(given).storage_properties().get("s3.force-virtual-addressing") == expected


def test_store_without_a_region() -> None:
    assert access({"s3-endpoint": "http://store:9"}).storage_properties() == {
        "s3.endpoint": "http://store:9",
        "s3.region": "us-east-1",
    }
    assert access({}).storage_properties() == {}
    with pytest.raises(ConnectionFailedError, match="no AWS region"):
        access({}).glue_client()
