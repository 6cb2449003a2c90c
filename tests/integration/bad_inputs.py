"""Requests that can't be right: what each is, what it sends, and the words that its error must say."""

from __future__ import annotations

from typing import Any, NamedTuple

M = "/api/metalakes"
C = f"{M}/lake/catalogs"
I = f"{C}/ice/schemas"  # noqa: E741
T = f"{I}/s/tables"
FS = f"{C}/files/schemas"
F = f"{FS}/s/filesets"
ARGUMENT, NAME = "IllegalArgumentException", "IllegalNameIdentifierException"
NAMED = ("name: ", "illegal", "allowed is [A-Za-z0-9_]")
ICE = {"catalog-backend": "jdbc", "uri": "sqlite:////tmp/x.db", "warehouse": "/tmp/x"}


class Bad(NamedTuple):
    """One of them. The body is JSON unless it is bytes; every text in `says` must be in the message."""

    what: str
    method: str
    path: str
    body: Any
    says: tuple[str, ...]
    type: str = ARGUMENT
    status: int = 400
    code: int = 1001
    headers: dict[str, str] = {}


def catalog(what: str, says: tuple[str, ...], *, provider: str | None = "lakehouse-iceberg", **rest: Any) -> Bad:
    """A catalog that can't be made: `rest` are fields of the body, `remove` properties, others properties."""
    fields: dict[str, Any] = {"name": rest.pop("name", "new"), "provider": provider}
    fields |= {k: rest.pop(k) for k in ("type", "comment", "prvider") if k in rest}
    basis = ICE if provider == "lakehouse-iceberg" else {}
    drop = rest.pop("without", ())
    properties = {**basis, **rest.pop("properties", {})}
    fields["properties"] = {k: v for k, v in properties.items() if k not in drop}
    return Bad(f"catalog: {what}", "POST", C, fields, says, **rest)


def table(what: str, says: tuple[str, ...], *, name: str = "new", columns: Any = None, **fields: Any) -> Bad:
    """A table that can't be made."""
    columns = [{"name": "id", "type": "long"}, {"name": "d", "type": "date"}] if columns is None else columns
    kind = fields.pop("kind", ARGUMENT)
    return Bad(f"table: {what}", "POST", T, {"name": name, "columns": columns, **fields}, says, kind)


def column(what: str, says: tuple[str, ...], **fields: Any) -> Bad:
    """A table whose second column can't be right."""
    second = {"name": "c", "type": "long", **fields}
    return table(f"column {what}", says, columns=[{"name": "id", "type": "long"}, second])


def change(what: str, path: str, says: tuple[str, ...], *updates: Any, **rest: Any) -> Bad:
    """An alter that can't be right."""
    return Bad(f"change of {path.rpartition('/')[2]}: {what}", "PUT", path, {"updates": list(updates)}, says, **rest)


def alter(what: str, says: tuple[str, ...], kind: str, **fields: Any) -> Bad:
    """One change of the table that can't be right."""
    return change(what, f"{T}/t", says, {"@type": kind, **fields})


def nested(depth: int) -> Any:
    """A list type inside of a list type, and so on."""
    type_: Any = "long"
    for _ in range(depth):
        type_ = {"type": "list", "elementType": type_, "containsNull": True}
    return type_


