"""Tables as text on the command line: columns, partitioning, sort orders and distribution, read into the wire form."""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
from collections.abc import Iterator
from typing import Any

_PIECE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^'"`]""", re.DOTALL)
_CALL = re.compile(r"(\w+)\s*\((.*)\)", re.DOTALL)
_CLAUSES = ("not", "null", "comment", "default", "auto_increment", "first", "after")
_ONE_FIELD = ("year", "month", "day", "hour", "identity", "range")
_TRANSFORMS = (*_ONE_FIELD, "bucket", "truncate", "list")


def split(text: str, separator: str = ",") -> list[str]:
    """The parts between separators that stand outside of quotes, parentheses and angle brackets.

    >>> split("id bigint, price decimal(10,2), tags map<string,int>")
    ['id bigint', 'price decimal(10,2)', 'tags map<string,int>']
    """
    parts, depth = [""], 0
    end = 0
    for piece in _PIECE.finditer(text):
        if piece.start() != end:
            break
        end, token = piece.end(), piece.group()
        depth += (token in "(<") - (token in ")>")
        if depth < 0:
            raise ValueError(f"{text!r}: {token!r} closes nothing")
        if depth == 0 and (token.isspace() if separator == " " else token == separator):
            parts.append("")
        else:
            parts[-1] += token
    if end != len(text):
        raise ValueError(f"{text!r}: a quote is not closed")
    if depth:
        raise ValueError(f"{text!r}: a bracket is not closed")
    return [p.strip() for p in parts if p.strip()]


def unquote(word: str) -> str:
    """A name or text without its quotes."""
    quote = word[:1]
    return word[1:-1].replace(quote * 2, quote) if quote in "'\"`" and len(word) > 1 else word


def parse_columns(text: str) -> list[dict[str, Any]]:
    """Columns as SQL declares them.

    >>> parse_columns("id bigint not null, name varchar(20) comment 'full name'")[1]
    {'name': 'name', 'type': 'varchar(20)', 'comment': 'full name'}
    """
    columns = [parse_column(part) for part in split(text)]
    for column in columns:
        if "position" in column:
            raise ValueError(f"{column['name']!r}: columns come in the order in which they are written")
    return columns


def parse_column(text: str) -> dict[str, Any]:
    """One column; a place (`first`, `after other`) is read too, for columns that are added."""
    words = split(text, " ")
    if len(words) < 2:
        raise ValueError(f"{text!r} is not a column; write it like 'id bigint not null'")
    # The word behind the name belongs to the type, whatever it is.
    end = next((n for n, w in enumerate(words) if n > 1 and w.lower() in _CLAUSES), len(words))
    column: dict[str, Any] = {"name": unquote(words[0]), "type": " ".join(words[1:end])}
    rest = iter(words[end:])
    for word in rest:
        column |= _clause(word.lower(), rest, column["type"], text)
    return column


def _clause(word: str, rest: Iterator[str], type_: str, text: str) -> dict[str, Any]:
    match word:
        case "not":
            if next(rest, "").lower() != "null":
                raise ValueError(f"{text!r}: 'not' must be followed by 'null'")
            return {"nullable": False}
        case "null":
            return {"nullable": True}
        case "auto_increment":
            return {"autoIncrement": True}
        case "first":
            return {"position": "first"}
        case "comment" | "default" | "after":
            value = next(rest, None)
            if value is None:
                raise ValueError(f"{text!r}: {word!r} must be followed by a value")
            if word == "default":
                return {"defaultValue": _default(value, type_)}
            return {"comment": unquote(value)} if word == "comment" else {"position": {"after": unquote(value)}}
    raise ValueError(f"{text!r}: {word!r} is not expected; after the type come {', '.join(_CLAUSES)}")


def _default(value: str, type_: str) -> dict[str, Any]:
    call = _CALL.fullmatch(value)
    if call and not call[2].strip():
        return {"type": "function", "funcName": call[1], "funcArgs": []}
    if value.lower() == "null":
        return {"type": "literal", "dataType": "null", "value": "NULL"}
    return {"type": "literal", "dataType": type_, "value": unquote(value)}


_CSV = {
    "name": "name",
    "datatype": "type",
    "type": "type",
    "comment": "comment",
    "nullable": "nullable",
    "autoincrement": "autoIncrement",
    "defaultvalue": "default",
    "defaulttype": "defaultType",
}


def parse_columns_file(text: str) -> list[dict[str, Any]]:
    """Columns in a file: a JSON array in the wire form, or CSV with the header `Name,Datatype,Comment,Nullable,...`."""
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except ValueError as e:
            raise ValueError(f"not JSON: {e}") from None
        return list(found)
    reader = csv.reader(io.StringIO(text.strip()), skipinitialspace=True)
    header = [_csv_field(h) for h in next(reader, [])]
    if not {"name", "type"} <= set(header):
        raise ValueError("the first line must name the fields, at least Name and Datatype")
    return [_csv_column(dict(zip(header, row, strict=False))) for row in reader if any(row)]


