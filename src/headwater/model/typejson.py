"""Reads types from their JSON form: a string is a simple type's name (or SQL), an object is one of six nested forms.

>>> read_type({"type": "list", "elementType": {"type": "list", "elementType": "bigin"}})
Traceback (most recent call last):
    ...
ValueError: `elementType.elementType`: 'bigin' is not a type; did you mean 'bigint'?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headwater.model import types as t
from headwater.model.sqltypes import check_depth, nearest, parse

# A message that starts with a path in backticks is about what lies there; `codec` joins such paths too.


def read_type(value: object, depth: int = 1) -> t.Type:
    """The type of this JSON, itself `depth` levels deep; ValueError says what is wrong with it."""
    if isinstance(value, str):
        return parse(value, depth)
    if not isinstance(value, Mapping):
        raise ValueError("a type is a name or an object")
    check_depth(depth)
    kind = value.get("type")
    if not isinstance(kind, str) or kind.lower() not in _FORMS:
        raise ValueError(f"`type`: {kind!r} can't be written as an object; {nearest(str(kind), _FORMS)}")
    read, required, optional = _FORMS[kind.lower()]
    _check_keys(value, ("type", *required), optional)
    return read(value, depth)


def _check_keys(value: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    for key in value:
        if key not in required and key not in optional:
            raise ValueError(f"`{key}`: unknown field; {nearest(key, (*required, *optional))}")
    for key in required:
        if key not in value:
            raise ValueError(f"`{key}`: missing")


def _inside(key: str, value: object, depth: int) -> t.Type:
    try:
        return read_type(value, depth + 1)
    except ValueError as error:
        raise _within(key, error) from None


def _within(key: str, error: ValueError) -> ValueError:
    text = str(error)
    return ValueError(f"`{key}.{text[1:]}" if text.startswith("`") else f"`{key}`: {text}")


def _flag(value: Mapping[str, Any], key: str) -> bool:
    flag = value.get(key, True)
    if not isinstance(flag, bool):
        raise ValueError(f"`{key}`: must be true or false")
    return flag


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value[key]
    if not isinstance(text, str):
        raise ValueError(f"`{key}`: must be a string")
    return text


def _items(value: Mapping[str, Any], key: str) -> list[Any]:
    items = value[key]
    if not isinstance(items, list):
        raise ValueError(f"`{key}`: must be an array")
    return items


def _list(value: Mapping[str, Any], depth: int) -> t.Type:
    return t.List(_inside("elementType", value["elementType"], depth), _flag(value, "containsNull"))


def _map(value: Mapping[str, Any], depth: int) -> t.Type:
    key = _inside("keyType", value["keyType"], depth)
    return t.Map(key, _inside("valueType", value["valueType"], depth), _flag(value, "valueContainsNull"))


def _struct(value: Mapping[str, Any], depth: int) -> t.Type:
    fields = []
    for number, item in enumerate(_items(value, "fields")):
        try:
            fields.append(_field(item, depth))
        except ValueError as error:
            raise _within(f"fields[{number}]", error) from None
    return t.Struct(fields)


def _field(value: object, depth: int) -> t.StructField:
    if not isinstance(value, Mapping):
        raise ValueError("a struct's field is an object")
    _check_keys(value, ("name", "type"), ("nullable", "comment"))
    comment = None if value.get("comment") is None else _text(value, "comment")
    type_ = _inside("type", value["type"], depth)
    return t.StructField(_text(value, "name"), type_, _flag(value, "nullable"), comment)


def _union(value: Mapping[str, Any], depth: int) -> t.Type:
    return t.Union([_inside(f"types[{n}]", item, depth) for n, item in enumerate(_items(value, "types"))])


# How each form is read, the keys it must and may have.
_FORMS: dict[str, tuple[Callable[[Mapping[str, Any], int], t.Type], tuple[str, ...], tuple[str, ...]]] = {
    "struct": (_struct, ("fields",), ()),
    "list": (_list, ("elementType",), ("containsNull",)),
    "map": (_map, ("keyType", "valueType"), ("valueContainsNull",)),
    "union": (_union, ("types",), ()),
    "external": (lambda value, _: t.External(_text(value, "catalogString")), ("catalogString",), ()),
    "unparsed": (lambda value, _: t.Unparsed(_text(value, "unparsedType")), ("unparsedType",), ()),
}
