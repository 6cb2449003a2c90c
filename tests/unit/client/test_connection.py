"""What the client sends, what it makes of answers, and what it tries again: without a server, through the transport."""

from __future__ import annotations

import doctest
import importlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from headwater import client as package
from headwater.client import CatalogHandle, Client, ServerUnreachableError, UnexpectedAnswerError, _connection, _decode
from headwater.core.answers import ProviderInfo
from headwater.model import (
    Bucket,
    Column,
    FieldReference,
    FunctionExpression,
    Long,
    NameIdentifier,
    Namespace,
    Schema,
    SetProperty,
    Table,
)
from headwater.model.errors import (
    AlreadyExistsError,
    ConnectionFailedError,
    HeadwaterError,
    IllegalArgumentError,
    IllegalNameError,
    InternalError,
    NoSuchMetalakeError,
    NoSuchTableError,
    NotFoundError,
    SchemaAlreadyExistsError,
    StoreUnavailableError,
    UnsupportedOperationError,
)

Answer = tuple[int, Any]


class Script:
    """A server that gives prepared answers and remembers what it was asked."""

    def __init__(self, *answers: Answer | Exception, **headers: str) -> None:
        self.answers, self.headers = list(answers), {k.replace("_", "-"): v for k, v in headers.items()}
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return httpx.Response(status, content=content, headers=self.headers)

    @property
    def paths(self) -> list[str]:
        return [f"{r.method} {r.url.raw_path.decode()}" for r in self.requests]

    def body(self, n: int = -1) -> Any:
        return json.loads(self.requests[n].content)


def client(script: Callable[[httpx.Request], httpx.Response], **settings: Any) -> Client:
    settings = {"uri": "http://lake.test/p", "metalake": "lake", **settings}
    return Client(transport=httpx.MockTransport(script), **settings)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URI", "METALAKE", "USER", "CA_FILE"):
        monkeypatch.delenv(f"HEADWATER_{name}", raising=False)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(_connection.time, "sleep", found.append)
    return found


OK = (200, {"code": 0, "dropped": True})
TABLE = {"code": 0, "table": {"name": "t"}}
CATALOG = {"name": "c", "type": "relational", "provider": "x"}


@pytest.mark.parametrize("name", ["_connection", "_decode"])
def test_examples(name: str) -> None:
    module = importlib.import_module(f"headwater.client.{name}")
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


def test_public_names_are_those_that_are_exported() -> None:
    modules = {"headwater.client"}
    public = {n for n, v in vars(package).items() if not n.startswith("_") and getattr(v, "__module__", "") != ""}
    classes = {n for n in public if getattr(getattr(package, n), "__module__", "").split("._")[0] in modules}
    assert classes | {"DEFAULT_URI"} == set(package.__all__)
    assert list(package.__all__) == sorted(package.__all__, key=lambda n: (not n.isupper(), n))


def test_every_error_of_the_client_is_in_the_tree() -> None:
    assert package.__doc__
    for cls in (ServerUnreachableError, UnexpectedAnswerError):
        assert cls.__name__ in package.__doc__
        assert issubclass(cls, HeadwaterError)
    assert issubclass(ServerUnreachableError, ConnectionFailedError)


# --- requests ---


@pytest.mark.parametrize("name", ["a/b", "a b", "a%2Fb", "ä", "a?b#c", ".", "..", "a:b", "a+b"])
def test_names_go_into_the_path_whatever_they_hold(name: str) -> None:
    script = Script((200, TABLE))
    client(script).tables("c").load_table(NameIdentifier.of("s", name))
    raw = script.requests[0].url.raw_path.decode()
    segment = raw.removeprefix("/p/api/metalakes/lake/catalogs/c/schemas/s/tables/")
    assert "/" not in segment and "?" not in segment
    assert httpx.URL(f"http://x/?n={segment.replace('+', '%2B')}").params["n"] == name


def test_empty_names_are_refused_before_they_reach_another_object() -> None:
    script = Script(OK)
    with pytest.raises(IllegalNameError):
        client(script).drop_catalog("")
    assert not script.requests


