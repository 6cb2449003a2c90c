"""Managed filesets own their folders, and nothing else is ever removed with them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Answer, Server, running

_numbers = itertools.count()


class Files:
    """A metalake with a fileset catalog and schema `s`."""

    def __init__(self, server: Server) -> None:
        self.server = server
        name = f"files{next(_numbers)}"
        server.ok("POST", "/api/metalakes", {"name": name})
        self.catalogs = f"/api/metalakes/{name}/catalogs"
        self.filesets = self.catalog("fs")

    def catalog(self, name: str) -> str:
        self.server.ok("POST", self.catalogs, {"name": name, "type": "fileset"})
        self.server.ok("POST", f"{self.catalogs}/{name}/schemas", {"name": "s"})
        return f"{self.catalogs}/{name}/schemas/s/filesets"

    def make(self, name: str, folder: Path, where: str | None = None, **fields: Any) -> Answer:
        body = {"name": name, "storageLocation": str(folder), **fields}
        return self.server.call("POST", where or self.filesets, body)

    def drop(self, name: str) -> bool:
        dropped: bool = self.server.ok("DELETE", f"{self.filesets}/{name}")["dropped"]
        return dropped


@pytest.fixture
def files(server: Server) -> Files:
    return Files(server)


def test_a_managed_folder_goes_with_its_fileset(files: Files, tmp_path: Path) -> None:
    assert files.make("a", tmp_path / "a").status == 200
    (tmp_path / "a" / "data").write_text("x")
    assert files.drop("a") is True
    assert not (tmp_path / "a").exists()
    assert files.drop("a") is False


def test_an_external_folder_stays(files: Files, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "data").write_text("x")
    assert files.make("a", tmp_path / "a", type="external").status == 200
    assert files.drop("a") is True
    assert (tmp_path / "a" / "data").read_text() == "x"


def test_what_is_there_already_is_not_taken_over(files: Files, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "data").write_text("x")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for folder, words in (
        (tmp_path / "full", "not empty"),
        (tmp_path / "full" / "data", "storageLocation"),
        (tmp_path / "link", "link"),
        (tmp_path / "link" / "below", "link"),
        (files.server.data, "holds"),
        (files.server.data.parent, "holds"),
        (Path("/"), "holds"),
    ):
        answer = files.make("a", folder)
        assert answer.status == 400 and words in answer.json["message"], (folder, answer)
    assert (tmp_path / "full" / "data").read_text() == "x"


def test_a_shared_folder_goes_with_the_last_one(files: Files, tmp_path: Path) -> None:
    assert files.make("a", tmp_path / "shared").status == 200
    assert files.make("b", tmp_path / "shared" / "below").status == 200
    assert files.drop("a") is True
    assert (tmp_path / "shared" / "below").is_dir()


def test_what_could_not_be_removed_is_not_taken_from_who_owns_it_now(files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    assert files.make("a", folder).status == 200
    # A file in the folder's place: it can't be removed like a folder.
    folder.rmdir()
    folder.write_text("in the way")
    assert files.drop("a") is True
    assert folder.exists()
    assert files.make("other", tmp_path / "other").status == 200, "the rest of the catalog goes on"
    folder.unlink()
    folder.mkdir()
    (folder / "data").write_text("x")
    assert files.make("theirs", folder, files.catalog("elsewhere"), type="external").status == 200
    assert files.drop("other") is True
    assert (folder / "data").read_text() == "x"


def test_a_crash_in_a_drop_is_finished_at_the_next_start(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        files = Files(server)
        assert files.make("a", tmp_path / "a").status == 200
        (tmp_path / "a" / "data").write_text("x")
        (tmp_path / "a").rename(tmp_path / "aside")
        (tmp_path / "a").write_text("in the way")
        assert files.drop("a") is True
    (tmp_path / "a").unlink()
    (tmp_path / "aside").rename(tmp_path / "a")
    with running(tmp_path / "data"):
        assert not (tmp_path / "a").exists()
