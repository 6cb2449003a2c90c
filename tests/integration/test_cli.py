"""The command line against a real server: every noun and verb, the forms of output, exit codes, the seeds' commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from headwater.cli.main import cli
from tests.harness import Server, running

METALAKE = "command_line"
TABLE = ("--catalog", "ice", "--schema", "s")
BIN = Path(sys.executable).parent


class Shell:
    """Runs commands against one server."""

    def __init__(self, server: Server, metalake: str | None, config: Path) -> None:
        self.env = {"HEADWATER_URI": server.uri, "XDG_CONFIG_HOME": str(config)}
        if metalake is not None:
            self.env["HEADWATER_METALAKE"] = metalake

    def run(self, *args: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(cli, args, env=self.env, input=stdin, prog_name="headwater")

    def ok(self, *args: str, stdin: str | None = None) -> list[str]:
        """The lines that a command writes which must succeed."""
        result = self.run(*args, stdin=stdin)
        assert result.exit_code == 0, result.stderr
        return result.stdout.splitlines()

    def json(self, *args: str) -> Any:
        return json.loads("\n".join(self.ok(*args, "--output", "json")))

    def fails(self, *args: str, code: int = 1) -> str:
        result = self.run(*args)
        assert result.exit_code == code, result.output
        assert result.stdout == "" and result.stderr.count("\n") == 1
        return result.stderr


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith("HEADWATER_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def shell(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    made = Shell(server, METALAKE, tmp_path_factory.mktemp("config"))
    folder = tmp_path_factory.mktemp("lake")
    made.ok("metalake", "create", "--name", METALAKE)
    made.ok("catalog", "create", "--name", "ice", "--provider", "lakehouse-iceberg", "-p", iceberg(folder))
    made.ok("schema", "create", "--catalog", "ice", "--name", "s")
    made.ok("catalog", "create", "--name", "files", "--provider", "fileset", "-p", f"location={folder}/files")
    made.ok("schema", "create", "--catalog", "files", "--name", "raw")
    yield made
    made.ok("metalake", "delete", "--name", METALAKE, "--force")


def iceberg(folder: Path) -> str:
    return f"catalog-backend=jdbc,uri=sqlite:///{folder}/ice.db,warehouse={folder}/wh"


# --- nouns and verbs ---


def test_metalakes(shell: Shell) -> None:
    name = "command_line_2"
    lines = shell.ok("metalake", "create", "--metalake", name, "--comment", "first", "--properties", "a=b,c")
    assert lines[:3] == [f"name: {name}", "comment: first", "properties.a: b,c"]
    assert name in shell.ok("metalake", "list")
    assert shell.ok("metalake", "list", "--prefix", name) == [name]
    assert shell.json("metalake", "show", "-m", name)["comment"] == "first"
    lines = shell.ok("metalake", "alter", "--name", name, "--comment", "", "--set", "x=y", "--remove", "a")
    assert "properties.x: y" in lines and not [x for x in lines if x.startswith(("comment", "properties.a"))]
    assert "is in use: disable it first" in shell.fails("metalake", "delete", "--name", name)
    assert shell.ok("metalake", "disable", "--name", name) == [f"Metalake {name} is disabled"]
    assert "is not in use" in shell.fails("catalog", "list", "--metalake", name)
    assert shell.json("metalake", "enable", "--name", name) == {"inUse": True}
    shell.ok("metalake", "update", "--name", name, "--rename", f"{name}x")
    assert shell.json("metalake", "drop", "--name", f"{name}x", "--force") == {"dropped": True}
    assert f"There is no metalake {name}x" in shell.fails("metalake", "delete", "--name", f"{name}x")
    assert shell.ok("metalake", "delete", "--name", f"{name}x", "--if-exists") == [f"Metalake {name}x did not exist"]


def test_catalogs(shell: Shell, tmp_path: Path) -> None:
    args = ("--name", "c", "--provider", "lakehouse-iceberg", "-p", iceberg(tmp_path))
    assert shell.ok("catalog", "test", *args) == ["Catalog c can be reached"]
    result = shell.run("catalog", "create", *args, "--properties", "own-key=1", "--comment", "cc")
    assert result.exit_code == 0 and "warning: properties.own-key" in result.stderr
    assert result.stdout.splitlines()[:4] == [
        "name: c",
        "type: relational",
        "provider: lakehouse-iceberg",
        "comment: cc",
    ]
    assert shell.ok("catalog", "list") == ["c", "files", "ice"]
    found = shell.json("catalog", "list", "--prefix", "c")
    assert [(c["name"], c["comment"], c["properties"]["own-key"]) for c in found] == [("c", "cc", "1")]
    assert shell.json("catalog", "details", "--catalog", "c") == found[0]
    assert shell.ok("catalog", "test", "--name", "c") == ["Catalog c can be reached"]
    assert "can't be changed after creation" in shell.fails(
        "catalog", "update", "-n", "c", "--set", "catalog-backend=memory"
    )
    assert shell.json("catalog", "update", "-n", "c", "--set", "own-key=2", "--rename", "d")["name"] == "d"
    assert shell.ok("catalog", "disable", "--name", "d") == ["Catalog d is disabled"]
    assert shell.ok("catalog", "enable", "--name", "d") == ["Catalog d is enabled"]
    assert shell.ok("catalog", "delete", "--name", "d", "--force") == ["Catalog d is deleted"]
    dead = iceberg(tmp_path).replace("sqlite:///", "postgresql://127.0.0.1:9")
    assert "can't be used" in shell.fails(
        "catalog", "test", "--name", "x", "--provider", "lakehouse-iceberg", "-p", dead
    )


@pytest.mark.parametrize(
    "text", ["catalog-backend=jdbc\nuri=sqlite:///{}/i.db\n# c\n", '{{"uri": "sqlite:///{}/i.db"}}']
)
def test_properties_may_come_from_a_file(shell: Shell, tmp_path: Path, text: str) -> None:
    file = tmp_path / "p"
    file.write_text(text.format(tmp_path))
    args = (
        "catalog",
        "create",
        "--provider",
        "lakehouse-iceberg",
        "-p",
        f"catalog-backend=jdbc,warehouse={tmp_path}/w",
    )
    assert f"properties.uri: sqlite:///{tmp_path}/i.db" in shell.ok(*args, "-n", "p1", "--properties-file", str(file))
    shell.ok(*args, "-n", "p2", "--properties-file", "-", stdin=file.read_text())
    for name in ("p1", "p2"):
        shell.ok("catalog", "delete", "--name", name, "--force")


def test_providers_and_their_properties(shell: Shell) -> None:
    assert {"fileset", "lakehouse-iceberg"} <= set(shell.ok("provider", "list"))
    args = ("catalog", "properties", "--provider", "lakehouse-iceberg")
    assert "warehouse" in shell.ok(*args)
    shown = " ".join(" ".join(shell.ok(*args, "-o", "table")).split())
    assert "uri with catalog-backend=jdbc" in shown and "One of" in shown
    assert shell.json(*args, "--of", "table") == shell.json(*args, "--of", "table", "--offline")
    assert "allowed are" in shell.fails("catalog", "properties", "--provider", "nothing")
    assert "allowed are" in shell.fails("catalog", "properties", "--provider", "nothing", "--offline")


def test_schemas(shell: Shell) -> None:
    ice = ("--catalog", "ice")
    assert shell.ok("schema", "create", *ice, "--name", "a", "--comment", "c")[:2] == ["name: a", "comment: c"]
    shell.ok("schema", "create", *ice, "--schema", "a:b")
    assert shell.ok("schema", "list", *ice) == ["a", "s"]
    assert shell.json("schema", "list", *ice, "--parent", "a") == [{"name": "a:b"}]
    assert "properties.k: v,w" in shell.ok("schema", "update", *ice, "-n", "a", "--set", "k=v,w")
    assert "properties" in shell.json("schema", "load", *ice, "--schema", "a")
    assert "properties.k: v,w" not in shell.ok("schema", "update", *ice, "-n", "a", "--remove", "k")
    assert shell.fails("schema", "delete", *ice, "--name", "a").startswith("headwater: ")
    shell.ok("schema", "delete", *ice, "--name", "a:b")
    assert shell.ok("schema", "delete", *ice, "--name", "a", "--cascade") == ["Schema ice.a is deleted"]
    assert "There is no schema ice.a" in shell.fails("schema", "delete", *ice, "--name", "a")


COLUMNS = "id bigint not null, at timestamp, price decimal(10,2) comment 'it''s net', tags map<string,array<int>>"


def test_a_table_from_its_making_to_its_end(shell: Shell) -> None:
    args = (*TABLE, "--name", "orders")
    lines = shell.ok(
        "table", "create", *args, "--columns", COLUMNS, "--partition", "day(at), bucket(16, id)",
        "--sort", "id desc nulls first", "--comment", "Orders", "--properties", "a=b,c,d=e",
    )  # fmt: skip
    assert lines[:6] == [
        "name: orders",
        "comment: Orders",
        "columns.id: long not null",
        "columns.at: timestamp(6)",
        "columns.price: decimal(10,2) comment 'it''s net'",
        "columns.tags: map<string,list<integer>>",
    ]
    assert {"properties.a: b,c", "properties.d: e", "partitioning: day(at), bucket(16, id)"} <= set(lines)
    assert "sort-orders: id desc nulls first" in lines
    assert shell.ok("table", "details", *TABLE, "--table", "orders") == lines
    assert shell.ok("table", "list", *TABLE) == ["orders"]
    assert shell.ok("table", "list", *TABLE, "--prefix", "x") == []
    lines = shell.ok(
        "table", "update", *args, "--drop-column", "tags", "--rename-column", "price=net", "--alter-column",
        "net=decimal(12,2)", "--add-column", "note string comment 'n' after id", "--column-comment", "id=the key",
        "--nullable", "id", "--set", "x=y", "--remove", "a,d", "--comment", "",
        "--change", '{"@type": "updateColumnPosition", "fieldName": ["at"], "newPosition": "first"}',
    )  # fmt: skip
    assert lines[:5] == [
        "name: orders",
        "columns.at: timestamp(6)",
        "columns.id: long comment 'the key'",
        "columns.note: string comment 'n'",
        "columns.net: decimal(12,2) comment 'it''s net'",
    ]
    assert "properties.x: y" in lines and "properties.a: b,c" not in lines
    shell.ok("schema", "create", "--catalog", "ice", "--name", "t")
    assert shell.json("table", "update", *args, "--rename", "sold", "--to-schema", "t")["name"] == "sold"
    moved = ("--catalog", "ice", "--schema", "t", "--name", "sold")
    assert shell.ok("table", "delete", *moved, "--purge") == ["Table ice.t.sold is deleted"]
    assert "There is no table" in shell.fails("table", "drop", *moved)
    assert shell.json("table", "delete", *moved, "--if-exists") == {"dropped": False}


def test_columns_of_a_file(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "items.csv"
    file.write_text("Name,Datatype,Comment,Nullable\nid,bigint,the key,false\nname,varchar(20),,\n")
    lines = shell.ok("table", "create", *TABLE, "-n", "items", "--columns-file", str(file))
    assert "columns.id: long not null comment 'the key'" in lines and "columns.name: varchar(20)" in lines
    wire = json.dumps(shell.json("table", "details", *TABLE, "-n", "items")["columns"])
    copied = shell.ok("table", "create", *TABLE, "-n", "copy", "--columns-file", "-", stdin=wire)
    assert [x for x in copied if x.startswith("columns")] == [x for x in lines if x.startswith("columns")]
    shell.ok("table", "delete", *TABLE, "-n", "items")
    shell.ok("table", "delete", *TABLE, "-n", "copy")


def test_filesets(shell: Shell, tmp_path: Path) -> None:
    above = ("--catalog", "files", "--schema", "raw")
    made = shell.json("fileset", "create", *above, "--name", "logs", "--comment", "c", "-p", "a=b")
    assert made["type"] == "managed" and made["properties"]["a"] == "b"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("hello")
    outside = (*above, "--fileset", "outside")
    lines = shell.ok("fileset", "create", *outside, "--type", "external", "--location", str(tmp_path))
    assert f"storage-location: file:{tmp_path}" in lines
    two = ("--locations", f"x={tmp_path}2/x,y={tmp_path}2/y", "-p", "default-location-name=y")
    assert shell.json("fileset", "create", *above, "-n", "two", *two)["storageLocations"]["x"] == f"file:{tmp_path}2/x"
    assert shell.ok("fileset", "location", *above, "-n", "two", "--location-name", "x") == [f"file:{tmp_path}2/x"]
    assert shell.ok("fileset", "list", *above) == ["logs", "outside", "two"]
    assert shell.ok("fileset", "files", *outside) == ["sub"]
    assert shell.json("fileset", "files", *outside, "--path", "sub")[0]["size"] == 5
    assert shell.ok("fileset", "location", *outside, "--path", "sub/a.txt") == [f"file:{tmp_path}/sub/a.txt"]
    assert "name: logs2" in shell.ok("fileset", "update", *above, "-n", "logs", "--rename", "logs2", "--comment", "")
    assert shell.json("fileset", "details", *above, "-n", "logs2").get("comment") is None
    for name in ("logs2", "outside", "two"):
        assert shell.ok("fileset", "delete", *above, "-n", name) == [f"Fileset files.raw.{name} is deleted"]


# --- output, errors, settings ---


def test_yaml_and_json_say_the_same(shell: Shell) -> None:
    args = ("catalog", "details", "--name", "ice")
    assert yaml.safe_load("\n".join(shell.ok(*args, "-o", "yaml"))) == shell.json(*args)


def test_tables_for_people(shell: Shell) -> None:
    shown = [x.split() for x in shell.ok("catalog", "list", "--output", "table")]
    assert ["name", "type", "provider", "comment"] in shown and ["ice", "relational", "lakehouse-iceberg"] in shown
    shown = [x.split() for x in shell.ok("catalog", "details", "--name", "ice", "--output", "table")]
    assert ["properties"] in shown and ["catalog-backend", "jdbc"] in shown


def test_an_error_of_the_server_is_one_line(shell: Shell) -> None:
    assert shell.fails("catalog", "details", "--name", "no") == f"headwater: Catalog {METALAKE}.no does not exist\n"
    assert "(NoSuchCatalogException, request " in shell.fails("catalog", "details", "--name", "no", "-v")
    message = shell.fails("table", "create", *TABLE, "--name", "bad", "--columns", "id bigin")
    assert message == "headwater: columns[0].type: 'bigin' is not a type; did you mean 'bigint'?\n"


def test_who_asks(shell: Shell) -> None:
    made = shell.json("schema", "create", "--catalog", "ice", "--name", "u", "--user", "bob")
    assert made["audit"]["creator"] == "bob"


def test_another_server_answers(shell: Shell, server: Server) -> None:
    assert "There is no route" in shell.fails("metalake", "list", "--server", f"{server.uri}/elsewhere")


def test_the_doctor_finds_the_server(shell: Shell, server: Server) -> None:
    assert f"ok     Server: Headwater 0.1.0 answers at {server.uri}" in shell.ok("doctor", "--data", str(server.data))
    assert shell.ok("version")[1].endswith(f"at {server.uri}")
    shell.ok("db", "check", "--data", str(server.data))


# --- day one, and the seeds' commands, through the real executables ---


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Path(tmp_path_factory.mktemp("fresh")) / "data") as started:
        yield started


def execute(fresh: Server, line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line as a user types it, with the scripts on the path."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("HEADWATER_")}
    env |= {"PATH": f"{BIN}:{os.environ['PATH']}", "HEADWATER_URI": fresh.uri, "XDG_CONFIG_HOME": str(folder)}
    return subprocess.run(
        ["bash", "-c", line], check=False, env=env, cwd=folder, capture_output=True, text=True, timeout=60
    )


def test_day_one(fresh: Server, tmp_path: Path) -> None:
    """The first catalog makes the first metalake, and then neither has to be named."""
    first = execute(fresh, "gcli schema list --catalog files", tmp_path)
    assert first.returncode == 1 and "no metalake yet" in first.stderr
    made = execute(fresh, "gcli catalog create --name files --provider fileset -p location=$PWD/files", tmp_path)
    assert made.returncode == 0 and made.stdout.startswith("name: files\n")
    assert made.stderr == "headwater: The server had no metalake: lake is made\n"
    again = execute(fresh, "headwater catalog create --name more --provider fileset -p location=$PWD/more", tmp_path)
    assert again.returncode == 0 and again.stderr == ""
    assert execute(fresh, "gcli metalake list; headwater catalog list", tmp_path).stdout == "lake\nfiles\nmore\n"
    pipe = execute(fresh, "set -o pipefail; headwater catalog properties --provider fileset | head -1", tmp_path)
    assert pipe.stderr == ""


def test_the_configuration_names_the_server(fresh: Server, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(f'[client]\nuri = "{fresh.uri}"\noutput = "json"\n')
    line = "unset HEADWATER_URI; HEADWATER_CONFIG=c.toml gcli metalake list"
    assert [m["name"] for m in json.loads(execute(fresh, line, tmp_path).stdout)] == ["lake"]


def test_the_server_names_the_default_metalake(tmp_path: Path) -> None:
    with running(tmp_path / "data", env={"HEADWATER_DEFAULT_METALAKE": "house"}) as server:
        shell = Shell(server, None, tmp_path)
        result = shell.run("catalog", "create", "-n", "f", "--provider", "fileset", "-p", f"location={tmp_path}/f")
        assert result.exit_code == 0 and "house is made" in result.stderr
        shell.ok("metalake", "create", "--name", "other")
        assert shell.ok("catalog", "list") == ["f"]
        assert shell.ok("catalog", "list", "-m", "other") == []


def test_several_metalakes_must_be_told_apart(server: Server, shell: Shell, tmp_path: Path) -> None:
    shell.ok("metalake", "create", "--name", "command_line_other")
    message = Shell(server, None, tmp_path).fails("catalog", "list")
    assert "the server has several" in message and METALAKE in message
    shell.ok("metalake", "delete", "--name", "command_line_other", "--force")
