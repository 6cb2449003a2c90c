"""Model objects to JSON and back, and friendly words for JSON that does not fit.

>>> from headwater.model.changes import Rename
>>> encode(Rename("a"))
b'{"@type":"rename","newName":"a"}'
>>> decode_body(b'{"@type":"rename","nwName":"a"}', Rename)
Traceback (most recent call last):
    ...
headwater.model.errors.IllegalArgumentError: nwName: unknown field; did you mean 'newName'?
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from headwater.model.changes import ColumnPosition
from headwater.model.errors import IllegalArgumentError
from headwater.model.sqltypes import nearest
from headwater.model.types import Type, from_json

T = TypeVar("T")

_POSITION_SCHEMA = {"type": "object", "properties": {"after": {"type": "string"}}, "required": ["after"]}
_TYPE_SCHEMA = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}


def _enc_hook(value: Any) -> Any:
    if isinstance(value, Type | ColumnPosition):
        return value.json()
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def _dec_hook(type_: type, value: Any) -> Any:
    if type_ is Type:
        return from_json(value)
    if type_ is ColumnPosition:
        return ColumnPosition.from_json(value)
    raise NotImplementedError(f"{type_.__name__} has no JSON form")


def schema_hook(type_: type) -> dict[str, Any]:
    """The JSON schemas of the types that msgspec does not know."""
    if type_ is Type:
        return {"anyOf": [{"type": "string"}, {**_TYPE_SCHEMA, "additionalProperties": True}]}
    if type_ is ColumnPosition:
        return {"anyOf": [{"type": "string"}, {**_POSITION_SCHEMA, "additionalProperties": False}]}
    raise NotImplementedError(f"{type_.__name__} has no JSON schema")


encoder = msgspec.json.Encoder(enc_hook=_enc_hook)
"""Writes model objects, and what holds them."""


def encode(obj: Any) -> bytes:
    """The JSON of a model object."""
    return encoder.encode(obj)


@functools.cache
def decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    """Reads JSON of this type; msgspec's own errors tell what does not fit."""
    return msgspec.json.Decoder(type_, dec_hook=_dec_hook)


def decode_body(raw: bytes, type_: type[T]) -> T:
    """The object in a request's body; IllegalArgumentError names the field that is wrong and what is allowed there."""
    try:
        body: T = decoder(cast("Any", type_)).decode(raw)
    except UnicodeDecodeError:
        raise IllegalArgumentError("the body is not UTF-8") from None
    except msgspec.ValidationError as error:
        raise IllegalArgumentError(_explain(str(error), raw, type_)) from None
    except msgspec.DecodeError as error:
        raise IllegalArgumentError(_malformed(raw, str(error))) from None
    except RecursionError:
        raise IllegalArgumentError("the body is nested too deep") from None
    # PostgreSQL can't store NUL. JSON has it only escaped, but an escaped backslash before `u0000` looks the same.
    if rb"\u0000" in raw:
        for path, text in _texts(msgspec.json.decode(raw)):
            if "\0" in text:
                raise IllegalArgumentError(f"{_path(path)}: may not hold the character NUL")
    return body


def _malformed(raw: bytes, problem: str) -> str:
    if not raw.strip():
        return "the body is empty"
    # msgspec calls half a pair at the end of a string truncated.
    if "surrogate" in problem or re.search(rb'\\u[dD][89abAB][0-9a-fA-F]{2}"', raw):
        return "the body holds half a surrogate pair, which is not a character"
    return f"the body is not JSON: {problem.removeprefix('JSON is malformed: ')}"


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Every string in this JSON, keys too, with the path to it."""
    rest = [("", value)]
    while rest:
        path, value = rest.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, list):
            rest += ((f"{path}[{n}]", item) for n, item in enumerate(value))
        elif isinstance(value, dict):
            for key, item in value.items():
                yield f"{path}.{key}", key
                rest.append((f"{path}.{key}", item))


def _path(path: str) -> str:
    """A path as it is shown. Its end may be a field's name as it came: of any length, with any characters."""
    path = path.removeprefix(".")
    if not path.isprintable():
        path = path.encode("unicode_escape").decode()
    return (path if len(path) <= 200 else f"{path[:197]}...") or "the body"