def test_who_asks() -> None:
    script = Script((200, {"code": 0, "metalakes": []}))
    client(script, user="ann").list_metalakes()
    client(script).list_metalakes()
    assert script.requests[0].headers["Authorization"] == "Basic YW5uOg=="
    assert "Authorization" not in script.requests[1].headers
    assert script.requests[0].headers["User-Agent"].startswith("headwater-client/")


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_URI", "http://other.test/")
    monkeypatch.setenv("HEADWATER_METALAKE", "m")
    monkeypatch.setenv("HEADWATER_USER", "bob")
    script = Script((200, {"code": 0, "identifiers": []}))
    c = client(script, uri=None, metalake=None)
    assert c.list_catalogs() == []
    assert str(script.requests[0].url) == "http://other.test/api/metalakes/m/catalogs"
    assert script.requests[0].headers["Authorization"].startswith("Basic ")
    assert c.uri == "http://other.test" and repr(c) == "<Client http://other.test>"


@pytest.mark.parametrize("uri", ["lake.test:8090", "ftp://lake.test", "http://", "http://[::1", "http://h:port"])
def test_addresses_that_are_none(uri: str) -> None:
    with pytest.raises(IllegalArgumentError, match="uri: "):
        Client(uri)


def test_a_ca_file_that_is_missing(tmp_path: Any) -> None:
    with pytest.raises(IllegalArgumentError, match=r"ca_file: .*No such file"):
        Client("https://lake.test", ca_file=str(tmp_path / "none.pem"))


def test_no_proxy_leads_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    http = Client("http://127.0.0.1:8090")._connection._http
    assert http._transport_for_url(httpx.URL("http://127.0.0.1:8090/x")) is http._transport
    assert http._transport_for_url(httpx.URL("http://elsewhere/x")) is not http._transport


def test_bodies_hold_model_objects_and_plain_ones() -> None:
    script = Script((200, TABLE))
    tables = client(script).tables("c")
    columns = [Column(name="id", type=Long(), nullable=False), {"name": "at", "type": "timestamp"}]
    tables.create_table(NameIdentifier.of("s", "t"), columns, partitioning=[{"strategy": "day", "fieldName": ["at"]}])
    assert script.body() == {
        "name": "t",
        "columns": [
            {"name": "id", "type": "long", "nullable": False, "autoIncrement": False},
            {"name": "at", "type": "timestamp"},
        ],
        "partitioning": [{"strategy": "day", "fieldName": ["at"]}],
    }
    tables.alter_table(NameIdentifier.of("s", "t"), SetProperty(property="a", value="b"), {"@type": "x"})
    assert script.body() == {"updates": [{"@type": "setProperty", "property": "a", "value": "b"}, {"@type": "x"}]}


def test_names_inside_a_catalog_have_two_levels() -> None:
    tables = client(Script(OK)).tables("c")
    with pytest.raises(IllegalArgumentError, match=r"NameIdentifier\.of\(schema, name\)"):
        tables.load_table(NameIdentifier.of("lake", "c", "s", "t"))
    with pytest.raises(IllegalArgumentError, match=r"Namespace\.of\(schema\)"):
        tables.list_tables(Namespace.empty())


def test_lists_are_read_page_by_page() -> None:
    def identifiers(*names: str) -> list[dict[str, Any]]:
        return [{"namespace": ["lake", "c", "s"], "name": n} for n in names]

    script = Script(
        (200, {"code": 0, "identifiers": identifiers("a", "b"), "nextPageToken": "dG9rZW4"}),
        (200, {"code": 0, "identifiers": identifiers("c")}),
    )
    names = client(script).tables("c").list_tables(Namespace.of("s"), prefix="x", page_size=2)
    assert names == ["a", "b", "c"]
    above = "GET /p/api/metalakes/lake/catalogs/c/schemas/s/tables"
    assert script.paths == [f"{above}?namePrefix=x&limit=2", f"{above}?namePrefix=x&limit=2&pageToken=dG9rZW4"]


# --- answers ---


