"""Requests to one server: where it is, who asks, what is tried again, and what an answer means."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from headwater import __version__
from headwater.client._decode import decode
from headwater.client._errors import ServerUnreachableError
from headwater.model import codec
from headwater.model.errors import IllegalArgumentError, IllegalNameError, raise_for_body
from headwater.model.names import NameIdentifier

RETRIES = 2
_LONGEST_PAUSE = 5.0
_BROKEN = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
"""The connection broke on the way: a read may simply be sent again."""

_NO_PROXY = {f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")}
"""No proxy leads to this machine itself."""

Query = Mapping[str, str | int | bool | None]


def path(*segments: str) -> str:
    """An API path; names may hold any character.

    >>> path("metalakes", "lake", "catalogs", "a/b")
    '/api/metalakes/lake/catalogs/a%2Fb'
    """
    if not all(segments):
        raise IllegalNameError("A name may not be empty")
    return "/api/" + "/".join(_quoted(s) for s in segments)


def _quoted(name: str) -> str:
    # On the way, `.` and `..` would be taken for steps through folders and lead to another object.
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")


class Connection:
    """A pool of connections to one server."""

    def __init__(
        self,
        uri: str,
        user: str | None = None,
        ca_file: str | None = None,
        timeout: float = 30,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.uri, self.timeout = uri.rstrip("/"), timeout
        try:
            self._http = httpx.Client(
                base_url=self.uri,
                auth=httpx.BasicAuth(user, "") if user else None,
                verify=ssl.create_default_context(cafile=ca_file) if ca_file else True,
                timeout=timeout,
                transport=transport,
                mounts=_NO_PROXY,
                headers={"User-Agent": f"headwater-client/{__version__}", "Accept": "application/json"},
            )
        except OSError as e:
            raise IllegalArgumentError(f"ca_file: {ca_file}: {e.strerror or e}") from None
        except (ValueError, httpx.InvalidURL) as e:
            raise IllegalArgumentError(f"uri: {uri!r} is not an address: {e}") from None
        if self._http.base_url.scheme not in ("http", "https") or not self._http.base_url.host:
            raise IllegalArgumentError(f"uri: {uri!r} is not an address; it looks like http://host:8090")

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def get(self, path: str, query: Query | None = None) -> dict[str, Any]:
        """Read; tried again when the connection breaks or the server is busy."""
        return self.call("GET", path, query=query)

    def call(self, method: str, path: str, body: Any = None, query: Query | None = None) -> dict[str, Any]:
        """One request; the JSON of a success, or the error that the server raised."""
        params = {k: _text(v) for k, v in (query or {}).items() if v is not None}
        content = None if body is None else codec.encode(body)
        request = self._http.build_request(
            method, path, params=params or None, content=content,
            headers={"Content-Type": "application/json"} if content else None,
        )  # fmt: skip
        response = self._send(request, RETRIES if method == "GET" else 0)
        answer = self._read(response)
        if answer is None or "code" not in answer:
            raise self._not_headwater(response)
        return answer

    def configs(self) -> dict[str, Any]:
        """What the server says of its configuration: the one answer without a code."""
        response = self._send(self._http.build_request("GET", "/configs"), RETRIES)
        answer = self._read(response)
        if answer is None:
            raise self._not_headwater(response)
        return answer

    def pages(self, path: str, field: str, page_size: int | None = None, **query: str | None) -> Iterator[Any]:
        """All entries of a list; with `page_size` in several requests."""
        token: str | None = None
        while True:
            answer = self.get(path, {**query, "limit": page_size, "pageToken": token})
            yield from answer.get(field) or ()
            token = answer.get("nextPageToken")
            if not token:
                return

    def names(self, path: str, prefix: str | None, page_size: int | None, **query: str | None) -> list[str]:
        """The names in a list of identifiers."""
        entries = self.pages(path, "identifiers", page_size, namePrefix=prefix, **query)
        return [decode(entry, NameIdentifier).name for entry in entries]

    def _send(self, request: httpx.Request, retries: int) -> httpx.Response:
        for left in range(retries, -1, -1):
            try:
                response = self._http.send(request)
            except httpx.RequestError as e:
                if left and isinstance(e, _BROKEN):
                    continue
                raise self._unreachable(e) from None
            pause = response.headers.get("Retry-After") if left and response.status_code == 503 else None
            if pause is None:
                return response
            time.sleep(min(float(pause) if pause.isdigit() else 1.0, _LONGEST_PAUSE))
        raise AssertionError("the last round returns or raises")

    def _unreachable(self, error: httpx.RequestError) -> ServerUnreachableError:
        if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
            return ServerUnreachableError(
                f"{self.uri} did not answer within {self.timeout:g} seconds; it may still do what was asked"
            )
        if isinstance(error, httpx.ProxyError):
            return ServerUnreachableError(
                f"Can't reach {self.uri} through the proxy: {error}; see HTTPS_PROXY, NO_PROXY"
            )
        if isinstance(cause := error.__cause__ and error.__cause__.__cause__, ssl.SSLError) or "SSL" in str(error):
            return ServerUnreachableError(
                f"{self.uri} can't be trusted or does not speak TLS: {cause or error}; "
                "HEADWATER_CA_FILE names the certificates to trust"
            )
        return ServerUnreachableError(
            f"Can't reach Headwater at {self.uri}: {error or type(error).__name__}; is the server running? "
            "'headwater serve' starts one, HEADWATER_URI says where it is"
        )

    def _read(self, response: httpx.Response) -> dict[str, Any] | None:
        try:
            body = msgspec.json.decode(response.content)
        except (ValueError, RecursionError):
            return None
        if not isinstance(body, dict):
            return None
        # A connection test answers 200 even when it fails.
        if body.get("code"):
            raise_for_body(response.status_code, body, body.get("requestId") or response.headers.get("X-Request-Id"))
        return None if response.is_error else body

    def _not_headwater(self, response: httpx.Response) -> ServerUnreachableError:
        kind = response.headers.get("Content-Type", "no content type").partition(";")[0]
        return ServerUnreachableError(
            f"{self.uri} answered {response.status_code} ({kind}), but not as Headwater does: "
            "is the address right, or is there a proxy in between?"
        )


def _text(value: str | int | bool | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
