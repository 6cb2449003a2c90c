"""What a catalog's properties may reach on the server's own machine."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.harness import Answer, Server, files_below, running

CATALOGS = "/api/metalakes/lake/catalogs"


def iceberg(folder: Path, **properties: str) -> dict[str, str]:
    uri = f"sqlite:///{folder}/i.db"
    return {"catalog-backend": "jdbc", "uri": uri, "warehouse": str(folder / "w"), **properties}


def make(server: Server, name: str, provider: str, properties: dict[str, str]) -> Answer:
    return server.call("POST", CATALOGS, {"name": name, "provider": provider, "properties": properties})


def assert_out_of_reach(answer: Answer, field: str) -> None:
    assert (answer.status, answer.json["type"]) == (400, "IllegalArgumentException"), answer
    message = answer.json["message"]
    assert field in message
    assert any(why in message for why in ("storage.local-roots", "may not contain '..'", "names a host")), message


def set_to(key: str, value: str) -> dict[str, Any]:
    return {"updates": [{"@type": "setProperty", "property": key, "value": value}]}


def test_only_the_allowed_folders(tmp_path: Path) -> None:
    inside, outside, twin = tmp_path / "inside", tmp_path / "outside", tmp_path / "inside-not"
    for folder in (inside, outside, twin):
        folder.mkdir()
    (inside / "link").symlink_to(outside)
    with running(tmp_path / "data", env={"HEADWATER_STORAGE_LOCAL_ROOTS": str(inside)}) as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
        away = [str(outside), str(twin), f"{inside}/../outside", f"{inside}/link", "/", f"file://{outside}"]
        for n, folder in enumerate([*away, f"file:{outside}", f"file://localhost{outside}"]):
            refused = make(server, f"w{n}", "lakehouse-iceberg", iceberg(inside, warehouse=folder))
            assert_out_of_reach(refused, "properties.warehouse")
            assert_out_of_reach(make(server, f"f{n}", "fileset", {"location": folder}), "properties.location")
        for folder in away[:5]:
            refused = make(server, "u", "lakehouse-iceberg", iceberg(inside, uri=f"sqlite:///{folder}/i.db"))
            assert_out_of_reach(refused, "properties.uri")
        assert make(server, "ice", "lakehouse-iceberg", iceberg(inside)).status == 200
        assert make(server, "files", "fileset", {"location": f"file:{inside}/f"}).status == 200
        assert make(server, "open", "fileset", {"location": "/{{catalog}}/etc"}).status in (200, 400)
        encoded = iceberg(inside, warehouse=f"file:{inside}/%2e%2e/climbed")
        if make(server, "encoded", "lakehouse-iceberg", encoded).status == 200:  # then it is a folder of that name
            server.ok("POST", f"{CATALOGS}/encoded/schemas", {"name": "s2"})
            table = {"name": "t", "columns": [{"name": "id", "type": "long"}]}
            server.ok("POST", f"{CATALOGS}/encoded/schemas/s2/tables", table)
        check_below(server, inside, outside)
    assert not (tmp_path / "climbed").exists()
    assert files_below(outside) == []
    assert files_below(twin) == []


def check_below(server: Server, inside: Path, outside: Path) -> None:
    """Schemas, tables and filesets inside of allowed catalogs can't lead out either, at creation or later."""
    ice, files = f"{CATALOGS}/ice", f"{CATALOGS}/files"
    away = str(outside / "x")
    columns = [{"name": "id", "type": "long"}]
    for path, field in ((ice, "warehouse"), (files, "location")):
        assert_out_of_reach(server.call("PUT", path, set_to(field, away)), f"properties.{field}")
    for path in (ice, files):
        body = {"name": "away", "properties": {"location": away}}
        assert_out_of_reach(server.call("POST", f"{path}/schemas", body), "location")
        server.ok("POST", f"{path}/schemas", {"name": "s"})
    assert_out_of_reach(server.call("PUT", f"{ice}/schemas/s", set_to("location", away)), "location")
    table = {"name": "t", "columns": columns, "properties": {"location": away}}
    assert_out_of_reach(server.call("POST", f"{ice}/schemas/s/tables", table), "location")
    server.ok("POST", f"{ice}/schemas/s/tables", {"name": "t", "columns": columns})
    for key in ("write.metadata.path", "write.data.path"):
        assert_out_of_reach(server.call("PUT", f"{ice}/schemas/s/tables/t", set_to(key, away)), "updates[0]")
        elsewhere = {"name": "t2", "columns": columns, "properties": {key: away}}
        assert_out_of_reach(server.call("POST", f"{ice}/schemas/s/tables", elsewhere), key)
    for location in (away, f"file:{away}", str(inside / "link" / "x")):
        body = {"name": "f", "type": "external", "storageLocation": location}
        assert_out_of_reach(server.call("POST", f"{files}/schemas/s/filesets", body), "storageLocations")
    climbing = {
        "name": "p",
        "storageLocation": f"{inside}/{{{{up}}}}/x",
        "properties": {"placeholder-up": "../outside"},
    }
    assert server.call("POST", f"{files}/schemas/s/filesets", {"name": "p", **climbing}).status == 400