RAW = [
    *(Bad(f"body: {what}", "POST", M, raw, says) for what, raw, says in (
        ("cut off", b'{"name":', ("not JSON",)),
        ("empty", b"", ("body",)),
        ("blank", b" \n", ("body",)),
        ("form", b"name=x&comment=y", ("not JSON",)),
        ("XML", b"<name>x</name>", ("not JSON",)),
        ("two documents", b'{"name":"x"} {}', ("not JSON",)),
        ("NaN", b'{"name":NaN}', ("not JSON",)),
        ("list", b"[]", ("expected object", "array")),
        ("null", b"null", ("expected object", "null")),
        ("text", b'"x"', ("expected object", "str")),
        ("not UTF-8", b'{"name":"\xff\xfe"}', ("UTF-8",)),
        ("UTF-16", '{"name":"x"}'.encode("utf-16"), ("body",)),
        ("gzip", b"\x1f\x8b\x08\x00aaaa", ("body",)),
        ("lone surrogate", b'{"name":"x","comment":"\\ud800"}', ("surrogate",)),
        ("lone surrogate in the middle", b'{"name":"x","comment":"a\\udc00b"}', ("surrogate",)),
        ("lone surrogate in a key", b'{"name":"x","properties":{"\\ud800":"y"}}', ("surrogate",)),
        ("NUL in a name", b'{"name":"a\\u0000b"}', ("name", "NUL")),
        ("NUL in a comment", b'{"name":"x","comment":"a\\u0000b"}', ("comment", "NUL")),
        ("NUL in a property", b'{"name":"x","properties":{"k":"a\\u0000b"}}', ("properties.k", "NUL")),
        ("NUL in a key", b'{"name":"x","properties":{"a\\u0000b":"v"}}', ("properties", "NUL")),
        ("raw control character", b'{"name":"a\x01b"}', ("not JSON",)),
        ("deep lists", b"[" * 100_000, ("body",)),
        ("deep objects", b'{"name":' * 50_000, ("name",)),
        ("deep and closed", b'{"name":"x","comment":' + b"[" * 5000 + b"]" * 5000 + b"}", ("comment",)),
        ("deep unknown field", b'{"name":"x","zzz":' + b"[" * 5000 + b"]" * 5000 + b"}", ("zzz",)),
        ("huge number", b'{"name":' + b"9" * 4000 + b"}", ("name", "range")),
        ("infinite number", b'{"name":1e999}', ("name",)),
    )),
    Bad("body: none at all", "POST", M, None, ("body",)),
    Bad("accept: an unknown version", "GET", M, None, ("Accept", "v1"), "NotAcceptableException", 406,
        headers={"Accept": "application/vnd.gravitino.v9+json"}),
    Bad("authorization: an unknown scheme", "GET", M, None, ("Authorization", "Basic"), "UnauthorizedException", 401,
        1011, {"Authorization": "Bearer abc"}),
    Bad("route: unknown", "GET", "/api/metalake", None, ("/api/metalake", "openapi"), "NotFoundException", 404, 1003),
    Bad("route: method", "PATCH", T, {}, ("PATCH", "GET", "POST"), "UnsupportedOperationException", 405, 1006),
]  # fmt: skip

QUERIES = [
    Bad(f"query: {path}?{query}", method, f"{path}?{query}", None, says)
    for method, path, query, says in (
        ("GET", M, "limit=0", ("limit", "1")),
        ("GET", M, "limit=-1", ("limit", "1")),
        ("GET", T, "limit=10001", ("limit", "10000")),
        ("GET", T, "limit=" + "9" * 400, ("limit",)),
        ("GET", T, "limit=1.5", ("limit", "int")),
        ("GET", T, "limit=", ("limit", "int")),
        ("GET", T, "limit=abc", ("limit", "int")),
        ("GET", T, "limit=1&limit=2", ("limit", "twice")),
        ("GET", T, "limt=1", ("limt", "unknown", "limit")),
        ("GET", T, "details=true", ("details", "unknown", "limit", "pageToken", "namePrefix")),
        ("GET", f"{T}/t", "x=1", ("x", "unknown", "privileges")),
        ("GET", f"{M}/lake", "force=true", ("force", "unknown", "none")),
        ("GET", C, "details=maybe", ("details", "bool")),
        ("GET", T, "pageToken=%25%25", ("pageToken", "token")),
        ("GET", T, "pageToken=a", ("pageToken", "token")),
        ("GET", T, "pageToken=%C3%A4", ("pageToken", "token")),
        ("GET", T, "pageToken=_____w", ("pageToken", "token")),
        ("GET", T, "pageToken=AAAA", ("pageToken", "token")),
        ("GET", T, "namePrefix=a%00", ("namePrefix", "NUL")),
        ("GET", T, "namePrefix=%ff", ("query",)),
        ("GET", T, "&".join(f"a{i}=1" for i in range(60)), ("query",)),
        ("GET", f"{T}/t", "privileges=FLY", ("privileges", "FLY", "SELECT_TABLE", "MODIFY_TABLE")),
        ("DELETE", f"{M}/lake", "force=yess", ("force", "bool")),
        ("DELETE", f"{I}/s", "cascade=yess", ("cascade", "bool")),
        ("DELETE", f"{T}/t", "purge=2", ("purge", "bool")),
        ("DELETE", f"{T}/t", "force=true", ("force", "unknown", "purge")),
        ("GET", f"{F}/f/location", "", ("sub_path", "required")),
        ("GET", f"{F}/f/location", "sub_path=../x", ("sub_path", "..")),
        ("GET", f"{F}/f/files", "sub_path=../..", ("sub_path",)),
        ("GET", f"{F}/f/files", "sub_path=nothing", ("sub_path", "nothing")),
        ("GET", f"{T}/a%00b", "", ("NUL",)),
        ("GET", f"{T}/%ff%fe", "", ("UTF-8",)),
        ("GET", f"{M}/%00", "", ("NUL",)),
    )
]

