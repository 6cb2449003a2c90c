"""The commands in README and docs work as they stand: each page is followed from top to bottom on one machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.settings import keys
from tests.servers import free_port

ROOT = Path(__file__).parents[2]
PAGES = sorted(p for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")] if "```console" in p.read_text())
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ELSEWHERE = ("make ", "git ", "pip ", "python -m tests.servers")
"""Commands that a test may not run: make targets, and what changes the machine."""


class Reader:
    """Somebody who types what a page says."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.server: subprocess.Popen[bytes] | None = None
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("HEADWATER_")}
        # The page's server listens on 8090; here it takes a free port, and everybody is told.
        self.environment = {
            **kept, "PATH": path, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder),
            "HEADWATER_SERVER_PORT": str(self.port), "HEADWATER_URI": f"http://127.0.0.1:{self.port}",
        }  # fmt: skip

    def type(self, command: str) -> None:
        command = command.replace("127.0.0.1:8090", f"127.0.0.1:{self.port}")
        if re.match(r"headwater serve\b(?!.*--help)", command):
            self.serve(command)
            return
        self.run(["bash", "-c", command], command)

    def run(self, argv: list[str], text: str) -> None:
        done = subprocess.run(
            argv, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"$ {text}\n{done.stdout}\n{done.stderr}"

    def serve(self, command: str) -> None:
        self.close()
        self.server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE
        )
        assert self.server.stdout is not None
        line = self.server.stdout.readline()
        assert b"ready" in line, f"$ {command}\n{line!r}"

    def close(self) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.wait(20)
            self.server = None


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    found = Reader(tmp_path)
    yield found
    found.close()


def commands(text: str) -> list[str]:
    """The lines of a console block that start with `$ `, with their continuations."""
    joined = text.replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page_can_be_followed(page: Path, reader: Reader) -> None:
    typed = 0
    for kind, text in _BLOCK.findall(page.read_text()):
        if kind == "python":
            reader.run([sys.executable, "-c", text], text)
            continue
        for command in commands(text):
            if not command.startswith(_ELSEWHERE):
                reader.type(command)
                typed += 1
    assert typed, f"{page.name} has no command that could be run"


def test_every_setting_is_explained() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text() + (ROOT / "docs" / "cli.md").read_text()
    missing = [key for key, _, _ in keys() if f"`{key}`" not in text]
    assert missing == []


def test_every_dependency_is_justified() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "docs" / "design" / "dependencies.md").read_text()
    names = [re.split(r"[\[<>=]", d)[0] for d in project["dependencies"]]
    assert [n for n in names if n not in text] == []


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_demo(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Done in" in done.stdout
    assert not list(tmp_path.glob("headwater-demo-*")), "it cleans up"


def test_shell_is_there() -> None:
    assert shutil.which("bash") and shutil.which("curl"), "the pages use bash and curl"
