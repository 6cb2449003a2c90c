"""Reads answers leniently: what a newer server says beside the known fields is passed over.

The model refuses unknown fields, which is right for what users send. An answer is cut down to the known fields first.
"""

from __future__ import annotations

import functools
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from headwater.client._errors import UnexpectedAnswerError
from headwater.model import codec

T = TypeVar("T")

_type_info = functools.cache(inspect.type_info)


def decode(value: Any, type_: type[T]) -> T:
    """The model object in this part of an answer.

    >>> from headwater.model.nouns import Schema
    >>> decode({"name": "sales", "colour": "red"}, Schema).name
    'sales'
    """
    raw = msgspec.json.encode(_known(_type_info(cast("Any", type_)), value))
    try:
        return cast("T", codec.decoder(cast("Any", type_)).decode(raw))
    except msgspec.ValidationError as e:
        raise UnexpectedAnswerError(f"The server's answer can't be read here, is this client too old? {e}") from None


def _known(node: inspect.Type, value: Any) -> Any:
    """`value` without the fields that its type does not have."""
    options = node.types if isinstance(node, inspect.UnionType) else (node,)
    for option in options:
        if isinstance(value, dict) and isinstance(option, inspect.StructType):
            tag = option.tag_field
            if tag is None or value.get(tag) == option.tag:
                kept = {
                    f.encode_name: _known(f.type, value[f.encode_name]) for f in option.fields if f.encode_name in value
                }
                return {tag: option.tag, **kept} if tag else kept
        if isinstance(value, list) and isinstance(option, inspect.ListType):
            return [_known(option.item_type, item) for item in value]
    return value
