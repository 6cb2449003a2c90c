"""Tables of results: on the terminal as they come, and in docs/benchmarks.md between markers."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "benchmarks.md"
_MIB = 1 << 20


@dataclass
class Table:
    """Rows under a header; the first columns are text, the others are figures."""

    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    texts: int = 1

    def add(self, *cells: str) -> None:
        """One more row."""
        self.rows.append(cells)

    def render(self) -> str:
        """As Markdown that reads well as plain text too."""
        widths = [max(len(r[i]) for r in (self.header, *self.rows)) for i in range(len(self.header))]
        rule = ["-" * w if i < self.texts else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
        lines = [self.header, rule, *self.rows]
        return "\n".join(f"| {' | '.join(self._cells(line, widths))} |" for line in lines)

    def _cells(self, line: Sequence[str], widths: Sequence[int]) -> list[str]:
        padded = zip(line, widths, strict=True)
        return [c.ljust(w) if i < self.texts else c.rjust(w) for i, (c, w) in enumerate(padded)]


@dataclass
class Section:
    """What one benchmark has to say."""

    name: str
    parts: list[Table | str]

    def render(self) -> str:
        """Tables and sentences, in order."""
        return "\n\n".join(p if isinstance(p, str) else p.render() for p in self.parts)


def mebibytes(size: float) -> str:
    """`68 MiB`."""
    return f"{size / _MIB:.0f} MiB"


def machine() -> Section:
    """Where this was measured."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    load = os.getloadavg()[0]
    text = (
        f"{os.cpu_count()} cores, {pages * page / (1 << 30):.0f} GiB of memory, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}; noisy: shared with other work "
        f"(load average {load:.1f} when the measuring began)."
    )
    return Section("machine", [text])


def write(sections: Sequence[Section]) -> None:
    """Put the sections in place of what stands between their markers in the document."""
    text = DOCUMENT.read_text()
    for section in sections:
        begin, end = f"<!-- results: {section.name} -->", f"<!-- end: {section.name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise SystemExit(f"{DOCUMENT.name} lacks the markers of {section.name!r}")
        text = f"{before}{begin}\n\n{section.render()}\n\n{end}{after}"
    DOCUMENT.write_text(text)