def test_what_a_newer_server_adds_is_passed_over() -> None:
    term = {
        "type": "function",
        "funcName": "f",
        "funcArgs": [{"type": "field", "fieldName": ["id"], "new": 1}],
        "new": 1,
    }
    column = {"name": "id", "type": "long", "colour": "red", "defaultValue": {**term, "funcArgs": [dict(term)]}}
    table = {
        "name": "t",
        "columns": [column],
        "partitioning": [{"strategy": "bucket", "numBuckets": 4, "fieldNames": [["id"]], "seed": 7}],
        "sortOrders": [{"sortTerm": term, "direction": "asc"}],
        "audit": {"creator": "ann", "place": "here"},
        "auditInfo": {},
        "properties": {"new": "kept"},
    }
    found = _decode.decode(table, Table)
    assert isinstance(found, Table)
    assert found.columns[0].type == Long() and found.audit.creator == "ann" and found.properties == {"new": "kept"}
    assert found.partitioning == [Bucket(num_buckets=4, field_names=[["id"]])]
    assert found.sort_orders[0].sort_term == FunctionExpression(func_name="f", func_args=[FieldReference(["id"])])


def test_what_can_not_be_read_is_an_error_that_says_so() -> None:
    with pytest.raises(UnexpectedAnswerError, match="too old"):
        _decode.decode({"name": 5}, Schema)
    with pytest.raises(UnexpectedAnswerError):
        _decode.decode({"name": "t", "partitioning": [{"strategy": "spiral"}]}, Table)
    with pytest.raises(UnexpectedAnswerError):
        _decode.decode([], ProviderInfo)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (404, {"code": 1003, "type": "NoSuchTableException", "message": "gone"}, NoSuchTableError),
        (409, {"code": 1004, "type": "SchemaAlreadyExistsException", "message": "there"}, SchemaAlreadyExistsError),
        (409, {"code": 1004, "type": "NewerAlreadyExistsException", "message": "there"}, AlreadyExistsError),
        (404, {"code": 1003, "type": "NoSuchSpaceshipException", "message": "gone"}, NotFoundError),
        (502, {"code": 1007, "type": "ConnectionFailedException", "message": "no"}, ConnectionFailedError),
        (200, {"code": 1007, "type": "ConnectionFailedException", "message": "no"}, ConnectionFailedError),
        (418, {"code": 77, "type": "Tea", "message": "short and stout"}, InternalError),
    ],
)
def test_errors_are_those_that_the_server_raised(status: int, body: Any, error: type[HeadwaterError]) -> None:
    script = Script((status, {**body, "requestId": "r-1"}))
    with pytest.raises(error, match=body["message"]) as caught:
        client(script).tables("c").load_table(NameIdentifier.of("s", "t"))
    assert type(caught.value) is error
    assert caught.value.request_id == "r-1"


def test_the_request_id_may_stand_in_the_header_only() -> None:
    script = Script((404, {"code": 1003, "type": "NoSuchTableException"}), X_Request_Id="r-2")
    with pytest.raises(NoSuchTableError, match="HTTP 404") as caught:
        client(script).tables("c").load_table(NameIdentifier.of("s", "t"))
    assert caught.value.request_id == "r-2"


@pytest.mark.parametrize(
    "answer",
    [
        (502, b"<html>Bad Gateway</html>"),
        (200, b"<html>Welcome</html>"),
        (200, [1]),
        (200, {"hello": "world"}),
        (200, b""),
    ],
)
def test_something_else_answers(answer: Answer) -> None:
    with pytest.raises(ServerUnreachableError, match="is the address right"):
        client(Script(answer)).load_metalake("lake")
    with pytest.raises(ServerUnreachableError):
        client(Script((302, b"")), metalake=None).list_catalogs()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (httpx.ConnectError("refused"), "is the server running"),
        (httpx.ConnectTimeout("late"), "is the server running"),
        (httpx.ReadTimeout("late"), "did not answer within 7 seconds"),
        (httpx.ProxyError("403"), "through the proxy"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"), "HEADWATER_CA_FILE"),
        (httpx.DecodingError("no gzip"), "Can't reach"),
    ],
)
def test_no_server(error: Exception, text: str) -> None:
    script = Script(error)
    with pytest.raises(ServerUnreachableError, match=text):
        client(script, timeout=7).list_metalakes()
    assert len(script.requests) == 1


# --- what is tried again ---

BUSY = (503, {"code": 1002, "type": "StoreUnavailableException", "message": "busy"})
LIST = (200, {"code": 0, "metalakes": [{"name": "m"}]})


def test_a_busy_server_is_asked_again(pauses: list[float]) -> None:
    script = Script(BUSY, BUSY, LIST, Retry_After="2")
    assert client(script).list_metalakes() == ["m"]
    assert pauses == [2, 2]


