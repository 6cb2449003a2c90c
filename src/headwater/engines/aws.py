"""Who calls AWS, and where: the `aws-` and `s3-` properties of a catalog, and which of them stand for others.

They are those of the server itself: files are reached by the `s3-` keys, which default to the `aws-` keys; and where
Glue is a metastore beside other kinds, it is reached by the `aws-` keys, which default to the `s3-` keys.
"""

from __future__ import annotations

from headwater.engines.base import Sheet, Source
from headwater.model.aws import Identity
from headwater.model.properties import DRIVER_PREFIX

ANYWHERE = "us-east-1"
"""The region of a store that is not AWS's."""

CHAIN = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""The variables in which every AWS SDK looks for keys."""

_DRIVER_KEYS = f"{DRIVER_PREFIX}s3"


class Aws:
    """What a catalog says about Glue and S3: where they are, as values; as whom they are called, as properties."""

    def __init__(self, source: Source, *, separate: bool = False) -> None:
        aws = _identity(source, "aws", "aws-sts-endpoint")
        s3 = _identity(source, "s3", "s3-token-service-endpoint")
        region = source.take("aws-region")
        self.s3_endpoint = source.take(f"{_DRIVER_KEYS}.endpoint") or source.take("s3-endpoint")
        given = source.take(f"{_DRIVER_KEYS}.region") or source.take("s3-region")
        self.glue = aws if separate else aws.over(s3)
        self.s3 = s3.over(aws)
        self.catalog_id = source.take("aws-glue-catalog-id")
        self.glue_endpoint = source.take("aws-glue-endpoint")
        self.glue_region = region or (None if separate else given)
        self.s3_region = given or region or (ANYWHERE if self.s3_endpoint else None)
        style = source.take("s3-path-style-access")
        self.path_style = None if style is None else style.lower()
        self.names_s3 = bool(self.s3.everything or self.s3_endpoint or self.s3_region or style)
        """Whether anything is said of S3, so that files must lie there."""
        self._aws, self._own_region = aws, region if region != self.s3_region else None

    def without_glue(self, sheet: Sheet) -> None:
        """The tables are elsewhere: name what is said of Glue and does not serve for S3 either."""
        idle = [k for k in self._aws.everything if k not in self.s3.everything]
        if self._own_region is not None:
            idle.append("aws-region")
        sheet.cannot(
            "without effect, for the tables are not in Glue", "aws-glue-catalog-id", "aws-glue-endpoint", *idle
        )


def _identity(source: Source, prefix: str, token_service: str) -> Identity:
    def named(*keys: str) -> str | None:
        """The first of these properties that is given."""
        found = next((k for k in keys if source.has(k)), None)
        source.deal_with(*keys)
        return found

    def key(name: str) -> str | None:
        return named(*([f"{_DRIVER_KEYS}.{name}"] if prefix == "s3" else []), f"{prefix}-{name}")

    return Identity(
        key("access-key-id"),
        key("secret-access-key"),
        key("session-token"),
        named(f"{prefix}-profile"),
        named(f"{prefix}-role-arn"),
        named(f"{prefix}-external-id"),
        named(token_service),
    )


def from_chain(sheet: Sheet, identity: Identity) -> None:
    """Say that the engine finds this identity's keys where every AWS SDK looks for them."""
    keys = identity.access_key_id, identity.secret_access_key, identity.session_token
    for name, prop in zip(CHAIN, keys, strict=True):
        if prop is not None:
            sheet.secret(prop, name)
    if identity.profile is not None:
        sheet.note(
            f"{identity.profile}: set AWS_PROFILE in {sheet.title}'s environment to the profile of that name there"
        )


def scheme(location: str | None) -> str | None:
    """The scheme of a location; `file` for a path.

    >>> scheme("s3a://bucket/x"), scheme("/data"), scheme(None)
    ('s3', 'file', None)
    """
    if location is None:
        return None
    name = location.partition(":")[0] if not location.startswith("/") else "file"
    return "s3" if name in ("s3", "s3a", "s3n") else name


def location(given: str | None) -> str | None:
    """A location that engines understand: a path becomes a URI.

    >>> location("/data/lake")
    'file:///data/lake'
    """
    if given is None:
        return None
    if given.startswith("file:"):
        given = "/" + given.removeprefix("file:").lstrip("/")
    return f"file://{given}" if given.startswith("/") else given