def _csv_field(name: str) -> str:
    plain = re.sub(r"[\s_-]", "", name).lower()
    if plain not in _CSV:
        near = difflib.get_close_matches(plain, _CSV, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "allowed are Name, Datatype, Comment, Nullable, ..."
        raise ValueError(f"{name!r} is not a field of a column; {hint}")
    return _CSV[plain]


def _csv_column(row: dict[str, str]) -> dict[str, Any]:
    given = {k: v.strip() for k, v in row.items() if v.strip()}
    default, default_type = given.pop("default", None), given.pop("defaultType", None)
    column: dict[str, Any] = {**given}
    for flag in ("nullable", "autoIncrement"):
        if flag in given:
            column[flag] = _flag(given[flag])
    if default is not None:
        column["defaultValue"] = _default(default, default_type or given.get("type", ""))
    return column


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def field_name(text: str) -> list[str]:
    """The path to a field: `address.city`; a name with a dot in it goes in backticks."""
    return [unquote(part) for part in split(text, ".")]


def parse_partitioning(text: str) -> list[dict[str, Any]]:
    """Partitioning by transforms and columns.

    >>> parse_partitioning("day(ts), region")
    [{'strategy': 'day', 'fieldName': ['ts']}, {'strategy': 'identity', 'fieldName': ['region']}]
    """
    return [_transform(part) for part in split(text)]


def _transform(text: str) -> dict[str, Any]:
    call = _CALL.fullmatch(text)
    if call is None:
        return {"strategy": "identity", "fieldName": field_name(text)}
    name, arguments = call[1].lower(), split(call[2])
    if name not in _TRANSFORMS:
        near = difflib.get_close_matches(name, _TRANSFORMS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"allowed are {', '.join(_TRANSFORMS)}"
        raise ValueError(f"{call[1]!r} is not a way to partition; {hint}")
    if name == "list" and arguments:
        return {"strategy": "list", "fieldNames": [field_name(a) for a in arguments]}
    if name in _ONE_FIELD and len(arguments) == 1:
        return {"strategy": name, "fieldName": field_name(arguments[0])}
    if name == "bucket" and len(arguments) >= 2:
        fields = [field_name(a) for a in arguments[1:]]
        return {"strategy": "bucket", "numBuckets": _number(arguments[0]), "fieldNames": fields}
    if name == "truncate" and len(arguments) == 2:
        return {"strategy": "truncate", "width": _number(arguments[0]), "fieldName": field_name(arguments[1])}
    example = {"bucket": "bucket(16, id)", "truncate": "truncate(10, name)"}.get(name, f"{name}(column)")
    raise ValueError(f"{text!r}: write it like {example}")


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def parse_sort_orders(text: str) -> list[dict[str, Any]]:
    """Sort orders as in SQL's ORDER BY.

    >>> parse_sort_orders("id desc")
    [{'sortTerm': {'type': 'field', 'fieldName': ['id']}, 'direction': 'desc'}]
    """
    return [_sort_order(split(part, " "), part) for part in split(text)]


def _sort_order(words: list[str], text: str) -> dict[str, Any]:
    order: dict[str, Any] = {"sortTerm": _term(words[0])}
    rest = [w.lower() for w in words[1:]]
    if rest[:1] in (["asc"], ["desc"]):
        order["direction"] = rest.pop(0)
    if rest in (["nulls", "first"], ["nulls", "last"]):
        order["nullOrdering"] = "_".join(rest)
    elif rest:
        raise ValueError(f"{text!r}: write it like 'id desc nulls last'")
    return order


def _term(text: str) -> dict[str, Any]:
    call = _CALL.fullmatch(text)
    if call is None:
        if text.isdecimal():
            return {"type": "literal", "dataType": "integer", "value": text}
        return {"type": "field", "fieldName": field_name(text)}
    return {"type": "function", "funcName": call[1], "funcArgs": [_term(a) for a in split(call[2])]}


def parse_distribution(text: str) -> dict[str, Any]:
    """How rows are spread: `hash(16, id)`, `range`, `even`, `none`.

    >>> parse_distribution("hash(16, id)")
    {'strategy': 'hash', 'number': 16, 'funcArgs': [{'type': 'field', 'fieldName': ['id']}]}
    """
    call = _CALL.fullmatch(text.strip())
    if call is None:
        return {"strategy": text.strip(), "number": 0, "funcArgs": []}
    number, *fields = split(call[2]) or [""]
    return {"strategy": call[1], "number": _number(number), "funcArgs": [_term(f) for f in fields]}


def parse_pair(text: str) -> tuple[list[str], str]:
    """A column and what is to become of it: `name=value`."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise ValueError(f"{text!r} is not of the form column=value")
    return field_name(name.strip()), value.strip()
