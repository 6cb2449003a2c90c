"""Fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import Server, running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One real server with an embedded store, shared by all tests of a worker: each makes its own metalake."""
    with running(Path(tmp_path_factory.mktemp("server")) / "data") as started:
        yield started
