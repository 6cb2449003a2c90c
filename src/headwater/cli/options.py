"""What options hold: properties, changes and JSON, read into what the client sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def parse_properties(text: str) -> dict[str, str]:
    """Properties written as `key=value,key=value`; a piece without `=` continues the value before it.

    >>> parse_properties("table-type-filter=hive,iceberg,s3-region=us-east-1")
    {'table-type-filter': 'hive,iceberg', 's3-region': 'us-east-1'}
    """
    found: dict[str, str] = {}
    key = ""
    for piece in text.removesuffix(",").split(","):
        name, equals, value = piece.partition("=")
        if equals:
            key = name.strip()
            if not key or key in found:
                raise ValueError(f"{key!r} is given twice" if key else f"{piece!r} has no key")
            found[key] = value
        elif not key:
            raise ValueError(f"{piece!r} is not of the form key=value")
        else:
            found[key] += f",{piece}"
    return found


def parse_properties_file(text: str) -> dict[str, str]:
    """Properties in a file: one `key=value` per line with `#` comments, or a JSON object.

    >>> parse_properties_file("# where\\nuri = thrift://a:9083,thrift://b:9083")
    {'uri': 'thrift://a:9083,thrift://b:9083'}
    """
    if text.lstrip().startswith("{"):
        return {str(k): _as_text(k, v) for k, v in json_object(text).items()}
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        key, equals, value = (part.strip() for part in stripped.partition("="))
        if not equals or not key:
            raise ValueError(f"line {number} is not of the form key=value")
        found[key] = value
    return found


def json_object(text: str) -> dict[str, Any]:
    """A JSON object; ValueError says what is wrong with it."""
    try:
        value = json.loads(text)
    except ValueError as e:
        raise ValueError(f"not JSON: {e}") from None
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, not {text.strip()[:40]!r}")
    return value


def _as_text(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{key}: the value must be text")


def read_file(name: str) -> str:
    """The text of a file; `-` is standard input."""
    try:
        with click.open_file(name, encoding="utf-8") as file:
            return str(file.read())
    except (OSError, UnicodeDecodeError) as e:
        raise click.BadParameter(f"{name}: {getattr(e, 'strerror', None) or e}") from None


Callback = Callable[[click.Context, click.Parameter, Any], Any]


def parsed(parse: Callable[[str], Any]) -> Callback:
    """An option's callback that reads its text; for a repeated one, each."""

    def read(_: click.Context, param: click.Parameter, value: Any) -> Any:
        if value is None:
            return None
        try:
            return [parse(v) for v in value] if param.multiple else parse(value)
        except ValueError as e:
            raise click.BadParameter(str(e)) from None

    return read


def _all_properties(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in values:
        try:
            more = parse_properties(text)
        except ValueError as e:
            raise click.BadParameter(str(e)) from None
        if twice := found.keys() & more.keys():
            raise click.BadParameter(f"{min(twice)!r} is given twice")
        found |= more
    return found


def _keys(_: click.Context, __: click.Parameter, values: Sequence[str]) -> list[str]:
    return [key.strip() for text in values for key in text.split(",") if key.strip()]


properties_option = click.option(
    "--properties", "-p", multiple=True, metavar="K=V,K=V", callback=_all_properties,
    help="Properties; may be repeated. A piece without '=' continues the value before it.",
)  # fmt: skip
properties_file_option = click.option(
    "--properties-file", metavar="FILE", callback=parsed(lambda name: parse_properties_file(read_file(name))),
    help="Properties from a file with lines 'key=value' or a JSON object; '-' reads standard input.",
)  # fmt: skip
comment_option = click.option("--comment", metavar="TEXT", help="A comment.")
prefix_option = click.option("--prefix", metavar="TEXT", help="Only names that begin like this.")
if_exists_option = click.option("--if-exists", is_flag=True, help="It is no error if there is none.")


def several(*options: Callable[[F], F]) -> Callable[[F], F]:
    """All these options, in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


describing_options = several(comment_option, properties_option, properties_file_option)
"""What every new object may be given."""

_set = click.option("--set", "set_", multiple=True, metavar="K=V,K=V", callback=_all_properties, help="Set properties.")
_remove = click.option("--remove", multiple=True, metavar="K,K", callback=_keys, help="Remove properties.")
_change = click.option(
    "--change", multiple=True, metavar="JSON", callback=parsed(json_object), help="Any change, as the API takes it."
)
_rename = click.option("--rename", metavar="NEW", help="Give it another name.")
_comment = click.option("--comment", metavar="TEXT", help="Change the comment; an empty one removes it.")

property_change_options = several(_set, _remove, _change)
change_options = several(_rename, _comment, _set, _remove, _change)


def changes(
    rename: str | None = None,
    comment: str | None = None,
    set_: dict[str, str] | None = None,
    remove: Iterable[str] = (),
    change: Iterable[dict[str, Any]] = (),
    before: Iterable[dict[str, Any]] = (),
    **more: str | None,
) -> list[dict[str, Any]]:
    """The changes that the options ask for, in the order in which they are made; the new name comes last."""
    found = [*before]
    found += ({"@type": "setProperty", "property": k, "value": v} for k, v in (set_ or {}).items())
    found += ({"@type": "removeProperty", "property": k} for k in remove)
    if comment is not None:
        found.append({"@type": "updateComment", **({"newComment": comment} if comment else {})})
    found += change
    if rename is not None:
        found.append({"@type": "rename", "newName": rename, **{k: v for k, v in more.items() if v is not None}})
    if not found:
        raise click.UsageError("Nothing to change: say what with one of the options")
    return found