METALAKES = [
    *(Bad(f"metalake: name {name[:9]!r}", "POST", M, {"name": name}, ("name: ",), NAME)
      for name in ("", "   ", "a b", "a" * 65, "a.b", "a/b", "a-b", "ä", "x\ny", "../x", "system", "\u202ex")),
    Bad("metalake: no name", "POST", M, {"comment": "x"}, ("name: missing",)),
    Bad("metalake: name not a text", "POST", M, {"name": 1}, ("name: ", "str", "int")),
    Bad("metalake: name is null", "POST", M, {"name": None}, ("name: ", "str", "null")),
    Bad("metalake: unknown field", "POST", M, {"name": "x", "coment": "y"}, ("coment: unknown", "'comment'")),
    Bad("metalake: comment a map", "POST", M, {"name": "x", "comment": {}}, ("comment: ", "str", "object")),
    Bad("metalake: properties a list", "POST", M, {"name": "x", "properties": []}, ("properties: ", "object", "array")),
    Bad("metalake: property a number", "POST", M, {"name": "x", "properties": {"k": 1}}, ("properties", "str", "int")),
    Bad("metalake: property null", "POST", M, {"name": "x", "properties": {"k": None}}, ("properties", "str", "null")),
    Bad("metalake: reserved", "POST", M, {"name": "x", "properties": {"in-use": "true"}}, ("in-use", "reserved")),
    Bad("metalake: empty key", "POST", M, {"name": "x", "properties": {"": "v"}}, ("properties", "empty")),
    Bad("metalake: in use as text", "PATCH", f"{M}/lake", {"inUse": "yes"}, ("inUse", "bool", "str")),
    Bad("metalake: in use missing", "PATCH", f"{M}/lake", {}, ("inUse: missing",)),
    Bad("metalake: in use misspelt", "PATCH", f"{M}/lake", {"inUse": True, "inuse": True}, ("inuse", "'inUse'")),
    Bad("metalake: no updates", "PUT", f"{M}/lake", {}, ("updates: missing",)),
    Bad("metalake: updates a map", "PUT", f"{M}/lake", {"updates": {}}, ("updates", "array", "object")),
    change("unknown kind", f"{M}/lake", ("updates[0].@type", "'renme'", "rename"), {"@type": "renme", "newName": "x"}),
    change("kind of another noun", f"{M}/lake", ("updates[0].@type", "addColumn", "setProperty"),
           {"@type": "addColumn", "fieldName": ["x"], "type": "long"}),
    change("no kind", f"{M}/lake", ("updates[0].@type: missing", "rename"), {"newName": "x"}),
    change("kind not a text", f"{M}/lake", ("updates[0].@type",), {"@type": 7}),
    change("not an object", f"{M}/lake", ("updates[0]", "object"), "rename"),
    change("second one wrong", f"{M}/lake", ("updates[1].newComent", "'newComment'"),
           {"@type": "setProperty", "property": "a", "value": "b"}, {"@type": "updateComment", "newComent": "x"}),
    change("rename to nothing", f"{M}/lake", ("updates[0].newName", "blank"), {"@type": "rename", "newName": " "}),
    change("rename illegal", f"{M}/lake", ("newName", "illegal"), {"@type": "rename", "newName": "a b"}, type=NAME),
    change("property without value", f"{M}/lake", ("updates[0].value: missing",),
           {"@type": "setProperty", "property": "a"}),
    change("blank property", f"{M}/lake", ("updates[0].property", "blank"),
           {"@type": "setProperty", "property": "", "value": "v"}),
    change("reserved property", f"{M}/lake", ("in-use", "reserved"),
           {"@type": "setProperty", "property": "in-use", "value": "false"}),
    change("remove reserved property", f"{M}/lake", ("in-use", "reserved"),
           {"@type": "removeProperty", "property": "in-use"}),
]  # fmt: skip

