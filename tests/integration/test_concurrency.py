"""Writers at once through two processes lose nothing, and each process sees at once what the other has done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.several_processes import STORES, alter_at_once, read_after_write


@pytest.mark.parametrize("store", STORES)
def test_writers_at_once(store: str, tmp_path: Path) -> None:
    with STORES[store](tmp_path) as deployment:
        alter_at_once(deployment, clients=8, alters=25)


@pytest.mark.parametrize("store", STORES)
def test_a_write_is_seen_by_the_other_process(store: str, tmp_path: Path) -> None:
    with STORES[store](tmp_path) as deployment:
        read_after_write(deployment, rounds=100)
