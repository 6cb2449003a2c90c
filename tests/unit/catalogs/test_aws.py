"""The keys that say where AWS is and as whom to call: what is refused, and what defaults to what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.catalogs.aws import S3_PROPERTIES, Access, Identity, aws_properties, first_line
from headwater.catalogs.base import Context
from headwater.model.errors import IllegalArgumentError
from headwater.model.properties import Properties

KEYS = {"aws-access-key-id": "K", "aws-secret-access-key": "S"}
S3_KEYS = {"s3-access-key-id": "K3", "s3-secret-access-key": "S3"}
ROLE = "arn:aws:iam::123456789012:role/lake"


def make_context(properties: dict[str, str], check_local: Any = lambda field, location: None) -> Context:
    return Context(
        name="lake.c",
        properties=properties,
        scratch=Path("unused"),
        timeout=30.0,
        many_processes=False,
        check_local=check_local,
        check_removable=lambda field, location: None,
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"aws-access-key-id": "K"}, "aws-access-key-id and aws-secret-access-key go together"),
        ({"aws-secret-access-key": "S"}, "aws-access-key-id and aws-secret-access-key go together"),
        ({"s3-secret-access-key": "S"}, "s3-access-key-id and s3-secret-access-key go together"),
        ({"aws-session-token": "T"}, "properties.aws-session-token: it needs aws-access-key-id"),
        ({**KEYS, "s3-session-token": "T"}, "properties.s3-session-token: it needs s3-access-key-id"),
        ({**KEYS, "aws-profile": "p"}, "give either aws-profile or aws-access-key-id"),
        ({"aws-external-id": "x"}, "properties.aws-external-id: it needs aws-role-arn"),
        ({"s3-external-id": "x"}, "properties.s3-external-id: it needs s3-role-arn"),
        ({"aws-sts-endpoint": "http://sts"}, "properties.aws-sts-endpoint: it needs aws-role-arn"),
        ({"s3-token-service-endpoint": "http://sts"}, "properties.s3-token-service-endpoint: it needs s3-role-arn"),
        ({"aws-role-arn": "lake"}, "properties.aws-role-arn: 'lake' is no ARN"),
        ({"aws-region": "us_east 1"}, "properties.aws-region: 'us_east 1' is no AWS region"),
        ({"s3-region": "us/east"}, "properties.s3-region: 'us/east' is no AWS region"),
        ({"aws-glue-endpoint": "localhost:5000"}, "properties.aws-glue-endpoint: 'localhost:5000' is not allowed"),
        ({"s3-endpoint": "minio"}, "properties.s3-endpoint: 'minio' is not allowed"),
        ({"aws-glue-catalog-id": " "}, "properties.aws-glue-catalog-id: it may not be empty"),
    ],
)
@pytest.mark.parametrize("separate", [True, False])
def test_refused(given: dict[str, str], message: str, separate: bool) -> None:
    with pytest.raises(IllegalArgumentError) as e:
        Access(make_context(given), separate=separate)
    assert message in e.value.message
    assert "'S'" not in e.value.message


@pytest.mark.parametrize("separate", [True, False])
def test_all_together(separate: bool) -> None:
    given = {
        **KEYS, **S3_KEYS,
        "aws-session-token": "T", "s3-session-token": "T3", "aws-role-arn": ROLE, "s3-role-arn": ROLE,
        "aws-external-id": "x", "s3-external-id": "y", "aws-sts-endpoint": "http://a", "s3-endpoint": "http://b",
        "s3-token-service-endpoint": "https://c", "aws-region": "us-east-1", "s3-region": "eu-west-1",
        "aws-glue-endpoint": "https://d:1", "aws-glue-catalog-id": "123456789012:s3tablescatalog/b",
    }  # fmt: skip
    access = Access(make_context(given), separate=separate)
    assert access.catalog_id == "123456789012:s3tablescatalog/b"
    assert access.glue_endpoint == "https://d:1"


def test_identity_defaults_to_the_other_as_a_whole() -> None:
    other = Identity("K", "S", "T", role_arn=ROLE, external_id="x", token_service="http://sts")
    assert Identity().over(other) == other
    own = Identity("K2", "S2")
    assert own.over(other) == own
    role = Identity(role_arn="arn:other")
    assert role.over(other) == Identity("K", "S", "T", role_arn="arn:other")
    assert role.over(Identity(profile="p")) == Identity(profile="p", role_arn="arn:other")


def test_profile_is_a_file_of_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "/etc/aws/config")
    monkeypatch.delenv("AWS_SHARED_CREDENTIALS_FILE", raising=False)
    asked: list[tuple[str, str]] = []
    Access(make_context({"aws-profile": "p"}, lambda *said: asked.append(said)))
    assert asked == [
        ("properties.aws-profile", "/etc/aws/config"),
        ("properties.aws-profile", str(Path("~/.aws/credentials").expanduser())),
    ]
    asked.clear()
    Access(make_context(KEYS, lambda *said: asked.append(said)))
    assert asked == []


def test_declarations() -> None:
    whole = Properties([*S3_PROPERTIES, *aws_properties(required=True)])
    with pytest.raises(IllegalArgumentError, match="required and missing: aws-region, aws-glue-catalog-id"):
        whole.check_new({})
    beside = Properties([*S3_PROPERTIES, *aws_properties(required=False)])
    assert beside.check_new({}) == []
    secrets = {**KEYS, **S3_KEYS, "aws-session-token": "T", "s3-session-token": "T"}
    assert whole.hidden({**secrets, "aws-region": "r", "s3-role-arn": ROLE}) == secrets
    assert [p.name for p in whole.declared] == [p.name for p in beside.declared]


def test_first_line_only() -> None:
    assert first_line(" no match\n\nx-amz-security-token:SECRET") == "no match"
    assert len(first_line("x" * 9999)) == 500
