"""Settings as text that an engine reads: a file, or SQL. Secrets stand in it by name, notes as comments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator

from headwater.engines.base import EngineSettings, Setting
from headwater.model.errors import UnsupportedOperationError

_SPARK_CATALOG = re.compile(r"spark\.sql\.catalog\.(?!spark_catalog\b).+")
"""What a running Spark session takes: a catalog that it has not used yet."""


def as_file(found: EngineSettings) -> str:
    """The file in which the engine looks for a catalog.

    Trino: etc/catalog/NAME.properties. Spark: lines of spark-defaults.conf. Flink: NAME.yaml of the catalog store.
    """
    if found.engine == "flink":
        lines = _with_pages(found.settings, lambda s: f"{json.dumps(s.key)}: {json.dumps(s.value)}")
    else:
        lines = _with_pages(found.settings, lambda s: f"{_property(s.key, key=True)}={_property(s.value)}")
    return _joined(found, "#", lines)


def as_sql(found: EngineSettings) -> str:
    """The statements that make the catalog: CREATE CATALOG, or Spark's SET."""
    if found.engine == "spark":
        return _joined(found, "--", _set_statements(found))
    if found.engine == "trino":
        name, how = _quoted(found.catalog, '"'), f" USING {found.connector}"
        options = {_quoted(s.key, '"'): s.value for s in found.settings if s.key != "connector.name"}
    else:
        name, how = _quoted(found.catalog, "`"), ""
        options = {_quoted(s.key): s.value for s in found.settings}
    body = ",\n".join(f"  {key} = {_quoted(value)}" for key, value in options.items())
    return _joined(found, "--", [f"CREATE CATALOG {name}{how} WITH (\n{body}\n);"])


def _set_statements(found: EngineSettings) -> Iterator[str]:
    settable = [s for s in found.settings if _SPARK_CATALOG.fullmatch(s.key)]
    if not settable:
        raise UnsupportedOperationError(
            "Spark reads these settings when it starts, so that no SQL can make them: use the format properties"
        )
    fixed = [s for s in found.settings if s not in settable]
    if fixed:
        yield "-- Spark takes these only when it starts:"
        yield from (f"--   --conf {s.key}={s.value}" for s in fixed)
    names = {f"${{{s.name}}}": f"${{env:{s.name}}}" for s in found.secrets}
    for setting in settable:
        # Spark fills in variables of the environment by itself, in SQL only.
        yield f"SET {_quoted(setting.key, '`')}={_quoted(names.get(setting.value, setting.value), '`')};"


def _with_pages(settings: Iterable[Setting], line: Callable[[Setting], str]) -> Iterator[str]:
    """Each setting as a line, with a comment where another page begins to explain them."""
    page: str | None = None
    for setting in settings:
        if setting.documentation != page:
            page = setting.documentation
            if page is not None:
                yield f"# {page}"
        if setting.comment is not None:
            yield f"# {one_line(setting.comment)}"
        yield line(setting)


def _joined(found: EngineSettings, mark: str, lines: Iterable[str]) -> str:
    head = [*found.notes, *(f"In the environment: {s.name}, the value of {s.property}" for s in found.secrets)]
    text = [f"{mark} {one_line(note)}" for note in head]
    text += lines
    for name, content in found.files.items():
        text += ["", f"{mark} {name}:", *(f"{mark} {line}" for line in content.splitlines())]
    return "\n".join(text) + "\n"


def one_line(text: str) -> str:
    """A comment ends where its line ends, whatever a property's name holds."""
    return " ".join(text.split())


def _property(text: str, *, key: bool = False) -> str:
    """As java.util.Properties reads it."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    text = re.sub(r"[=: #!]" if key else r"^[ ]", lambda m: "\\" + m[0], text)
    return "".join(c if c.isascii() else "".join(f"\\u{u:04x}" for u in _units(c)) for c in text)


def _units(character: str) -> Iterator[int]:
    raw = character.encode("utf-16-be")
    return (int.from_bytes(raw[i : i + 2], "big") for i in range(0, len(raw), 2))


def _quoted(text: str, mark: str = "'") -> str:
    return f"{mark}{text.replace(mark, mark * 2)}{mark}"
