"""Our partitioning, sort orders and distribution to Iceberg's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.model import tables as m
from headwater.model.errors import IllegalArgumentError
from headwater.model.expressions import Expression, FieldReference, FunctionExpression, Literal

_TIMES = {m.Year: "year", m.Month: "month", m.Day: "day", m.Hour: "hour"}
_SUFFIX = {"identity": "", "bucket": "_bucket", "truncate": "_trunc"}
_SORT_FUNCTIONS = ("bucket", "truncate", "year", "month", "day", "hour")


class Term(msgspec.Struct, frozen=True):
    """A column and what is done to it, in Iceberg's words."""

    column: str
    transform: str

    @property
    def name(self) -> str:
        """The name that Iceberg's own libraries give such a partition field."""
        kind = self.transform.partition("[")[0]
        return self.column + _SUFFIX.get(kind, f"_{kind}")


def partition_term(where: str, partition: m.Partitioning) -> Term:
    """One partition field."""
    match partition:
        case m.Identity():
            return Term(_joined(partition.field_name), "identity")
        case m.Bucket():
            if len(partition.field_names) != 1:
                raise IllegalArgumentError(f"{where}.fieldNames: an Iceberg bucket takes exactly one column")
            return Term(_joined(partition.field_names[0]), f"bucket[{partition.num_buckets}]")
        case m.Truncate():
            return Term(_joined(partition.field_name), f"truncate[{partition.width}]")
        case m.Year() | m.Month() | m.Day() | m.Hour():
            return Term(_joined(partition.field_name), _TIMES[type(partition)])
    raise IllegalArgumentError(
        f"{where}.strategy: Iceberg can't do that; allowed are identity, bucket, truncate, year, month, day, hour"
    )


def sort_term(where: str, expression: Expression) -> Term:
    """What one sort field sorts by."""
    match expression:
        case FieldReference():
            return Term(_joined(expression.field_name), "identity")
        case FunctionExpression(func_name=name, func_args=[FieldReference() as field]) if name in _SORT_FUNCTIONS[2:]:
            return Term(_joined(field.field_name), name)
        case FunctionExpression(func_name=name, func_args=[Literal() as number, FieldReference() as field]) if (
            name in _SORT_FUNCTIONS[:2]
        ):
            text = number.value or ""
            if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
                raise IllegalArgumentError(f"{where}.funcArgs[0]: a whole number above 0 is needed")
            return Term(_joined(field.field_name), f"{name}[{number.value}]")
    allowed = ", ".join(_SORT_FUNCTIONS)
    raise IllegalArgumentError(f"{where}: Iceberg sorts by a column or by one of {allowed} of a column")


def check_spec(where: str, sources: Sequence[tuple[int, Term]]) -> None:
    """Refuse partition fields, given by source id and term, that no writer could tell apart."""
    seen: set[tuple[int, str]] = set()
    for source, term in sources:
        kind = "a unit of time" if term.transform in _TIMES.values() else term.transform
        if (source, kind) in seen:
            raise IllegalArgumentError(f"{where}: {term.column!r} is partitioned by {kind} twice")
        seen.add((source, kind))


def checked_transform(where: str, term: Term, column_type: Any) -> Any:
    """pyiceberg's transform of a term, if it can be applied to a column of that type."""
    from pyiceberg.transforms import parse_transform

    transform = parse_transform(term.transform)
    if not transform.can_transform(column_type):
        raise IllegalArgumentError(f"{where}: {term.transform} is not possible on {column_type}")
    return transform


def _joined(path: Sequence[str]) -> str:
    return ".".join(path)


def distribution_mode(distribution: m.Distribution | None) -> str | None:
    """The value of `write.distribution-mode`; None leaves the choice to the writers."""
    if distribution is None or distribution.strategy is m.DistributionStrategy.NONE:
        return None
    if distribution.strategy is m.DistributionStrategy.EVEN:
        raise IllegalArgumentError(
            "distribution.strategy: 'even' is not known to Iceberg; allowed are none, hash, range"
        )
    if distribution.func_args or distribution.number > 0:
        raise IllegalArgumentError(
            "distribution: Iceberg takes the strategy alone; the columns are those of partitioning and sort order"
        )
    return str(distribution.strategy.value)
