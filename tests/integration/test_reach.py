"""What a catalog's properties may reach on the server's own machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.harness import Answer, Server, files_below, running

CATALOGS = "/api/metalakes/lake/catalogs"


def iceberg(folder: Path, **properties: str) -> dict[str, str]:
    uri = f"sqlite:///{folder}/i.db"
    return {"catalog-backend": "jdbc", "uri": uri, "warehouse": str(folder / "w"), **properties}


def make(server: Server, name: str, provider: str, properties: dict[str, str]) -> Answer:
    return server.call("POST", CATALOGS, {"name": name, "provider": provider, "properties": properties})


def assert_out_of_reach(answer: Answer, field: str) -> None:
    assert (answer.status, answer.json["type"]) == (400, "IllegalArgumentException"), answer
    assert field in answer.json["message"]
    assert "storage.local-roots" in answer.json["message"]


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
        for n, folder in enumerate([*away, f"file:{outside}", f"file://localhost{outside}", f"file:{inside}/%2e%2e/x"]):
            refused = make(server, f"w{n}", "lakehouse-iceberg", iceberg(inside, warehouse=folder))
            assert_out_of_reach(refused, "properties.warehouse")
            assert_out_of_reach(make(server, f"f{n}", "fileset", {"location": folder}), "properties.location")
        for folder in away[:5]:
            refused = make(server, "u", "lakehouse-iceberg", iceberg(inside, uri=f"sqlite:///{folder}/i.db"))
            assert_out_of_reach(refused, "properties.uri")
        assert make(server, "ice", "lakehouse-iceberg", iceberg(inside)).status == 200
        assert make(server, "files", "fileset", {"location": f"file:{inside}/f"}).status == 200
        assert make(server, "open", "fileset", {"location": "/{{catalog}}/etc"}).status in (200, 400)
        check_below(server, inside, outside)
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
        assert_out_of_reach(server.call("PUT", f"{ice}/schemas/s/tables/t", set_to(key, away)), key)
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


@pytest.mark.parametrize("allowed", [True, False])
def test_secrets_from_files_and_the_environment(allowed: bool, tmp_path: Path) -> None:
    canary, word = "canary-in-a-file-93711", "canary-in-a-variable-5521"
    (tmp_path / "secret").write_text(canary + "\n")
    names = [f"file:{tmp_path}/secret", "env:LAKE_WORD"]
    others = [f"file:{tmp_path}/../{tmp_path.name}/secret", "env:PATH", "file:/etc/passwd"]
    env = {"LAKE_WORD": word}
    if allowed:
        env |= {"HEADWATER_SECRETS_ALLOW": ",".join(names), "HEADWATER_VEND_CREDENTIALS": "true"}
    with running(tmp_path / "data", env=env) as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
        tested = []
        for n, name in enumerate(
            [*names, f"file:{tmp_path}/../{tmp_path.name}/secret", "env:PATH", "file:/etc/passwd"]
        ):
            uri = "postgresql://127.0.0.1:9/db"
            body = iceberg(tmp_path, uri=uri) | {"jdbc-user": name, "jdbc-password": name}
            made = make(server, f"c{n}", "lakehouse-iceberg", body)
            assert made.status == 200
            tested += [made, server.call("POST", f"{CATALOGS}/c{n}/testConnection")]
            # In what is shown it can do no harm to read another file, for nothing is read at all.
            shown = make(server, f"s{n}", "lakehouse-iceberg", iceberg(tmp_path, **{"team.note": name})).json
            assert shown["catalog"]["properties"]["team.note"] == name
        said = b"".join(a.raw for a in tested) + server.log.read_bytes()
        for secret in (canary, word, "root:x:0"):
            assert secret.encode() not in said
    stored = b"".join(p.read_bytes() for p in (tmp_path / "data").rglob("*") if p.is_file())
    assert canary.encode() not in stored
    assert word.encode() not in stored
