"""The same as the test of that name in `tests/integration`, in full size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.crashing import crashes


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_killed_at_random_moments(workers: str, tmp_path: Path) -> None:
    with crashes(tmp_path, 2026, "--workers", workers) as server:
        for number in range(10):
            server.round(number, operations=500)
