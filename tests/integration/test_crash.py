"""The server is killed at random moments: nothing acknowledged is lost, nothing half made stays in the way."""

from __future__ import annotations

from pathlib import Path

from tests.integration.crashing import crashes


def test_killed_at_random_moments(tmp_path: Path) -> None:
    with crashes(tmp_path, seed=1) as server:
        for number in range(2):
            server.round(number, operations=100)
