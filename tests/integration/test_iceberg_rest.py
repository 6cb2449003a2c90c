"""Iceberg tables behind a REST server: the real one, and one in this process that answers what it should not."""

from __future__ import annotations

import http.server
import itertools
import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from pyiceberg.view.metadata import ViewVersion

from headwater.catalogs.base import NewTable, Page
from headwater.catalogs.iceberg import IcebergProvider
from headwater.model import Column, types
from headwater.model import changes as c
from headwater.model.errors import (
    BackendBusyError,
    ConnectionFailedError,
    IllegalArgumentError,
    NonEmptySchemaError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from tests import servers
from tests.contract.test_providers import opened

_numbers = itertools.count()
COLUMNS = [Column("id", types.Long()), Column("name", types.String())]
BYPASS = "gravitino.bypass."


def connected(folder: Path, uri: str, **more: str) -> Any:
    return opened("lakehouse-iceberg", folder, {"catalog-backend": "rest", "uri": uri, **more})


@pytest.fixture(scope="module")
def rest() -> Iterator[servers.iceberg_rest]:
    with servers.iceberg_rest() as started:
        yield started


@pytest.fixture
def provider(rest: servers.iceberg_rest, tmp_path: Path) -> Iterator[Any]:
    found = connected(tmp_path, rest.uri)
    yield found
    found.close()


@pytest.fixture
def schema(provider: Any) -> tuple[str, ...]:
    name = (f"s{next(_numbers)}",)
    provider.create_schema(name, None, {})
    return name


# --- the real server -------------------------------------------------------------------------------------------------


def test_exchange_with_pyiceberg(provider: Any, schema: tuple[str, ...], rest: servers.iceberg_rest) -> None:
    provider.create_table(schema, NewTable("t", COLUMNS))
    theirs = RestCatalog("theirs", uri=rest.uri)
    table = theirs.load_table((*schema, "t"))
    table.append(pa.table({"id": [1], "name": ["a"]}, schema=table.schema().as_arrow()))
    assert provider.load_table(schema, "t").value.properties["current-snapshot-id"] != "none"
    provider.alter_table(schema, "t", [c.AddColumn(["extra"], types.Integer())])
    rows = theirs.load_table((*schema, "t")).scan().to_arrow().to_pylist()
    assert rows == [{"id": 1, "name": "a", "extra": None}]


def test_views_are_hidden_and_safe(provider: Any, schema: tuple[str, ...], rest: servers.iceberg_rest) -> None:
    version = ViewVersion.model_validate(
        {
            "version-id": 1,
            "schema-id": 0,
            "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
            "default-namespace": list(schema),
        }
    )
    theirs = RestCatalog("theirs", uri=rest.uri)
    theirs.create_view((*schema, "v"), Schema(NestedField(1, "id", LongType())), version)
    provider.create_table(schema, NewTable("t", COLUMNS))
    assert provider.list_tables(schema, Page()) == ["t"]
    with pytest.raises(NoSuchTableError):
        provider.load_table(schema, "v")
    with pytest.raises(TableAlreadyExistsError, match="a view v"):
        provider.create_table(schema, NewTable("v", COLUMNS))
    with pytest.raises(TableAlreadyExistsError, match="a view v"):
        provider.alter_table(schema, "t", [c.RenameTable("v")])
    assert [provider.drop_table(schema, "v", purge) for purge in (False, True)] == [False, False]
    for cascade in (False, True):
        with pytest.raises(NonEmptySchemaError, match="1 views"):
            provider.drop_schema(schema, cascade)
    assert theirs.view_exists((*schema, "v"))


def test_table_that_can_not_be_opened(provider: Any, schema: tuple[str, ...]) -> None:
    location = provider.create_table(schema, NewTable("t", COLUMNS)).value.properties["location"]
    for file in Path(location.removeprefix("file:")).rglob("*.metadata.json"):
        file.unlink()
    assert provider.list_tables(schema, Page()) == ["t"]
    for act in (
        lambda: provider.load_table(schema, "t"),
        lambda: provider.alter_table(schema, "t", [c.UpdateComment("x")]),
    ):
        with pytest.raises(ConnectionFailedError, match=r"metadata\.json"):
            act()


def test_schemas_inside_schemas(provider: Any, schema: tuple[str, ...]) -> None:
    inner = (*schema, "a b/c")
    provider.create_schema(inner, "deep", {})
    provider.create_schema((*inner, "x"), None, {})
    assert provider.list_schemas(inner, Page()) == [":".join((*inner, "x"))]
    provider.create_table(inner, NewTable("t ü/?", COLUMNS))
    assert provider.load_table(inner, "t ü/?").value.name == "t ü/?"
    assert provider.drop_schema(schema, cascade=True) is True


def test_lists_in_pages(rest: servers.iceberg_rest, tmp_path: Path) -> None:
    provider = connected(tmp_path, rest.uri, **{f"{BYPASS}rest-page-size": "2"})
    outer = (f"s{next(_numbers)}",)
    provider.create_schema(outer, None, {})
    for i in range(5):
        provider.create_schema((*outer, f"n{i}"), None, {})
        provider.create_table(outer, NewTable(f"t{i}", COLUMNS))
    assert provider.list_tables(outer, Page()) == [f"t{i}" for i in range(5)]
    assert provider.list_schemas(outer, Page()) == [f"{outer[0]}:n{i}" for i in range(5)]
    provider.close()


def test_a_server_that_is_gone_and_back(tmp_path: Path) -> None:
    with servers.iceberg_rest() as server:
        provider = connected(tmp_path, server.uri)
        provider.create_schema(("s",), None, {})
        provider.create_table(("s",), NewTable("t", COLUMNS))
        server.stop()
        for act in (provider.test, lambda: provider.load_table(("s",), "t")):
            with pytest.raises(ConnectionFailedError, match="can't be reached"):
                act()
        server.start()
        assert provider.load_table(("s",), "t").value.name == "t"
        provider.close()


# --- another server, which answers what a test wants -----------------------------------------------------------------


class Answering(http.server.ThreadingHTTPServer):
    """Answers each path with what is set for it, and writes down who asked what."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, tuple[int, Any]] = {
            "/v1/config": (200, {"defaults": {}, "overrides": {}}),
            "/v1/namespaces": (200, {"namespaces": [["s"]]}),
        }
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def headers(self, path: str) -> dict[str, str]:
        """Of the last request for a path."""
        return [headers for asked, headers, _ in self.asked if urlsplit(asked).path == path][-1]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Answering

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.path, dict(self.headers), body))
        status, answer = self.server.answers.get(urlsplit(self.path).path, (404, {}))
        if callable(answer):
            status, answer = answer(dict(self.headers))
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    do_GET = do_POST = do_HEAD = _answer

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[Answering]:
    server = Answering()
    yield server
    server.shutdown()
    server.server_close()


def test_no_server_chooses_code(answering: Answering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil_code.py").write_text("raise SystemExit('imported')")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    evil = {
        "py-io-impl": "evil_code.Files",
        "py-catalog-impl": "evil_code.Catalog",
        "auth": {"type": "custom", "impl": "evil_code.Auth"},
        "ssl": {"cabundle": "/dev/null"},
        "header.X-Sent": "1",
    }
    answering.answers["/v1/config"] = (200, {"defaults": evil, "overrides": evil})
    location = f"file://{tmp_path}/t"
    metadata = {
        "format-version": 2,
        "table-uuid": "c5f0ce37-6c9d-4b9e-9f53-6b9a5fd3b1a1",
        "location": location,
        "last-sequence-number": 0,
        "last-updated-ms": 1,
        "last-column-id": 1,
        "schemas": [
            {
                "type": "struct",
                "schema-id": 0,
                "fields": [{"id": 1, "name": "id", "type": "long", "required": False}],
            }
        ],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {"py-io-impl": "evil_code.Files"},
    }
    answer = {"metadata-location": f"{location}/metadata/0.metadata.json", "metadata": metadata, "config": evil}
    answering.answers["/v1/namespaces/s/tables/t"] = (200, answer)
    provider = connected(tmp_path, answering.uri)
    provider.test()
    assert provider.load_table(("s",), "t").value.columns[0].name == "id"
    assert provider._backend.catalog().load_table(("s", "t")).io.__class__.__name__ == "MetadataFiles"
    assert "X-Sent" not in answering.headers("/v1/namespaces")
    assert "evil_code" not in sys.modules
    provider.close()


@pytest.mark.parametrize(
    ("given", "header", "wanted"),
    [
        ({f"{BYPASS}token": "abc"}, "Authorization", "Bearer abc"),
        ({f"{BYPASS}header.X-Own": "1"}, "X-Own", "1"),
        (
            {f"{BYPASS}rest.auth.basic.username": "u", f"{BYPASS}rest.auth.basic.password": "p"},
            "Authorization",
            "Basic dTpw",
        ),
    ],
)
def test_what_is_sent(answering: Answering, tmp_path: Path, given: dict[str, str], header: str, wanted: str) -> None:
    provider = connected(tmp_path, answering.uri, warehouse="w", **given)
    assert provider.list_schemas((), Page()) == ["s"]
    assert answering.headers("/v1/namespaces")[header] == wanted
    assert "X-Iceberg-Access-Delegation" not in answering.headers("/v1/namespaces")
    assert parse_qs(urlsplit(answering.asked[0][0]).query) == {"warehouse": ["w"]}
    provider.close()


def test_credential_becomes_a_token_that_is_renewed(answering: Answering, tmp_path: Path) -> None:
    tokens = itertools.count(1)

    def namespaces(headers: dict[str, str]) -> tuple[int, Any]:
        last = f"Bearer t{made[-1]}"
        if headers["Authorization"] != last:
            return 401, {"error": {"message": "expired", "type": "NotAuthorizedException", "code": 401}}
        return 200, {"namespaces": [["s"]]}

    made: list[int] = []

    def token(_: dict[str, str]) -> tuple[int, Any]:
        made.append(next(tokens))
        return 200, {"access_token": f"t{made[-1]}", "token_type": "bearer"}

    answering.answers["/tokens"] = (200, token)
    answering.answers["/v1/namespaces"] = (200, namespaces)
    given = {"credential": "id:secret", "oauth2-server-uri": f"{answering.uri}/tokens", "scope": "lake"}
    provider = connected(tmp_path, answering.uri, **{BYPASS + k: v for k, v in given.items()})
    assert provider.list_schemas((), Page()) == ["s"]
    form = parse_qs(next(body for path, _, body in answering.asked if path == "/tokens").decode())
    assert (form["client_id"], form["client_secret"], form["scope"]) == (["id"], ["secret"], ["lake"])
    made.append(next(tokens))  # the token so far is not good any more
    assert provider.list_schemas((), Page()) == ["s"]
    provider.close()


@pytest.mark.parametrize(
    ("status", "answer", "wanted", "message"),
    [
        (200, b"<html>hello</html>", ConnectionFailedError, "no Iceberg ConfigResponse"),
        (404, b"<html>none</html>", ConnectionFailedError, "answered with an error"),
        (500, {"error": {"message": "broken", "type": "X", "code": 500}}, ConnectionFailedError, "broken"),
        (401, {"error": {"message": "who?", "type": "X", "code": 401}}, ConnectionFailedError, "refuses .* who?"),
        (403, {"error": {"message": "not you", "type": "X", "code": 403}}, ConnectionFailedError, "not you"),
        (503, {"error": {"message": "later", "type": "X", "code": 503}}, BackendBusyError, "later"),
        (429, {"error": {"message": "later", "type": "X", "code": 429}}, BackendBusyError, "later"),
    ],
)
def test_what_servers_answer(
    answering: Answering, tmp_path: Path, status: int, answer: Any, wanted: type[Exception], message: str
) -> None:
    answering.answers["/v1/config"] = (status, answer)
    provider = connected(tmp_path, answering.uri, **{f"{BYPASS}token": "very-secret"})
    with pytest.raises(wanted, match=message) as raised:
        provider.list_schemas((), Page())
    assert "very-secret" not in str(raised.value)
    with pytest.raises(ConnectionFailedError):
        provider.test()


def test_a_server_that_hangs(tmp_path: Path) -> None:
    with servers.hanging() as server:
        context = msgspec.structs.replace(connected(tmp_path, server.uri).context, timeout=2.0)
        provider = IcebergProvider(context)
        start = time.monotonic()
        with pytest.raises(ConnectionFailedError, match="can't be reached"):
            provider.test()
        assert time.monotonic() - start < 2


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"uri": "ftp://x"}, r"properties\.uri.*http"),
        ({"uri": "http://u:p@x"}, r"properties\.uri.*password"),
        ({"uri": "http://x", f"{BYPASS}rest.auth.basic.username": "u"}, "go together"),
        ({"uri": "http://x", f"{BYPASS}py-io-impl": "a.b"}, "reserved"),
        ({}, "uri"),
    ],
)
def test_properties_are_checked(tmp_path: Path, properties: dict[str, str], message: str) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        opened("lakehouse-iceberg", tmp_path, {"catalog-backend": "rest", **properties})


def test_secrets_are_hidden() -> None:
    keys = ("credential", "token", "header.Authorization", "rest.auth.basic.password")
    given = {BYPASS + key: "x" for key in keys}
    assert IcebergProvider.catalog_properties.hidden(given) == given