def test_anywhere_on_loopback_and_the_data_folder_beyond(tmp_path: Path) -> None:
    with running(tmp_path / "near") as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
        assert make(server, "a", "fileset", {"location": str(tmp_path / "any")}).status == 200
    with running(tmp_path / "far", "--host", "0.0.0.0", "--insecure") as server:
        server.uri = server.uri.replace("0.0.0.0", "127.0.0.1")
        server.ok("POST", "/api/metalakes", {"name": "lake"})
        assert_out_of_reach(make(server, "a", "fileset", {"location": str(tmp_path / "any")}), "properties.location")
        assert make(server, "a", "fileset", {"location": str(tmp_path / "far" / "files")}).status == 200


@pytest.fixture(scope="module")
def pg() -> Iterator[servers.PostgresServer]:
    with servers.postgres(fsync=False) as started:
        yield started


@pytest.mark.parametrize("allowed", [True, False])
def test_secrets_from_files_and_the_environment(allowed: bool, pg: servers.PostgresServer, tmp_path: Path) -> None:
    """A name that the server's configuration allows is replaced by what it stands for; any other is just a text."""
    word = f"variable-{secrets.token_hex(8)}"
    (tmp_path / "secret").write_text(pg.password + "\n")
    user, password = "env:LAKE_USER", f"file:{tmp_path}/secret"
    env = {"LAKE_USER": pg.user, "LAKE_WORD": word}
    if allowed:
        env["HEADWATER_SECRETS_ALLOW"] = ",".join((user, password, "env:LAKE_WORD"))
    uri = f"postgresql://127.0.0.1:{pg.port}/postgres"
    others = ["env:LAKE_WORD", f"file:{tmp_path}/../{tmp_path.name}/secret", "env:PATH", "file:/etc/passwd"]
    with running(tmp_path / "data", env=env) as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
        said = []
        pairs = [(user, password), *((user, o) for o in others), *((o, password) for o in others)]
        for n, (name, key) in enumerate(pairs):
            given = iceberg(tmp_path, uri=uri) | {"jdbc-user": name, "jdbc-password": key, "team.note": key}
            made = make(server, f"c{n}", "lakehouse-iceberg", given)
            tested = server.call("POST", f"{CATALOGS}/c{n}/testConnection")
            assert made.json["catalog"]["properties"]["team.note"] == key
            assert (tested.json["code"] == 0) == (allowed and n == 0), (name, key, tested)
            said += [made.raw, tested.raw]
        written = b"".join([*said, server.log.read_bytes()])
    written += b"".join(p.read_bytes() for p in (tmp_path / "data").rglob("*") if p.is_file())
    for secret in (pg.password, word, "root:x:0"):
        assert secret.encode() not in written