PROVIDERS = ("provider: ", "fileset", "lakehouse-iceberg")
CATALOGS = [
    *(Bad(f"catalog: name {name!r}", "POST", C, {"name": name, "provider": "fileset"}, NAMED, NAME)
      for name in ("a b", "-a", "a.b", "a/b", "a" * 65, "ä")),
    Bad("catalog: name system", "POST", C, {"name": "system", "provider": "fileset"}, ("name: ", "reserved"), NAME),
    catalog("unknown provider", (*PROVIDERS, "did you mean 'lakehouse-iceberg'"), provider="lakehouse-icberg"),
    catalog("provider that is a path", (*PROVIDERS, "../x"), provider="../x"),
    catalog("provider with an upper case letter", PROVIDERS, provider="Fileset"),
    catalog("empty provider", PROVIDERS, provider=""),
    catalog("no provider", ("provider: required",), provider=None),
    catalog("no provider for relational", ("provider: required", "lakehouse-iceberg"), provider=None,
            type="relational"),
    catalog("no provider for its type", ("provider: required", "'messaging'"), provider=None, type="messaging"),
    catalog("unknown type", ("type", "'relatonal'", "relational"), type="relatonal"),
    catalog("type that does not fit", ("type", "'fileset'", "'relational'"), type="fileset"),
    catalog("misspelt field", ("prvider", "'provider'"), prvider="x"),
    catalog("no backend", ("required", "catalog-backend"), without=("catalog-backend",)),
    catalog("no uri", ("required", "uri", "catalog-backend=jdbc"), without=("uri",)),
    catalog("unknown backend", ("catalog-backend", "'hiv'", "memory", "jdbc"), properties={"catalog-backend": "hiv"}),
    catalog("not a boolean", ("s3-path-style-access", "'maybe'", "true, false"),
            properties={"s3-path-style-access": "maybe"}),
    catalog("misspelt property", ("warehosue", "'warehouse'"), properties={"warehosue": "/x"}),
    catalog("misspelt secret", ("jdbc-pasword", "'jdbc-password'"), properties={"jdbc-pasword": "x"}),
    catalog("reserved property", ("in-use", "reserved"), properties={"in-use": "false"}),
    catalog("empty key", ("properties", "empty"), properties={" ": "false"}),
    *(catalog(f"uri {uri}", ("properties.uri", *says), properties={"uri": uri}) for uri, says in (
        ("postgresql://u:hunter2@127.0.0.1:1/db", ("password", "jdbc-password")),
        ("jdbc:postgresql://127.0.0.1:1/db?password=hunter2", ("password", "jdbc-password")),
        ("jdbc:postgresql://127.0.0.1:1/db?user=u&password=hunter2", ("password", "jdbc-password")),
        ("sqlite:///relative/x.db", ("absolute", "sqlite:////absolute/path")),
        ("jdbc:sqlite:relative.db", ("absolute",)),
        ("sqlite://", ("file", "sqlite:////absolute/path")),
        ("sqlite:///:memory:", ("file", "memory")),
        ("mysql://127.0.0.1/db", ("'mysql'", "sqlite://", "postgresql://")),
        ("oracle+x://127.0.0.1/db", ("sqlite://", "postgresql://")),
        ("not a uri", ("sqlite://", "postgresql://")),
        ("", ("sqlite://", "postgresql://")),
        ("postgresql://127.0.0.1:port/db", ("postgresql://",)),
    )),
    catalog("relative warehouse", ("warehouse", "absolute"), properties={"warehouse": "data/x"}),
    catalog("warehouse with a strange scheme", ("warehouse",), properties={"warehouse": "ftp://host/x"}),
    catalog("empty warehouse", ("warehouse",), properties={"warehouse": ""}),
    catalog("relative location", ("location", "absolute"), provider="fileset", properties={"location": "data"}),
    catalog("location up and away", ("location",), provider="fileset", properties={"location": "file:relative/x"}),
    catalog("reserved location", ("location-unknown", "reserved"), provider="fileset",
            properties={"location-unknown": "/x"}),
    Bad("catalog: in use as number", "PATCH", f"{C}/ice", {"inUse": 1}, ("inUse", "bool", "int")),
    change("immutable property", f"{C}/ice", ("catalog-backend", "can't be changed"),
           {"@type": "setProperty", "property": "catalog-backend", "value": "memory"}),
    change("remove required property", f"{C}/ice", ("uri", "required"), {"@type": "removeProperty", "property": "uri"}),
    change("remove immutable property", f"{C}/ice", ("catalog-backend",),
           {"@type": "removeProperty", "property": "catalog-backend"}),
    change("misspelt property", f"{C}/ice", ("warehosue", "'warehouse'"),
           {"@type": "setProperty", "property": "warehosue", "value": "/x"}),
    change("uri with a password", f"{C}/ice", ("properties.uri", "jdbc-password"),
           {"@type": "setProperty", "property": "uri", "value": "postgresql://u:hunter2@127.0.0.1/x"}),
    change("relative warehouse", f"{C}/ice", ("warehouse", "absolute"),
           {"@type": "setProperty", "property": "warehouse", "value": "x"}),
    change("reserved property", f"{C}/ice", ("in-use", "reserved"),
           {"@type": "setProperty", "property": "in-use", "value": "false"}),
    change("good then bad", f"{C}/ice", ("newName", "illegal"), {"@type": "updateComment", "newComment": "changed"},
           {"@type": "rename", "newName": "a b"}, type=NAME),
]  # fmt: skip
