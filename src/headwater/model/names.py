"""Names of objects and the paths that lead to them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from headwater.model.errors import IllegalNameError, IllegalNamespaceError

SEPARATOR = ":"
"""Joins the levels of a nested schema on the wire: `a:b` is schema `b` inside schema `a`."""

_PATTERNS = {
    "metalake": re.compile(r"[A-Za-z0-9_]{1,64}"),
    "catalog": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}"),
}
_DEFAULT_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_/=-]{0,63}")
_RESERVED = {"metalake": {"system"}, "catalog": {"system"}}


class Namespace(msgspec.Struct, frozen=True):
    """Where an object lies: the names above it, outermost first.

    >>> str(Namespace.of("lake", "sales"))
    'lake.sales'
    """

    levels: tuple[str, ...] = ()

    @classmethod
    def of(cls, *levels: str) -> Namespace:
        """A namespace of these levels, none of them empty."""
        if not all(levels):
            raise IllegalNamespaceError("A namespace may not have an empty level")
        return cls(levels)

    @classmethod
    def empty(cls) -> Namespace:
        """The namespace of metalakes."""
        return cls()

    def __str__(self) -> str:
        return ".".join(self.levels)


class NameIdentifier(msgspec.Struct, frozen=True):
    """An object's full name.

    >>> NameIdentifier.of("lake", "sales", "orders")
    NameIdentifier(namespace=('lake', 'sales'), name='orders')
    """

    namespace: tuple[str, ...]
    name: str

    @classmethod
    def of(cls, *names: str) -> NameIdentifier:
        """The last of `names` is the object's own, the others lead to it."""
        if not names or not all(names):
            raise IllegalNameError("A name identifier needs at least one name, and none may be empty")
        return cls(names[:-1], names[-1])

    def __str__(self) -> str:
        return ".".join((*self.namespace, self.name))


def split_schema(name: str) -> tuple[str, ...]:
    """The levels of a schema's name.

    >>> split_schema("a:b")
    ('a', 'b')
    """
    return tuple(name.split(SEPARATOR))


def join_schema(levels: Iterable[str]) -> str:
    """The wire name of a schema's levels."""
    return SEPARATOR.join(levels)


def check_new_name(kind: str, name: str, field: str = "name") -> str:
    """`name`, if a new object of this kind may bear it; reads are not bound by the pattern.

    >>> check_new_name("table", "orders 2024")
    Traceback (most recent call last):
        ...
    headwater.model.errors.IllegalNameError: name: the table name 'orders 2024' is illegal: allowed is [A-Za-z0-9_][A-Za-z0-9_/=-]{0,63}
    """  # noqa: E501
    if not name.strip():
        raise IllegalNameError(f"{field}: the {kind} name may not be empty")
    pattern = _PATTERNS.get(kind, _DEFAULT_PATTERN)
    for level in split_schema(name) if kind == "schema" else (name,):
        if pattern.fullmatch(level) is None:
            raise IllegalNameError(f"{field}: the {kind} name {name!r} is illegal: allowed is {pattern.pattern}")
    if name in _RESERVED.get(kind, ()):
        raise IllegalNameError(f"{field}: the {kind} name {name!r} is reserved")
    return name
