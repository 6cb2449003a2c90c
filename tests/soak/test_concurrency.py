"""The same as the test of that name in `tests/integration`, in full size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.several_processes import STORES, alter_at_once, read_after_write


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("store", STORES)
def test_writers_at_once(store: str, tmp_path: Path) -> None:
    with STORES[store](tmp_path) as deployment:
        alter_at_once(deployment, clients=8, alters=200)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("store", STORES)
def test_a_write_is_seen_by_the_other_process(store: str, tmp_path: Path) -> None:
    with STORES[store](tmp_path) as deployment:
        read_after_write(deployment, rounds=600)
