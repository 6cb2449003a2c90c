"""AWS as catalogs use it: the keys that say where it is and as whom to call, for Glue and for files on S3.

boto3's core is imported here, when it is needed.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.catalogs.base import Context
from headwater.model.aws import Identity
from headwater.model.errors import (
    BackendTimeoutError,
    ConnectionFailedError,
    HeadwaterError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from headwater.model.properties import Kind, Property
from headwater.version import __version__

if TYPE_CHECKING:
    from botocore.config import Config
    from botocore.credentials import Credentials, DeferredRefreshableCredentials
    from botocore.session import Session

S3_PROPERTIES = (
    Property(name="s3-endpoint", description="Address of an S3-compatible store; AWS's own without it."),
    Property(name="s3-region", description="AWS region of the bucket."),
    Property(name="s3-access-key-id", description="Access key; without it the server's own AWS identity.", hidden=True),
    Property(name="s3-secret-access-key", description="Secret of the access key.", hidden=True),
    Property(name="s3-session-token", description="Session token of a temporary access key.", hidden=True),
    Property(name="s3-role-arn", description="Role that is assumed for S3."),
    Property(name="s3-external-id", description="External id that the role asks for."),
    Property(name="s3-token-service-endpoint", description="Address of the token service (STS) that knows the role."),
    Property(
        name="s3-path-style-access",
        description="Write the bucket into the path instead of the host name.",
        kind=Kind.BOOLEAN,
        default="false",
    ),
)
"""Keys of every provider that keeps files on S3."""

MAX_ATTEMPTS = 3
"""How often a call is tried that is throttled or finds nobody. Between them lie at most three seconds."""

_BACK_OFF = 3.0
_POOL = 32
_ANYWHERE = "us-east-1"
"""The region of what has none: a store that is not AWS's, and the token service of all regions."""
_REGION = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def aws_properties(*, required: bool) -> tuple[Property, ...]:
    """Glue's keys: region and catalog id are required where Glue is the whole catalog, not where it is a metastore."""
    s3 = "" if required else " Without it the s3- key of that name."
    return (
        Property(name="aws-region", description=f"AWS region of Glue.{s3}", required=required, immutable=True),
        Property(
            name="aws-glue-catalog-id",
            description="Glue catalog: an account, 123456789012, or one of its catalogs, "
            "123456789012:s3tablescatalog/bucket." + ("" if required else " The caller's own account without it."),
            required=required,
            immutable=True,
        ),
        Property(name="aws-glue-endpoint", description="Address of Glue; AWS's own of the region without it."),
        Property(
            name="aws-access-key-id",
            description=f"Access key.{s3} Without any the server's own AWS identity.",
            hidden=True,
        ),
        Property(name="aws-secret-access-key", description="Secret of the access key.", hidden=True),
        Property(name="aws-session-token", description="Session token of a temporary access key.", hidden=True),
        Property(name="aws-profile", description="Profile of the server's own AWS configuration, in place of keys."),
        Property(name="aws-role-arn", description=f"Role that is assumed for Glue.{s3}"),
        Property(name="aws-external-id", description="External id that the role asks for."),
        Property(name="aws-sts-endpoint", description="Address of the token service (STS) that knows the role."),
    )


