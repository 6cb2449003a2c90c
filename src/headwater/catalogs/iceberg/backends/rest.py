"""`rest`: a server that speaks the Iceberg REST protocol. It reads and writes the metadata files itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headwater.catalogs.base import Context, Found, SchemaName
from headwater.catalogs.iceberg.backends.base import Backend
from headwater.catalogs.iceberg.locations import local_path
from headwater.model.errors import ConnectionFailedError, IllegalArgumentError
from headwater.model.properties import DRIVER_PREFIX, Kind, Property
from headwater.model.tables import Table

if TYPE_CHECKING:
    from headwater.catalogs.iceberg.restcatalog import ServerCatalog

_PASSED = {
    "prefix": "Prefix of the server's paths, where it does not tell it itself.",
    "oauth2-server-uri": "Where the credential is changed into a token; the server's own /v1/oauth/tokens without it.",
    "scope": "Scope of the token; catalog without it.",
    "audience": "Audience of the token.",
    "resource": "Resource of the token.",
    "rest-page-size": "How many names the server is asked for at once.",
}
_SECRET = {
    "credential": "Client id and secret, id:secret, for a token.",
    "token": "Bearer token.",
    "header.*": "Header of every request.",
}
_USER, _PASSWORD = f"{DRIVER_PREFIX}rest.auth.basic.username", f"{DRIVER_PREFIX}rest.auth.basic.password"

_URI = re.compile(r"[a-z][a-z0-9+.-]*://[^/]+(/.*)?")


class RestBackend(Backend):
    """Schemas and tables are what the server says; files are never touched from here."""

    properties = (
        *(Property(name=DRIVER_PREFIX + key, description=text) for key, text in _PASSED.items()),
        *(Property(name=DRIVER_PREFIX + key, description=text, hidden=True) for key, text in _SECRET.items()),
        Property(name=_USER, description="User, for basic authentication."),
        Property(name=_PASSWORD, description="Password, for basic authentication.", hidden=True),
        Property(
            name="rest-client-connection-timeout-ms", description="Time to connect.", kind=Kind.INTEGER, default="10000"
        ),
        Property(
            name="rest-client-socket-timeout-ms",
            description="Time to wait for an answer.",
            kind=Kind.INTEGER,
            default="60000",
        ),
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._uri = _checked_uri(context.properties["uri"])
        self._given = {
            key.removeprefix(DRIVER_PREFIX): value
            for key, value in context.properties.items()
            if key.startswith(DRIVER_PREFIX) and _is_passed(key.removeprefix(DRIVER_PREFIX))
        }
        basic = {name.rpartition(".")[2]: context.properties.get(name) for name in (_USER, _PASSWORD)}
        if (basic["username"] is None) != (basic["password"] is None):
            raise IllegalArgumentError(f"properties: {_USER} and {_PASSWORD} go together; give both or neither")
        self._basic = basic if basic["username"] is not None else None
        if self._basic and {"credential", "token"} & self._given.keys():
            raise IllegalArgumentError(f"properties: give either {_USER} or a credential or token, not both")

    def connect(self) -> ServerCatalog:
        """Ask the server for its configuration."""
        from headwater.catalogs.iceberg.restcatalog import ServerCatalog

        properties = {**self._given, **self.file_properties(), "uri": self._uri}
        if self._basic:
            properties["auth"] = {"type": "basic", "basic": self._basic}
        if (warehouse := self.context.properties.get("warehouse")) is not None:
            properties["warehouse"] = warehouse
        name = self.context.properties.get("catalog-backend-name", "rest")
        return ServerCatalog(name, self._timeouts(), **properties)

    def _timeouts(self) -> tuple[float, float]:
        """Below the time after which the core gives up."""
        given, most = self.context.properties, self.context.timeout
        connect = int(given.get("rest-client-connection-timeout-ms", "10000")) / 1000
        answer = int(given.get("rest-client-socket-timeout-ms", "60000")) / 1000
        return min(connect, most / 3), min(answer, most * 0.8)

    def normalised(self, field: str, location: str) -> str:
        """Any place that the server may know."""
        if local_path(location) is not None:
            return super().normalised(field, location)
        if _URI.fullmatch(location) is None:
            raise IllegalArgumentError(
                f"{field}: {location!r} is not allowed; allowed are an absolute path and scheme://bucket/path"
            )
        return location.rstrip("/")

    def read_table(self, schema: SchemaName, name: str) -> Found[Table]:
        """From the server's answer, which holds the metadata."""
        from pyiceberg.exceptions import NoSuchTableError

        catalog: ServerCatalog = self.catalog()  # type: ignore[assignment]
        try:
            return self.tables.decode(name, catalog.metadata((*schema, name)))
        except NoSuchTableError as e:
            # The same status tells of a table whose files are gone.
            if str(e).startswith("NotFoundException"):
                raise ConnectionFailedError(f"Table {self.label(schema, name)} can't be read: {e}") from None
            raise


def _is_passed(key: str) -> bool:
    return key in _PASSED or key in _SECRET or key.startswith("header.")


def _checked_uri(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise IllegalArgumentError(f"properties.uri: {uri!r} is not allowed; allowed is http(s)://host[:port][/path]")
    if parts.username or parts.password:
        raise IllegalArgumentError("properties.uri: it may not hold a password; use gravitino.bypass.credential")
    return uri.rstrip("/")
