"""From nothing to the first 200 of /health/ready: wall time, and CPU time of all processes together."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable
from pathlib import Path

from benchmarks import lake, processes
from benchmarks.report import Section, Table, mebibytes

ROUNDS = 7
GOAL_CPU = 0.6
"""CPU seconds on an existing store."""


def run(folder: Path) -> Section:
    """All kinds of start in turn, seven times; medians."""
    existing, empty = folder / "existing", folder / "empty"
    with processes.headwater(existing) as server:
        server.wait_ready()
        client = lake.Client(server.port)
        lake.make_containers(client, folder)
        client.close()

    def fresh() -> processes.Process:
        shutil.rmtree(empty, ignore_errors=True)
        return processes.headwater(empty)

    kinds: dict[str, Callable[[], processes.Process]] = {
        "Headwater, existing store": lambda: processes.headwater(existing),
        "Headwater, empty folder": fresh,
        "bare Falcon": lambda: processes.bare("falcon"),
        "bare Litestar": lambda: processes.bare("litestar"),
    }
    results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in kinds}
    for round_ in range(ROUNDS + 1):
        for name, start in kinds.items():
            with start() as process:
                wall = process.wait_ready()
                if round_:  # the first round fills the caches of files
                    results[name].append((process.cpu_since_start(), wall, process.resident()))
    table = Table(("start", "CPU seconds", "wall seconds", "resident"))
    for name, found in results.items():
        cpu, wall, resident = (statistics.median(column) for column in zip(*found, strict=True))
        table.add(name, f"{cpu:.2f}", f"{wall:.2f}", mebibytes(resident))
    ours = statistics.median(cpu for cpu, _, _ in results["Headwater, existing store"])
    verdict = "reached" if ours <= GOAL_CPU else f"missed by {ours - GOAL_CPU:.2f}"
    return Section("start", [table, f"Goal: at most {GOAL_CPU} CPU seconds on an existing store: {verdict}."])