class Access:
    """A catalog's checked keys, as clients and settings. Making one does no I/O.

    Glue is called by the `aws-` keys and files are by the `s3-` keys; files default to Glue's. With
    `separate=False`, where Glue serves as a metastore beside other kinds, Glue defaults to the `s3-` keys too.
    """

    def __init__(self, context: Context, *, separate: bool = False) -> None:
        given = _checked(context.properties)
        aws = _identity(given, "aws", "aws-sts-endpoint")
        s3 = _identity(given, "s3", "s3-token-service-endpoint")
        if aws.profile is not None:
            for file in _profile_files():
                context.check_local("properties.aws-profile", file)
        self.catalog_id = given.get("aws-glue-catalog-id")
        self.glue_endpoint = given.get("aws-glue-endpoint")
        self._timeout = context.timeout
        self._path_style = given.get("s3-path-style-access")
        self._s3_endpoint = given.get("s3-endpoint")
        self._glue_region = given.get("aws-region") or (None if separate else given.get("s3-region"))
        self._s3_region = given.get("s3-region") or given.get("aws-region")
        self._as_glue = aws if separate else aws.over(s3)
        self._as_s3 = s3.over(aws)
        self._opening = threading.Lock()
        self._s3: tuple[Session, str | None] | None = None

    def glue_client(self) -> Any:
        """A new client of Glue."""
        with reaching("Glue"):
            session = self._session(self._as_glue, self._glue_region)
            return session.create_client(
                "glue", region_name=_region(session), endpoint_url=self.glue_endpoint, config=self._config()
            )

    def storage_properties(self) -> dict[str, str]:
        """Settings of pyiceberg's FileIO, made at each call: temporary credentials in them are good for a while only.

        Without keys, profile or role there are no credentials in them: the file system finds the server's own.
        """
        with reaching("the credentials for S3"):
            session, endpoint = self._s3_session()
            region = _region(session) or (_ANYWHERE if endpoint is not None else None)
            given = {"s3.endpoint": endpoint, "s3.region": region}
            if self._as_s3.has_source or self._as_s3.role_arn is not None:
                given |= _frozen(session)
        if self._path_style is not None:
            given["s3.force-virtual-addressing"] = "false" if self._path_style.lower() == "true" else "true"
        return {k: v for k, v in given.items() if v is not None}

    def _s3_session(self) -> tuple[Session, str | None]:
        with self._opening:
            if self._s3 is None:
                session = self._session(self._as_s3, self._s3_region)
                self._s3 = session, self._s3_endpoint or _configured_endpoint(session, "s3")
            return self._s3

    def _session(self, identity: Identity, region: str | None) -> Session:
        source = _source(identity, region)
        if identity.role_arn is None:
            return source
        assumed = _source(Identity(profile=identity.profile), region)
        assumed.register_component("credential_provider", _Role(source, identity, self._config()))
        return assumed

    def _config(self) -> Config:
        from botocore.config import Config

        # All attempts together stay below the time after which the core gives up.
        each = max((self._timeout * 0.9 - _BACK_OFF) / MAX_ATTEMPTS, 0.5)
        return Config(
            connect_timeout=each / 4,
            read_timeout=each * 3 / 4,
            max_pool_connections=_POOL,
            retries={"mode": "standard", "total_max_attempts": MAX_ATTEMPTS},
            user_agent_extra=f"headwater/{__version__}",
        )


class _Role:
    """Where a session finds its credentials: a role's, assumed when first asked and again before they run out."""

    def __init__(self, source: Session, identity: Identity, config: Config) -> None:
        self._source, self._identity, self._config = source, identity, config

    def load_credentials(self) -> DeferredRefreshableCredentials:
        from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials

        extra = {"RoleSessionName": "headwater"}
        if self._identity.external_id is not None:
            extra["ExternalId"] = self._identity.external_id
        fetcher = AssumeRoleCredentialFetcher(
            self._client, _credentials(self._source), self._identity.role_arn or "", extra_args=extra
        )
        return DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")

    def _client(self, service: Any, **keys: Any) -> Any:
        return self._source.create_client(
            service,
            region_name=_region(self._source) or _ANYWHERE,
            endpoint_url=self._identity.token_service,
            config=self._config,
            **keys,
        )


@contextlib.contextmanager
def reaching(what: str) -> Iterator[None]:
    """What stops a call before the service answers leaves the block as one of our errors."""
    try:
        yield
    except HeadwaterError:
        raise
    except Exception as e:
        ours = unreachable(e, what)
        if ours is None:
            raise
        raise ours from e


def unreachable(error: Exception, what: str) -> HeadwaterError | None:
    """An error that kept a call from being answered, in our words; None for what is no such error."""
    try:
        from botocore import exceptions as theirs
        from botocore.parsers import ResponseParserError
    except ImportError:
        return UnsupportedOperationError("This server lacks boto3: AWS needs pip install 'headwater[s3]'")

    text = first_line(str(error))
    if isinstance(error, theirs.ReadTimeoutError):
        return BackendTimeoutError(f"{what} did not answer in time")
    if isinstance(error, theirs.NoCredentialsError):
        return ConnectionFailedError(
            f"{what}: no AWS credentials; give an access key or aws-profile, or let the server have some of its own"
        )
    if isinstance(error, theirs.NoRegionError):
        return ConnectionFailedError(f"{what}: no AWS region is given, and the server's environment names none")
    if isinstance(error, theirs.ParamValidationError):
        return IllegalArgumentError(f"{what}: {text}")
    if isinstance(error, theirs.ClientError) and error.operation_name == "AssumeRole":
        return ConnectionFailedError(f"{what}: the role can't be assumed: {text}")
    if isinstance(error, theirs.BotoCoreError | ResponseParserError):
        return ConnectionFailedError(f"{what} can't be reached: {text}")
    return None


