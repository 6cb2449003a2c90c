"""`python -m benchmarks [--write] [name...]`: runs the named benchmarks, or all, and prints their tables."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import handling, memory, metastores, report, start

BENCHMARKS: dict[str, Callable[[Path], report.Section]] = {
    "start": start.run,
    "memory": memory.run,
    "requests": handling.run,
    "metastores": metastores.run,
}


def main() -> None:
    """Each benchmark works in a temporary folder; those of the tables share one, so that they are made once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the server.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"which ones: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--write", action="store_true", help="put the results into docs/benchmarks.md")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - BENCHMARKS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    sections = [report.machine()]
    print(sections[0].render(), flush=True)
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        for benchmark in arguments.names or BENCHMARKS:
            folder = Path(name) / ("start" if benchmark == "start" else "lake")
            folder.mkdir(exist_ok=True)
            section = BENCHMARKS[benchmark](folder)
            print(f"\n{benchmark}\n\n{section.render()}", flush=True)
            sections.append(section)
    if arguments.write:
        report.write(sections)


if __name__ == "__main__":
    main()
