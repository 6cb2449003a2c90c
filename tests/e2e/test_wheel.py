"""The built wheel, installed in an environment of its own outside the checkout, serves and upgrades an older store."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

import pytest

from headwater.store import sqlite

ROOT = Path(__file__).parents[2]


def run(*argv: str | Path, cwd: Path, **env: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HEADWATER_", "PYTHONPATH"))} | env
    done = subprocess.run([str(a) for a in argv], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it; the dependencies come from the environment that runs the tests.

    So no network is needed here; a clean machine proves that the wheel asks for all that it needs.
    """
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", source, cwd=folder)
    wheel = next((folder / "dist").glob("*.whl"))
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    target = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=folder,
    )
    here = subprocess.check_output([sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    # The dependencies only: the editable install of the checkout must not shadow the wheel.
    (Path(target) / "dependencies.pth").write_text(here.decode())
    return folder / "venv"


def test_it_is_the_wheel_that_runs(environment: Path, tmp_path: Path) -> None:
    found = run(environment / "bin" / "python", "-c", "import headwater; print(headwater.__file__)", cwd=tmp_path)
    assert found.startswith(str(environment))


def test_it_upgrades_an_older_store_and_serves(environment: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    database = data / "headwater.db"
    sqlite.prepare(database, to="0001")
    with sqlite3.connect(database) as connection:
        connection.execute(
            "insert into objects values (5, 'metalake', 0, 'old', 1, 1, '{\"comment\":\"from before\"}', '{}', 'me', "
            "'2026-01-01T00:00:00.000000Z', null, null)"
        )
    assert sqlite.read_version(database) == "0001"
    command = [str(environment / "bin" / "headwater"), "serve", "--data", str(data), "--port", "0"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        uri = server.stdout.readline().split()[-1]
        with urllib.request.urlopen(f"{uri}/api/metalakes/old") as answer:
            assert json.load(answer)["metalake"]["comment"] == "from before"
        tour(environment / "bin" / "headwater", tmp_path, uri)
    finally:
        server.terminate()
        assert server.wait(20) == 0
    assert sqlite.read_version(database) == "0002"


def tour(headwater: Path, folder: Path, uri: str) -> None:
    """The tour's commands."""
    env = {"HEADWATER_URI": uri, "HEADWATER_METALAKE": "old"}
    properties = f"catalog-backend=jdbc,uri=sqlite:///{folder}/ice.db,warehouse={folder}/wh"
    create = ("catalog", "create", "--name", "sales", "--provider", "lakehouse-iceberg", "--properties", properties)
    run(headwater, *create, cwd=folder, **env)
    run(headwater, "schema", "create", "--catalog", "sales", "--name", "shop", cwd=folder, **env)
    where = ("--catalog", "sales", "--schema", "shop")
    run(
        headwater,
        "table",
        "create",
        *where,
        "--name",
        "orders",
        "--columns",
        "id bigint, c varchar(9)",
        cwd=folder,
        **env,
    )
    shown = run(headwater, "table", "details", *where, "--table", "orders", "--output", "json", cwd=folder, **env)
    assert [c["type"] for c in json.loads(shown)["columns"]] == ["long", "varchar(9)"]