def _explain(text: str, raw: bytes, type_: Any) -> str:
    """msgspec's message in our words: `path: what is wrong there; what is allowed`."""
    place = re.fullmatch(r"(.*) - at `\$([\w@.\[\]]*)`", text, re.DOTALL)
    problem, path = place.groups() if place else (text, "")
    # Our own hooks and `__post_init__` put the rest of the path in front.
    if inner := re.fullmatch(r"`([^`]*)`: (.*)", problem, re.DOTALL):
        return f"{_path(f'{path}.{inner[1]}')}: {inner[2]}"
    if missing := re.fullmatch(r"Object missing required field `(.*)`", problem):
        path = f"{path}.{missing[1]}"
        return f"{_path(path)}: missing{_hint('', _values(type_, raw, path))}"
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", problem, re.DOTALL):
        hint = _hint(unknown[1], _field_names(_standing(type_, raw, path)))
        return f"{_path(f'{path}.{unknown[1]}')}: unknown field{hint}"
    if value := re.fullmatch(r"Invalid (?:enum )?value (.*)", problem, re.DOTALL):
        word = value[1].strip("'")
        return f"{_path(path)}: {word!r} is unknown{_hint(word, _values(type_, raw, path))}"
    return f"{_path(path)}: {re.sub('^Expected', 'expected', problem).replace('`', '')}"


def _hint(word: str, known: list[str]) -> str:
    return f"; {nearest(word, known)}" if known else ""


def _field_names(place: _Place) -> list[str]:
    struct = _chosen(*place)
    if struct is None:
        return []
    tag = [struct.tag_field] if struct.tag_field else []
    return [*tag, *(field.encode_name for field in struct.fields)]


def _values(type_: Any, raw: bytes, path: str) -> list[str]:
    """What may stand at `path`: an enum's values or, where a tag stands, the tags."""
    node, _ = _standing(type_, raw, path)
    if node is None:
        parent, _ = _standing(type_, raw, path.rpartition(".")[0])
        return [str(s.tag) for s in _structs(parent)]
    return [str(member.value) for o in _options(node) if isinstance(o, inspect.EnumType) for member in o.cls]


# A type as msgspec sees it, and the JSON that should be of this type.
_Place = tuple[inspect.Type | None, Any]
_type_info = functools.cache(inspect.type_info)


def _standing(type_: Any, raw: bytes, path: str) -> _Place:
    """The type that stands at a path of msgspec's; None if the path leads through what only the JSON knows."""
    try:
        data = msgspec.json.decode(raw)
    except (ValueError, RecursionError):  # an error behind the one that is explained
        return None, None
    node: inspect.Type | None = _type_info(type_)
    for step in re.findall(r"[^.\[\]]+|\.\.\.", path):
        node, data = _inside(node, data, step)
    return node, data


def _inside(node: inspect.Type | None, data: Any, step: str) -> _Place:
    if isinstance(data, list) and step.isdigit():
        lists = [o for o in _options(node) if isinstance(o, inspect.ListType)]
        return (lists[0].item_type, data[int(step)]) if lists else (None, None)
    struct = _chosen(node, data)
    field = next((f for f in struct.fields if f.encode_name == step), None) if struct else None
    return (field.type, data.get(step)) if field else (None, None)


def _chosen(node: inspect.Type | None, data: Any) -> inspect.StructType | None:
    """The struct that this JSON means: the only one, or the one that its tag names."""
    structs = _structs(node) if isinstance(data, dict) else []
    if len(structs) == 1:
        return structs[0]
    return next((s for s in structs if s.tag_field and data.get(s.tag_field) == s.tag), None)


def _structs(node: inspect.Type | None) -> list[inspect.StructType]:
    return [o for o in _options(node) if isinstance(o, inspect.StructType)]


def _options(node: inspect.Type | None) -> tuple[inspect.Type, ...]:
    if node is None:
        return ()
    return node.types if isinstance(node, inspect.UnionType) else (node,)
