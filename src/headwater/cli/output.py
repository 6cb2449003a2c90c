"""How answers are shown: tables on a terminal, plain lines in a pipe, JSON and YAML for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

Row = Mapping[str, Any]


def to_json(value: Any) -> Any:
    """A model object in its wire form."""
    import msgspec

    from headwater.model import codec

    return msgspec.json.decode(codec.encode(value))


def clean(value: Any) -> str:
    """Text from outside in one line that can't steer the terminal.

    >>> clean("a\\nb\\x1b[31m")
    'a\\\\nb\\\\x1b[31m'
    """
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class Printer:
    """Writes to standard output in one form: `table`, `plain`, `json` or `yaml`."""

    def __init__(self, form: str | None) -> None:
        self.form = form or ("table" if sys.stdout.isatty() else "plain")

    def listing(self, rows: Sequence[Row], columns: Sequence[str] = ("name",), data: Any = None) -> None:
        """A list; every entry has a `name`, which is what a pipe gets. `data` is what scripts get instead."""
        if self._data(rows if data is None else data):
            return
        if self.form == "plain":
            for row in rows:
                click.echo(clean(row["name"]))
            return
        self._grid(columns, ([clean(row.get(c)) for c in columns] for row in rows))

    def details(self, value: Any) -> None:
        """One object with all that is known of it."""
        if self._data(value):
            return
        from headwater.cli import describe

        self.pairs(describe.lines(value))

    def pairs(self, pairs: Iterable[tuple[str, str]], data: Any = None) -> None:
        """Names and values, one per line; `data` is what scripts get instead."""
        if data is not None and self._data(data):
            return
        if self.form == "plain":
            for key, text in pairs:
                click.echo(f"{clean(key)}: {clean(text)}")
            return
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        group = ""
        for key, text in pairs:
            first, dot, rest = key.partition(".")
            if dot and first != group:
                grid.add_row(Text(first, style="bold cyan"))
            group = first
            label = Text("  " + clean(rest)) if dot else Text(clean(key), style="bold cyan")
            grid.add_row(label, Text(clean(text)))
        _console().print(grid)

    def done(self, message: str, **data: Any) -> None:
        """Something was done that has no object to show."""
        if not self._data(data):
            click.echo(message)

    def _data(self, value: Any) -> bool:
        """Write it for a script, if that is wanted."""
        if self.form == "json":
            click.echo(json.dumps(to_json(value), indent=2, ensure_ascii=False))
        elif self.form == "yaml":
            import yaml

            click.echo(yaml.safe_dump(to_json(value), sort_keys=False, allow_unicode=True), nl=False)
        return self.form in ("json", "yaml")

    def _grid(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(*columns, box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False)
        for row in rows:
            table.add_row(*map(Text, row))
        _console().print(table)


def note(message: str) -> None:
    """Tell the user something beside the answer."""
    click.echo(f"headwater: {message}", err=True)


def _console() -> Console:
    from rich.console import Console

    # Without a terminal there is no width to fit into: nothing is cut.
    return Console() if sys.stdout.isatty() else Console(width=200)
