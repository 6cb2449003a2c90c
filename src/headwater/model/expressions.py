"""Expressions: default values of columns, terms of sort orders, arguments of distributions and functions."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from headwater.model.types import MAX_DEPTH, Null, Type
from headwater.model.wire import Wire, always

FieldName: TypeAlias = Annotated[list[Annotated[str, msgspec.Meta(min_length=1)]], msgspec.Meta(min_length=1)]
"""The path to a column: its name and, for a field inside of it, the names that lead there."""


class Literal(Wire, tag_field="type", tag="literal"):
    """A constant, written as text whatever its type.

    >>> Literal.null()
    Literal(data_type=Null(), value='NULL')
    """

    data_type: Type
    value: str | None

    @classmethod
    def null(cls) -> Literal:
        """NULL."""
        return cls(Null(), "NULL")

    @property
    def is_null(self) -> bool:
        """Whether this is NULL."""
        return self.value is None or isinstance(self.data_type, Null)


class FieldReference(Wire, tag_field="type", tag="field"):
    """The value of a column or of a field inside of it."""

    field_name: FieldName


class FunctionExpression(Wire, tag_field="type", tag="function"):
    """A call, `rand()` for one."""

    func_name: str
    func_args: list[Expression] = always(list)

    def __post_init__(self) -> None:
        # Whoever walks through an expression may rely on its depth.
        if _depth(self) > MAX_DEPTH:
            raise ValueError(f"expressions may be nested {MAX_DEPTH} levels deep at most")


class UnparsedExpression(Wire, tag_field="type", tag="unparsed"):
    """An expression in the words of the catalog it comes from."""

    unparsed_expression: str


Expression: TypeAlias = Literal | FieldReference | FunctionExpression | UnparsedExpression


def _depth(expression: Expression) -> int:
    arguments = expression.func_args if isinstance(expression, FunctionExpression) else []
    return 1 + max(map(_depth, arguments), default=0)
