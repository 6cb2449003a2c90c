"""pyiceberg's REST catalog, within our bounds: of time, of memory, and of what a server may say."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
from pyiceberg.catalog import TOKEN
from pyiceberg.catalog.rest import (
    PAGE_SIZE,
    Capability,
    Endpoints,
    ListNamespaceResponse,
    RestCatalog,
    TableResponse,
)
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnauthorizedError,
)
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier
from requests import HTTPError, Session

from headwater.catalogs.iceberg.files import OurFiles

_HEARD = ("uri", "prefix", "namespace-separator", "rest-page-size", "view-endpoints-supported")
"""What a server may configure. All else is ours: pyiceberg would import classes that a server names."""

_DELEGATION = "X-Iceberg-Access-Delegation"


class _Loaded(msgspec.Struct):
    metadata: msgspec.Raw


_decode = msgspec.json.Decoder(_Loaded).decode


class ServerCatalog(OurFiles, RestCatalog):
    """`timeout` is that of one request: seconds to connect, and to wait for each part of the answer."""

    def __init__(self, name: str, timeout: tuple[float, float], **properties: Any) -> None:
        self._timeout = timeout
        super().__init__(name, **properties)

    def _config_headers(self, session: Session) -> None:
        """Called for each new session, before it is used."""
        delegating = any(key.lower() == f"header.{_DELEGATION}".lower() for key in self.properties)
        super()._config_headers(session)
        if not delegating:  # credentials for the files of each table would be made and never used
            session.headers.pop(_DELEGATION, None)
        session.request = functools.partial(session.request, timeout=self._timeout)  # type: ignore[method-assign]

    def _fetch_config(self) -> None:
        given = dict(self.properties)
        super()._fetch_config()
        self.properties = given | {k: self.properties[k] for k in _HEARD if isinstance(self.properties.get(k), str)}

    def _response_to_table(self, identifier_tuple: tuple[str, ...], table_response: TableResponse) -> Table:
        table_response.config.pop(TOKEN, None)  # pyiceberg would put it into headers that all threads share
        return super()._response_to_table(identifier_tuple, table_response)

    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        """Those right below another one, page by page; pyiceberg's own way encodes the parent's name twice."""
        self._check_endpoint(Capability.V1_LIST_NAMESPACES)
        levels = self.identifier_to_tuple(namespace)
        params = {"parent": self._namespace_separator.join(levels)} if levels else {}
        if (size := self.properties.get(PAGE_SIZE)) is not None:
            params["pageSize"] = size
        found: list[Identifier] = []
        while True:
            content = self._content(self.url(Endpoints.list_namespaces), params)
            page = ListNamespaceResponse.model_validate_json(content)
            found.extend(page.namespaces)
            if not page.next_page_token:
                return found
            params["pageToken"] = page.next_page_token

    def metadata(self, identifier: Identifier) -> bytes:
        """A table's metadata as the server sends it, with the snapshots that are still referred to."""
        self._check_endpoint(Capability.V1_LOAD_TABLE)
        address = self.url(Endpoints.load_table, prefixed=True, **self._split_identifier_for_path(identifier))
        return bytes(_decode(self._content(address, {"snapshots": "refs"}, NoSuchTableError)).metadata)

    def _content(self, address: str, params: dict[str, str], missing: type[Exception] = NoSuchNamespaceError) -> bytes:
        """What the server answers; asked again with a new token if the last one is not good any more."""
        try:
            return self._get(address, params, missing)
        except (AuthorizationExpiredError, UnauthorizedError):
            self._refresh_token()
            return self._get(address, params, missing)

    def _get(self, address: str, params: dict[str, str], missing: type[Exception]) -> bytes:
        response = self._session.get(address, params=params)
        try:
            response.raise_for_status()
        except HTTPError as e:
            _handle_non_200_response(e, {404: missing})
        return bytes(response.content)
