"""The command line without a server: help, usage, settings, exit codes, and what it does not import."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from headwater.cli import output
from headwater.cli.main import cli
from headwater.cli.options import changes, parse_properties, parse_properties_file
from headwater.settings import SettingsError, find_file, load, load_client
from headwater.store.tables import HEAD

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("URI", "METALAKE", "USER", "CA_FILE", "OUTPUT", "CONFIG"):
        monkeypatch.delenv(f"HEADWATER_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def run(*args: str, **settings: Any) -> Result:
    return CliRunner().invoke(cli, args, prog_name="headwater", **settings)


def commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


# --- help and usage ---


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_has_help_with_examples(path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.exit_code == 0
    text = result.stdout
    assert "Examples:" in text
    if path[0] not in ("completion",):
        assert f"headwater {' '.join(path)}" in text.split("Examples:")[1]


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_examples_are_commands_with_options_that_exist(path: tuple[str, ...]) -> None:
    command: Any = cli
    for name in path:
        command = command.commands[name]
    known = {o for p in command.params for o in p.opts}
    example = run(*path, "--help").stdout.split("Examples:")[1].split("Options:")[0]
    used = {word for word in example.split() if word.startswith("--")}
    assert used <= known


def test_every_noun_has_the_usual_verbs() -> None:
    for noun in ("metalake", "catalog", "schema", "table", "fileset"):
        group = cli.commands[noun]
        assert isinstance(group, click.Group)
        assert {"list", "create", "details", "update", "delete"} <= set(group.commands)
        context = click.Context(group)
        for alias, verb in {"show": "details", "load": "details", "alter": "update", "drop": "delete"}.items():
            assert group.get_command(context, alias) is group.commands[verb]
        own = {o for p in group.commands["details"].params for o in p.opts}
        assert {"--name", "-n", f"--{noun}", "--metalake", "-m", "--output", "-o", "--server"} <= own


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["tabel", "list"], "No such command 'tabel'. Did you mean 'table'? See 'headwater --help'"),
        (["table", "lisst"], "Did you mean 'list'? See 'headwater table --help'"),
        (["table", "list", "--catlog", "x"], "Did you mean '--catalog'?"),
        (["table", "list", "--catalog", "c"], "Missing option '--schema'"),
        (["catalog", "create"], "Missing option '--name' / '-n' / '--catalog'"),
        (["catalog", "create", "--name", "c", "-p", "x"], "'x' is not of the form key=value"),
        (["catalog", "create", "--name", "c", "-p", "a=1", "-p", "a=2"], "'a' is given twice"),
        (["catalog", "create", "--name", "c", "--properties-file", "/no/such/file"], "No such file"),
        (["catalog", "update", "--name", "c"], "Nothing to change"),
        (["catalog", "update", "--name", "c", "--change", "[1]"], "a JSON object is needed"),
        (["catalog", "update", "--name", "c", "--change", "{"], "not JSON"),
        (["catalog", "list", "-o", "xml"], "'xml' is not one of 'table', 'json', 'yaml'"),
        (["catalog", "test", "--name", "c", "-p", "a=b"], "name its --provider too"),
        (["table", "create", "--catalog", "c", "--schema", "s", "-n", "t", "--columns", "id"], "is not a column"),
        (["completion", "tcsh"], "'tcsh' is not one of"),
    ],
)
def test_bad_usage_is_one_line_and_code_2(args: list[str], message: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.startswith("headwater: ") and result.stderr.count("\n") == 1


def test_no_command_is_a_question_for_help() -> None:
    assert run().exit_code == 2 and run("table").exit_code == 2
    assert "Commands:" in run().stderr
    assert run("--help").exit_code == 0
    assert run("--version").stdout.startswith("headwater, version ")


@pytest.mark.parametrize("args", [["catalog", "list"], ["metalake", "create", "--name", "m"], ["provider", "list"]])
def test_no_server_is_code_3(args: list[str]) -> None:
    result = run(*args, "--server", NOWHERE)
    assert result.exit_code == 3 and "is the server running? 'headwater serve' starts one" in result.stderr


def test_an_address_that_is_none_is_bad_usage() -> None:
    result = run("catalog", "list", "--server", "nowhere")
    assert result.exit_code == 2 and "uri: 'nowhere' is not an address; it looks like http://host:8090" in result.stderr


def test_the_version_needs_no_server() -> None:
    result = run("version", "--server", NOWHERE)
    assert result.exit_code == 0 and f"server: not reachable at {NOWHERE}" in result.stdout
    assert json.loads(run("version", "--server", NOWHERE, "-o", "json").stdout)["server"] is None


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_both_names(shell: str) -> None:
    script = run("completion", shell).stdout
    assert "_HEADWATER_COMPLETE" in script and "_GCLI_COMPLETE" in script
    words = {"_HEADWATER_COMPLETE": "bash_complete", "COMP_WORDS": "headwater table upd", "COMP_CWORD": "2"}
    assert run(env=words).stdout == "plain,update\n"


# --- properties and changes ---


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=b", {"a": "b"}),
        ("a=b,c=d", {"a": "b", "c": "d"}),
        ("table-type-filter=hive,iceberg", {"table-type-filter": "hive,iceberg"}),
        ("f=x,y,z,g=1", {"f": "x,y,z", "g": "1"}),
        ("url=jdbc:mysql://h/d?a=b", {"url": "jdbc:mysql://h/d?a=b"}),
        (" a = b , c=d", {"a": " b ", "c": "d"}),
        ("a=", {"a": ""}),
        ("a=,b=c", {"a": "", "b": "c"}),
        ("a=b,", {"a": "b"}),
    ],
)
def test_properties(text: str, found: dict[str, str]) -> None:
    assert parse_properties(text) == found


@pytest.mark.parametrize("text", ["", "x", ",a=b", "=b", "a=1,a=2"])
def test_properties_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not of the form|no key|given twice"):
        parse_properties(text)


def test_properties_of_a_file() -> None:
    assert parse_properties_file("# c\n\n a = b,c=d \nempty=\n") == {"a": "b,c=d", "empty": ""}
    assert parse_properties_file(' {"a": "b", "n": 5, "t": true}') == {"a": "b", "n": "5", "t": "true"}
    for text in ("a b", "= b", '{"a": [1]}', "{"):
        with pytest.raises(ValueError, match=r"line 1|no key|must be text|not JSON"):
            parse_properties_file(text)


def test_changes_come_in_the_order_in_which_they_are_made() -> None:
    found = changes("new", "", {"a": "b"}, ["c"], [{"@type": "x"}], [{"@type": "first"}])
    assert [c["@type"] for c in found] == ["first", "setProperty", "removeProperty", "updateComment", "x", "rename"]
    assert "newComment" not in found[3]
    assert changes(comment="c") == [{"@type": "updateComment", "newComment": "c"}]
    assert changes("t", newSchemaName="s") == [{"@type": "rename", "newName": "t", "newSchemaName": "s"}]


# --- settings ---


def test_the_file_of_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_file() is None
    usual = tmp_path / "config" / "headwater" / "config.toml"
    usual.parent.mkdir(parents=True)
    usual.write_text(f'[client]\nuri = "{NOWHERE}"\noutput = "json"\n[server]\nhost = "0.0.0.0"\n')
    assert find_file() == usual
    result = run("version")
    assert json.loads(result.stdout)["server"] is None
    named = tmp_path / "other.toml"
    named.write_text('[client]\nmetalake = "m"\n')
    monkeypatch.setenv("HEADWATER_CONFIG", str(named))
    assert find_file() == named
    assert load_client(named, {"client.uri": "u"}, {"HEADWATER_URI": "v", "HEADWATER_USER": "ann"}) == load_client(
        None, {"client.uri": "u", "client.metalake": "m", "client.user": "ann"}, {}
    )
    with pytest.raises(SettingsError, match="insecure"):
        load(usual, environ={})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[client]\nurl = "x"', "client.url: unknown setting; did you mean client.uri?"),
        ('[client]\noutput = "xml"', "client.output: 'xml' is not allowed; allowed are table, json, yaml"),
        ('[clinet]\nuri = "x"', "unknown setting"),
        ("[client", "not valid TOML"),
    ],
)
def test_a_file_that_is_wrong_is_bad_usage(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    result = run("catalog", "list", env={"HEADWATER_CONFIG": str(file)})
    assert result.exit_code == 2 and message in result.stderr


def test_variables_that_are_wrong_or_empty() -> None:
    result = run("version", env={"HEADWATER_METALKE": "x"})
    assert result.exit_code == 2 and "did you mean HEADWATER_METALAKE?" in result.stderr
    assert load_client(None, environ={"HEADWATER_METALAKE": "", "HEADWATER_URI": ""}) == load_client(None, environ={})


# --- output ---


ROWS = [{"name": "a", "n": 1}, {"name": "b[red]\x1b[31m", "n": None}]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (None, "a\nb[red]\\x1b[31m\n"),
        ("yaml", '- name: a\n  n: 1\n- name: "b[red]\\e[31m"\n  n: null\n'),
        ("json", json.dumps(ROWS, indent=2) + "\n"),
    ],
)
def test_lists(form: str | None, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.Printer(form).listing(ROWS, ("name", "n"))
    assert capsys.readouterr().out == text


def test_tables_show_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    output.Printer("table").listing(ROWS, ("name", "n"))
    shown = capsys.readouterr().out
    assert "b[red]\\x1b[31m" in shown and "\x1b" not in shown
    output.Printer("table").pairs([("name", "a"), ("properties.x.y", "1\n2")])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["name", "a"],
        ["properties"],
        ["x.y", "1\\n2"],
    ]


# --- the server's own machine ---


def test_the_store_is_checked_and_upgraded(tmp_path: Path) -> None:
    where = ["--data", str(tmp_path / "data")]
    result = run("db", "check", *where)
    assert result.exit_code == 1 and "is empty" in result.stderr and "headwater db upgrade" in result.stderr
    assert not (tmp_path / "data").exists()
    assert run("db", "upgrade", *where).stdout == f"The store is upgraded from nothing to version {HEAD}\n"
    assert run("db", "upgrade", *where).stdout == f"The store is at version {HEAD} already\n"
    result = run("db", "check", *where)
    assert result.exit_code == 0 and HEAD in result.stdout


def test_the_doctor_finds_a_sound_machine(tmp_path: Path) -> None:
    result = run("doctor", "--data", str(tmp_path / "data"), "--server", NOWHERE)
    assert result.exit_code == 0, result.stdout
    assert f"nothing listens at {NOWHERE}" in result.stdout and "'headwater serve' starts one" in result.stdout
    assert "ok     Python" in result.stdout and "ok     Provider fileset" in result.stdout
    assert not (tmp_path / "data").exists()


def test_the_doctor_finds_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("doctor", "--data", str(tmp_path / "file"), "--server", NOWHERE)
    assert result.exit_code == 1 and "broken Data folder" in result.stdout
    data = tmp_path / "data"
    data.mkdir()
    (data / "headwater.db").write_text("this is no database" * 100)
    result = run("doctor", "--data", str(data), "--server", NOWHERE)
    assert result.exit_code == 1 and "broken Store" in result.stdout


# --- start-up ---

_HEAVY = ("sqlalchemy", "falcon", "uvicorn", "httpx", "rich", "yaml", "pyiceberg", "alembic", "structlog")


@pytest.mark.parametrize("args", ["--help", "table create --help", "completion bash"])
def test_help_imports_nothing_heavy(args: str) -> None:
    code = f"""
import sys
sys.argv = ["headwater", *{args.split()!r}]
from headwater.cli.main import main
try:
    main()
except SystemExit as e:
    assert not e.code, e.code
print([m for m in {_HEAVY!r} if m in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
