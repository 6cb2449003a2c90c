"""Data fitted to what Glue takes, by the SDK's own model of it: members that AWS adds one day pass through."""

from __future__ import annotations

from typing import Any

from headwater.model.errors import IllegalArgumentError

_NAMES = {"Description": "comment", "LocationUri": "properties.location"}
"""What callers know a member by."""


def fitted(shape: Any, value: Any) -> Any:
    """The part of an answer that may be sent back: without what only Glue writes."""
    if shape.type_name == "structure":
        known = {k: fitted(shape.members[k], v) for k, v in value.items() if k in shape.members and v is not None}
        return {k: v for k, v in known.items() if not _is_unset(shape.members[k], v)}
    if shape.type_name == "list":
        return [fitted(shape.member, item) for item in value]
    return value


def _is_unset(shape: Any, value: Any) -> bool:
    """An empty text where Glue takes none is its way to answer that there is none."""
    return bool(value == "" and shape.metadata.get("min", 0) > 0)


def check_lengths(shape: Any, value: Any, before: Any = None, path: str = "") -> None:
    """Refuse a text that is too long for Glue; one that is there already may stay."""
    if value == before:
        return
    if shape.type_name == "structure":
        for key, item in value.items():
            old = before.get(key) if before is not None else None
            check_lengths(shape.members[key], item, old, _below(path, key))
    elif shape.type_name == "list":
        for n, item in enumerate(value):
            old = before[n] if before is not None and n < len(before) else None
            check_lengths(shape.member, item, old, f"{path}[{n}]")
    elif shape.type_name == "map":
        for key, item in value.items():
            old = before.get(key) if before is not None else None
            _check_length(shape.key, key, path)
            check_lengths(shape.value, item, old, _below(path, key))
    elif isinstance(value, str):
        _check_length(shape, value, path)


def _below(path: str, key: str) -> str:
    name = _NAMES.get(key, key)
    return f"{path}.{name}" if path else name


def _check_length(shape: Any, text: str, path: str) -> None:
    longest = shape.metadata.get("max")
    if longest is not None and len(text) > longest:
        raise IllegalArgumentError(f"{path}: Glue takes at most {longest:,} characters, not {len(text):,}")
