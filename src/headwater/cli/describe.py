"""Model objects as text for people: what `details` shows, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headwater.model import expressions as e
from headwater.model import tables as t


def lines(value: Any) -> Iterator[tuple[str, str]]:
    """Each field of a model object with its text, those inside of others as `properties.location`.

    >>> from headwater.model.nouns import Schema
    >>> list(lines(Schema(name="sales", properties={"a": "b"})))
    [('name', 'sales'), ('properties.a', 'b')]
    """
    for field in value.__struct_fields__:
        content = getattr(value, field)
        name = field.replace("_", "-")
        if isinstance(content, list):
            yield from _list_lines(name, content)
        elif isinstance(content, t.Distribution):
            if content.strategy is not t.DistributionStrategy.NONE:
                yield name, distribution(content)
        elif isinstance(content, dict):
            yield from ((f"{name}.{key}", text) for key, text in content.items())
        elif hasattr(content, "__struct_fields__"):
            yield from ((f"{name}.{key}", text) for key, text in lines(content))
        elif content is not None:
            yield name, str(getattr(content, "value", content))


def _list_lines(name: str, content: list[Any]) -> Iterator[tuple[str, str]]:
    if name == "columns":
        yield from ((f"columns.{c.name}", column(c)) for c in content)
    elif name == "field-names":
        yield name, ", ".join(".".join(path) for path in content)
    elif name == "values":
        yield name, ", ".join("NULL" if v.is_null else str(v.value) for v in content)
    elif name == "indexes":
        yield from ((f"indexes.{i.name or i.index_type.value}", index(i)) for i in content)
    elif content:
        show = sort_order if name == "sort-orders" else transform
        yield name, ", ".join(map(show, content))


def column(value: t.Column) -> str:
    """A column without its name, as it could be declared."""
    words = [str(value.type)]
    if not value.nullable:
        words.append("not null")
    if value.auto_increment:
        words.append("auto_increment")
    if value.default_value is not None:
        words.append(f"default {expression(value.default_value)}")
    if value.comment:
        words.append(f"comment {_quoted(value.comment)}")
    return " ".join(words)


def transform(value: t.Partitioning) -> str:
    """One way to partition, as `--partition` takes it."""
    match value:
        case t.Identity(field_name=field):
            return ".".join(field)
        case t.Bucket(num_buckets=number, field_names=fields):
            return _call("bucket", str(number), *map(".".join, fields))
        case t.Truncate(width=width, field_name=field):
            return _call("truncate", str(width), ".".join(field))
        case t.ListPartitioning(field_names=fields):
            return _call("list", *map(".".join, fields))
        case t.FunctionTransform(func_name=name, func_args=arguments):
            return _call(name, *map(expression, arguments))
    return _call(type(value).__name__.removesuffix("Partitioning").lower(), ".".join(value.field_name))


def sort_order(value: t.SortOrder) -> str:
    """One sort order, as `--sort` takes it."""
    text = f"{expression(value.sort_term)} {value.direction.value}"
    usual = value.null_ordering is value.direction.null_ordering
    return text if usual else f"{text} {value.null_ordering.value.replace('_', ' ')}"


def distribution(value: t.Distribution) -> str:
    """How rows are spread, as `--distribution` takes it."""
    if not value.number and not value.func_args:
        return value.strategy.value
    return _call(value.strategy.value, str(value.number), *map(expression, value.func_args))


def index(value: t.Index) -> str:
    """A key or an index."""
    return _call(value.index_type.value.lower(), *map(".".join, value.field_names))


def expression(value: e.Expression) -> str:
    """An expression."""
    match value:
        case e.Literal(value=text):
            return "null" if value.is_null or text is None else _quoted(text) if _is_text(value) else text
        case e.FieldReference(field_name=field):
            return ".".join(field)
        case e.FunctionExpression(func_name=name, func_args=arguments):
            return _call(name, *map(expression, arguments))
        case e.UnparsedExpression(unparsed_expression=text):
            return text


def _is_text(value: e.Literal) -> bool:
    return str(value.data_type).startswith(("string", "varchar", "char", "date", "time"))


def _call(name: str, *arguments: str) -> str:
    return f"{name}({', '.join(arguments)})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
