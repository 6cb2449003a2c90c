"""What a start costs stays small: the memory of an idle server, and the modules that it imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import Server, running

IDLE_LIMIT = 100 * 1024 * 1024

PACKAGES = {
    "click", "falcon", "httptools", "msgspec", "sqlalchemy", "structlog", "typing_extensions", "uvicorn", "uvloop",
}  # fmt: skip
"""Top-level packages, the standard library's aside, that a start may import. Add one only if every start needs it."""

BROUGHT_ALONG = {"attr", "pygments", "rich"}
"""What structlog imports by itself wherever it is installed; we import none of them at a start."""

OURS = {
    "access", "blocking", "catalogs.base", "catalogs.registry", "cli", "core", "engines", "events", "model", "server",
    "settings",
    "store", "version",
}  # fmt: skip
"""Parts of Headwater that a start may import, with all below them ..."""

NOT_OURS = {"server.rest.openapi", "server.rest.exposition", "store.migrations", "store.postgres"}
"""... but for these."""

LAZY = (
    "alembic", "boto3", "botocore", "cryptography", "fsspec", "httpx", "prometheus_client", "psycopg", "pyarrow",
    "pydantic", "pyiceberg", "yaml",
)  # fmt: skip
"""What some operation needs and a start does not: none of these is in PACKAGES by mistake."""

TRACED = """
import signal, sys
from pathlib import Path

def note(*_):
    target = Path({target!r})
    target.with_suffix(".part").write_text("\\n".join(sys.modules))
    target.with_suffix(".part").rename(target)

signal.signal(signal.SIGUSR1, note)
from headwater.cli.main import main
try:
    main()
finally:
    note()
"""


class TracedServer(Server):
    """A server that writes down which modules it has imported when it gets SIGUSR1."""

    @property
    def target(self) -> Path:
        return self.data.parent / f"{self.data.name}.modules"

    @property
    def command(self) -> list[str]:
        args = super().command
        return [sys.executable, "-c", TRACED.format(target=str(self.target)), *args[args.index("serve") :]]

    def modules(self) -> set[str]:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGUSR1)
        end = time.monotonic() + 10
        while not self.target.exists():
            assert time.monotonic() < end, "the server wrote nothing"
            time.sleep(0.01)
        return set(self.target.read_text().split("\n"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that a server has used already."""
    folder = tmp_path_factory.mktemp("existing") / "data"
    with running(folder) as server:
        server.ok("POST", "/api/metalakes", {"name": "lake"})
    return folder


@pytest.fixture(scope="module")
def imported(data: Path) -> Iterator[set[str]]:
    """The modules of a server that has become ready and answered two requests."""
    server = TracedServer(data)
    try:
        server.start()
        server.ok("GET", "/health/ready")
        assert server.ok("GET", "/api/metalakes")["metalakes"][0]["name"] == "lake"
        yield server.modules()
    finally:
        if server.process is not None:
            server.stop()


def foreign(modules: set[str]) -> set[str]:
    """Top-level packages of others than Python and us; a name like `_x` is the compiled part of another one."""
    packages = {m.partition(".")[0] for m in modules} - sys.stdlib_module_names
    return {p for p in packages if p not in {"headwater", "cython_runtime"} and not p.startswith("_")}


def test_an_idle_server_is_small(data: Path) -> None:
    with running(data) as server:
        server.ok("GET", "/health/ready")
        time.sleep(0.5)
        assert server.rss() < IDLE_LIMIT


def test_a_start_imports_only_what_it_needs(imported: set[str]) -> None:
    assert foreign(imported) - PACKAGES - BROUGHT_ALONG == set()


@pytest.mark.parametrize("package", LAZY)
def test_what_is_lazy_stays_lazy(imported: set[str], package: str) -> None:
    assert package not in PACKAGES | BROUGHT_ALONG
    assert package not in imported


def test_a_start_imports_only_the_parts_of_headwater_that_it_needs(imported: set[str]) -> None:
    ours = {m.removeprefix("headwater.") for m in imported if m.startswith("headwater.")}

    def within(module: str, parts: set[str]) -> bool:
        return any(module == part or module.startswith(part + ".") for part in parts)

    packages = {part.partition(".")[0] for part in OURS}
    assert {m for m in ours if not within(m, OURS) and m not in packages} == set()
    assert {m for m in ours if within(m, NOT_OURS)} == set()


def test_help_does_not_wait_for_a_server_or_a_client(tmp_path: Path) -> None:
    target = tmp_path / "modules"
    command = [sys.executable, "-c", TRACED.format(target=str(target)), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "Usage:" in done.stdout
    modules = set(target.read_text().split("\n"))
    assert modules & {"sqlalchemy", "falcon", "uvicorn", "httpx"} == set()
