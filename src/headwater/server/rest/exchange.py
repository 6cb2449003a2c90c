"""One HTTP request and its answer: headers in, headers out, errors as JSON. Translation only."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import functools
import re
import urllib.parse
from typing import Any

import falcon.asgi
import msgspec

from headwater.access import Actor
from headwater.core.operation import Encoded, request_id
from headwater.model.errors import (
    BodyTimeoutError,
    BodyTooLargeError,
    ForbiddenError,
    HeadwaterError,
    IllegalArgumentError,
    UnauthorizedError,
)
from headwater.server.rest.reply import Reply
from headwater.settings import ServerSettings

JSON = "application/json"
_VERSIONED = re.compile(rb"application/vnd\.gravitino\.v(\d+)\+json")
_DRAIN = 128 * 1024 * 1024
_DRAIN_SECONDS = 5
_CHUNK = 1 << 20


class NotAcceptableError(HeadwaterError):
    """A version of the API that does not exist."""

    code, status, type = 1001, 406, "NotAcceptableException"


class Headers:
    """The request headers that matter, picked in one go."""

    __slots__ = (
        "accept", "accepts_gzip", "authorization", "client_version", "data_operation",
        "host", "if_none_match", "origin", "request_id",
    )  # fmt: skip

    def __init__(self, scope: dict[str, Any]) -> None:
        self.authorization: bytes | None = None
        self.accept: bytes | None = None
        self.if_none_match: bytes | None = None
        self.client_version: bytes | None = None
        self.data_operation: str | None = None
        self.host: bytes | None = None
        self.origin: bytes | None = None
        self.accepts_gzip = False
        given: str | None = None
        for name, value in scope["headers"]:
            if name == b"authorization":
                self.authorization = value
            elif name == b"accept":
                self.accept = value
            elif name == b"accept-encoding":
                self.accepts_gzip = b"gzip" in value and b"gzip;q=0" not in value.replace(b" ", b"")
            elif name == b"if-none-match":
                self.if_none_match = value
            elif name == b"x-request-id":
                given = value.decode("latin-1")
            elif name == b"x-client-version":
                self.client_version = value
            elif name == b"host":
                self.host = value
            elif name == b"origin":
                self.origin = value
            elif name == b"filesetdataoperation":
                self.data_operation = value.decode("latin-1")
        self.request_id = request_id(given)

    def check_version(self) -> None:
        """Refuse a version of the API that is not spoken here."""
        if self.accept is not None and b"vnd.gravitino" in self.accept:
            match = _VERSIONED.search(self.accept)
            if match is None or match.group(1) not in (b"1", b"2"):
                raise NotAcceptableError("Accept: this server speaks application/vnd.gravitino.v1+json")

    def matches(self, etag: str) -> bool:
        """The caller has this very answer already."""
        given = self.if_none_match
        if given is None:
            return False
        mark = etag.removeprefix("W/").encode()
        return given == b"*" or mark in given


@functools.lru_cache(maxsize=4096)
def user_name(authorization: bytes | None) -> str:
    """Who asks, by the simple scheme: the user of Basic credentials, whatever the password; nobody is `anonymous`."""
    if authorization is None:
        return "anonymous"
    scheme, _, rest = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        raise UnauthorizedError("Authorization: only Basic credentials are understood here")
    try:
        user = base64.b64decode(rest, validate=True).decode().partition(":")[0]
    except (binascii.Error, ValueError):
        return "anonymous"
    return user if user.strip() and user.isprintable() else "anonymous"


def actor(headers: Headers, scope: dict[str, Any]) -> Actor:
    """The caller and its address."""
    client = scope.get("client")
    return Actor(user_name(headers.authorization), client[0] if client else "")


def unknown_actor(scope: dict[str, Any]) -> Actor:
    """A caller of whom only the address is known."""
    client = scope.get("client")
    return Actor("", client[0] if client else "")


def unquoted(segment: str) -> str:
    """A name out of a path; '+' is itself, as in every path."""
    if "%" not in segment:
        return segment
    try:
        name = urllib.parse.unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise IllegalArgumentError(f"{segment!r} in the path is not percent-encoded UTF-8") from None
    if "\0" in name:
        raise IllegalArgumentError("A name in the path may not contain the character NUL")
    return name


async def read_body(req: falcon.asgi.Request, settings: ServerSettings) -> bytes:
    """The whole body, unless it is larger than the server takes or does not come."""
    limit = settings.max_body
    length = req.content_length
    if length is None or length <= limit:
        try:
            async with asyncio.timeout(settings.body_timeout):
                body: bytes = await req.stream.read(limit + 1)
        except TimeoutError:
            raise BodyTimeoutError(f"The body did not come within {settings.body_timeout:g} seconds") from None
        if len(body) <= limit:
            return body
    # The rest is read and thrown away, within bounds: many clients look at the answer only after they sent it all.
    drained = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while drained < _DRAIN and (chunk := await req.stream.read(_CHUNK)):
                drained += len(chunk)
    raise BodyTooLargeError(f"The body is larger than this server takes ({limit} bytes; server.max-body)")


def refuse_foreign_page(headers: Headers) -> None:
    """A web page may not send requests on behalf of whoever looks at it: browsers say where the page is from."""
    if headers.origin is not None:
        origin = headers.origin.partition(b"://")[2]
        if origin != headers.host:
            raise ForbiddenError("Origin: requests with a body are not taken from pages of another origin")


def write_answer(resp: falcon.asgi.Response | Reply, headers: Headers, found: Encoded, *, is_load: bool) -> None:
    """The answer, as short as the caller allows."""
    resp.content_type = JSON
    resp.set_header("X-Request-Id", headers.request_id)
    if is_load:
        resp.set_header("ETag", found.etag)
        if headers.if_none_match is not None and headers.matches(found.etag):
            resp.status = falcon.HTTP_304
            return
    if headers.accepts_gzip and (zipped := found.gzip()) is not None:
        resp.set_header("Content-Encoding", "gzip")
        resp.set_header("Vary", "Accept-Encoding")
        resp.data = zipped
    else:
        resp.data = found.body


class ErrorBody(msgspec.Struct, omit_defaults=True, rename="camel"):
    """What every error says."""

    code: int
    type: str
    message: str
    request_id: str = ""


def write_error(
    resp: falcon.asgi.Response | Reply, error: HeadwaterError, headers: Headers, *, status: int | None = None
) -> None:
    """The error, in the envelope that Gravitino's clients know."""
    message = error.message or type(error).__name__
    if headers.client_version is not None:
        # The released Python client puts the message through the % operator.
        message = message.replace("%", "%%")
    resp.status = falcon.code_to_http_status(status or error.status)
    resp.content_type = JSON
    resp.set_header("X-Request-Id", headers.request_id)
    if error.retry_after is not None:
        resp.set_header("Retry-After", str(error.retry_after))
    if isinstance(error, UnauthorizedError):
        resp.set_header("WWW-Authenticate", 'Basic realm="headwater"')
    if isinstance(error, BodyTooLargeError | BodyTimeoutError):
        resp.set_header("Connection", "close")
    resp.data = msgspec.json.encode(ErrorBody(error.code, error.type, message, headers.request_id))