def first_line(text: str) -> str:
    """Of a message; what AWS writes below it may repeat a request's headers, a session token among them."""
    return text.strip().split("\n")[0][:500]


def _checked(properties: Mapping[str, str]) -> dict[str, str]:
    given = {k: v.strip() for k, v in properties.items() if k.startswith(("aws-", "s3-"))}
    for key, value in given.items():
        if not value:
            raise IllegalArgumentError(f"properties.{key}: it may not be empty")
        if key.endswith("-endpoint") and not value.startswith(("http://", "https://")):
            raise IllegalArgumentError(f"properties.{key}: {value!r} is not allowed; allowed is http(s)://host[:port]")
        if key.endswith("-region") and _REGION.fullmatch(value) is None:
            raise IllegalArgumentError(f"properties.{key}: {value!r} is no AWS region such as us-east-1")
        if key.endswith("-role-arn") and not value.startswith("arn:"):
            raise IllegalArgumentError(
                f"properties.{key}: {value!r} is no ARN such as arn:aws:iam::123456789012:role/lake"
            )
    return given


def _identity(given: Mapping[str, str], prefix: str, token_service: str) -> Identity:
    key, secret, token, role = (
        f"{prefix}-{name}" for name in ("access-key-id", "secret-access-key", "session-token", "role-arn")
    )
    profile, external = f"{prefix}-profile", f"{prefix}-external-id"
    if (key in given) != (secret in given):
        raise IllegalArgumentError(f"properties: {key} and {secret} go together; give both or neither")
    if token in given and key not in given:
        raise IllegalArgumentError(f"properties.{token}: it needs {key} and {secret}")
    if profile in given and key in given:
        raise IllegalArgumentError(f"properties: give either {profile} or {key} and {secret}, not both")
    for needy in (external, token_service):
        if needy in given and role not in given:
            raise IllegalArgumentError(f"properties.{needy}: it needs {role}")
    return Identity(*(given.get(name) for name in (key, secret, token, profile, role, external, token_service)))


def _profile_files() -> list[str]:
    """The server's own AWS configuration: a catalog that names a profile makes the server read it."""
    names = {"AWS_CONFIG_FILE": "~/.aws/config", "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials"}
    return [str(Path(os.environ.get(name, usual)).expanduser().absolute()) for name, usual in names.items()]


def _source(identity: Identity, region: str | None) -> Session:
    """A session with an identity's keys, profile or neither; its role comes on top."""
    from botocore.session import Session

    session = Session(profile=identity.profile)
    if identity.access_key_id is not None and identity.secret_access_key is not None:
        session.set_credentials(identity.access_key_id, identity.secret_access_key, identity.session_token)
    # Only AWS_DEFAULT_REGION is known to botocore; all other SDKs read AWS_REGION.
    if known := region or os.environ.get("AWS_REGION"):
        session.set_config_variable("region", known)
    return session


def _region(session: Session) -> str | None:
    return session.get_config_variable("region") or None


def _credentials(session: Session) -> Credentials:
    from botocore.exceptions import NoCredentialsError

    found = session.get_credentials()
    if found is None:
        raise NoCredentialsError
    return found


def _frozen(session: Session) -> dict[str, str | None]:
    now = _credentials(session).get_frozen_credentials()
    return {"s3.access-key-id": now.access_key, "s3.secret-access-key": now.secret_key, "s3.session-token": now.token}


def _configured_endpoint(session: Session, service: Any) -> str | None:
    """The endpoint that the environment or the AWS configuration names for a service, if one does."""
    from botocore.config import Config

    region = _region(session) or _ANYWHERE
    ignore: Any = {"ignore_configured_endpoint_urls": True}
    usual = session.create_client(service, region, config=Config(**ignore))
    found = session.create_client(service, region).meta.endpoint_url
    return None if found == usual.meta.endpoint_url else found
