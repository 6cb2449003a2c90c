"""Resident memory: of an idle server, and after it has made and loaded 1,000 Iceberg tables."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks import lake, processes
from benchmarks.report import Section, Table, mebibytes

GATE = 100
"""MiB of an idle server."""


def run(folder: Path) -> Section:
    """One server, looked at again and again; bare ones beside it. Leaves the lake in `folder` for others."""
    table = Table(("server", "resident"))
    with processes.headwater(folder / "data") as server:
        server.wait_ready()
    with processes.headwater(folder / "data") as server:
        server.wait_ready()
        time.sleep(1)
        idle = server.resident()
        table.add("Headwater, idle", mebibytes(idle))
        client = lake.Client(server.port)
        lake.make_containers(client, folder)
        lake.make_tables(client)
        table.add(f"Headwater, {lake.TABLES:,} Iceberg tables created", mebibytes(server.resident()))
        for name in lake.table_names():
            client.ask("GET", f"{lake.LIST}/{name}")
        table.add("Headwater, each of them loaded once", mebibytes(server.resident()))
        client.close()
    for framework in ("falcon", "litestar"):
        with processes.bare(framework) as bare:
            bare.wait_ready()
            table.add(f"{bare.name}, idle", mebibytes(bare.resident()))
    size = idle / (1 << 20)
    verdict = "kept" if size < GATE else f"broken by {size - GATE:.0f} MiB"
    return Section("memory", [table, f"Gate: an idle server below {GATE} MiB: {verdict}."])