def test_patience_ends(pauses: list[float]) -> None:
    script = Script(BUSY, Retry_After="600")
    with pytest.raises(StoreUnavailableError):
        client(script).list_metalakes()
    assert len(script.requests) == 3 and pauses == [5, 5]


def test_a_server_that_names_no_time_is_not_asked_again(pauses: list[float]) -> None:
    script = Script(BUSY)
    with pytest.raises(StoreUnavailableError):
        client(script).list_metalakes()
    assert len(script.requests) == 1 and not pauses


def test_a_read_survives_a_broken_connection() -> None:
    assert client(Script(httpx.ReadError("reset"), httpx.RemoteProtocolError("gone"), LIST)).list_metalakes() == ["m"]
    script = Script(httpx.ReadError("reset"))
    with pytest.raises(ServerUnreachableError):
        client(script).list_metalakes()
    assert len(script.requests) == 3


@pytest.mark.parametrize("answer", [BUSY, httpx.ReadError("reset")])
def test_a_change_is_sent_once(answer: Any, pauses: list[float]) -> None:
    script = Script(answer, Retry_After="1")
    with pytest.raises(HeadwaterError):
        client(script).create_metalake("m")
    assert len(script.requests) == 1 and not pauses


# --- the metalake ---


def server_with(metalakes: list[str], default: str | None = None) -> Script:
    class Server(Script):
        def __call__(self, request: httpx.Request) -> httpx.Response:
            self.requests.append(request)
            config = {"gravitino.schema.separator": ":"} | ({"headwater.default-metalake": default} if default else {})
            body: Any = {"code": 0, "metalakes": [{"name": m} for m in metalakes]}
            if request.url.path.endswith("/configs"):
                body = config
            elif request.url.path.endswith("/catalogs"):
                body = {"code": 0, "identifiers": []}
            return httpx.Response(200, json=body)

    return Server(OK)


def test_the_only_metalake_is_meant() -> None:
    script = server_with(["only"])
    c = client(script, metalake=None)
    assert c.list_catalogs() == c.list_catalogs() == []
    assert [p.removeprefix("GET /p") for p in script.paths] == [
        "/configs", "/api/metalakes", "/api/metalakes/only/catalogs", "/api/metalakes/only/catalogs",
    ]  # fmt: skip


def test_the_server_names_a_default() -> None:
    assert client(server_with(["a", "b"], default="b"), metalake=None).metalake == "b"


def test_several_metalakes_or_none() -> None:
    with pytest.raises(IllegalArgumentError, match=r"several: a, b; .*HEADWATER_METALAKE"):
        client(server_with(["a", "b"]), metalake=None).list_catalogs()
    with pytest.raises(NoSuchMetalakeError, match="no metalake yet"):
        client(server_with([]), metalake=None).list_catalogs()


# --- handles ---


def test_a_handle_shows_its_catalog_and_leads_into_it() -> None:
    script = Script((200, {"code": 0, "catalog": CATALOG, "warnings": ["w"]}))
    with client(script) as c:
        handle = c.create_catalog("c", "x", properties={"a": "b"})
    assert script.body() == {"name": "c", "provider": "x", "properties": {"a": "b"}}
    assert isinstance(handle, CatalogHandle) and repr(handle) == "<CatalogHandle lake.c (x)>"
    assert (handle.name, handle.type.value, handle.provider, handle.comment) == ("c", "relational", "x", None)
    assert handle.properties == {} and handle.audit.creator is None and handle.warnings == ("w",)
    handle.as_schemas()
    handle.as_table_catalog()
    with pytest.raises(UnsupportedOperationError, match="does not support filesets"):
        handle.as_fileset_catalog()


def test_a_connection_test_that_fails_raises() -> None:
    failed = (200, {"code": 1007, "type": "ConnectionFailedException", "message": "no route"})
    script = Script((200, {"code": 0, "catalog": CATALOG}), (200, {"code": 0}), failed)
    handle = client(script).load_catalog("c")
    handle.test_connection(SetProperty(property="a", value="b"))
    assert script.body() == {"updates": [{"@type": "setProperty", "property": "a", "value": "b"}]}
    with pytest.raises(ConnectionFailedError, match="no route"):
        handle.test_connection()
    assert script.requests[-1].content == b""
