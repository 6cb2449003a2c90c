"""Names of partitions: `dt=2024-01-01/country=us`, escaped as Hive escapes them.

>>> name = partition_name(["dt", "path"], ["2024-01-01", "a/b=c"])
>>> name
'dt=2024-01-01/path=a%2Fb%3Dc'
>>> partition_values(name)
[('dt', '2024-01-01'), ('path', 'a/b=c')]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from headwater.catalogs.metastores.entries import Entry, Field, PartitionEntry
from headwater.catalogs.metastores.types import read
from headwater.model import types as t
from headwater.model.errors import IllegalArgumentError
from headwater.model.expressions import Literal
from headwater.model.tables import IdentityPartition, Partition

NULL = "__HIVE_DEFAULT_PARTITION__"
"""How a partition of NULL or of an empty text is called."""

_ESCAPED = re.compile(r"[\x01-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
_CODE = re.compile(r"%([0-9A-Fa-f]{2})")


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda m: f"%{ord(m[0]):02X}", text) if text else NULL


def _unescape(text: str) -> str:
    return _CODE.sub(lambda m: chr(int(m[1], 16)), text)


def partition_name(keys: Sequence[str], values: Sequence[str]) -> str:
    """The name of the partition of these values."""
    return "/".join(f"{_escape(k)}={_escape(v)}" for k, v in zip(keys, values, strict=False))


def partition_values(name: str) -> list[tuple[str, str]]:
    """Keys and values of a partition's name; ValueError if it is none."""
    pairs = []
    for piece in name.split("/"):
        key, joint, value = piece.partition("=")
        if not (key and joint):
            raise ValueError(f"{name!r} is not the name of a partition: it must look like key=value/key=value")
        pairs.append((_unescape(key), _unescape(value) or NULL))
    return pairs


def values_of(entry: Entry, name: str) -> list[str] | None:
    """The values in a partition's name, in the order of the table's keys; None if it can't be one of the table's."""
    try:
        found = {key.lower(): value for key, value in partition_values(name)}
    except ValueError:
        return None
    keys = [f.name.lower() for f in entry.partition_keys]
    return [found[k] for k in keys] if found.keys() == set(keys) and keys else None


def show(entry: Entry, partition: PartitionEntry) -> Partition:
    """The partition as it is served."""
    keys = entry.partition_keys
    properties = dict(partition.parameters)
    if partition.storage is not None and partition.storage.location is not None:
        properties.setdefault("location", partition.storage.location)
    return IdentityPartition(
        field_names=[[key.name] for key in keys],
        values=[_literal(key, value) for key, value in zip(keys, partition.values, strict=False)],
        name=partition_name([key.name for key in keys], partition.values),
        properties=properties,
    )


def _literal(key: Field, value: str) -> Literal:
    return Literal.null() if value == NULL else Literal(read(key.type), value)


_WHOLE = re.compile(r"-?[0-9]{1,19}")


def _check_value(field: str, key: Field, value: str) -> None:
    """Refuse a value that no engine could read as one of the key's type; metastores take any text."""
    if value == NULL:
        return
    match read(key.type):
        case t.Byte() | t.Short() | t.Integer() | t.Long():
            right = _WHOLE.fullmatch(value) is not None
        case t.Date():
            right = _is_date(value)
        case t.Boolean():
            right = value.lower() in ("true", "false")
        case _:
            right = True
    if not right:
        raise IllegalArgumentError(f"{field}: {value!r} is no {key.type}, which the partition column {key.name!r} is")


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def new_values(field: str, entry: Entry, partition: Partition) -> list[str]:
    """The values of a partition to be added, checked against the table's keys."""
    keys = [f.name for f in entry.partition_keys]
    if not isinstance(partition, IdentityPartition):
        raise IllegalArgumentError(f"{field}.type: only identity partitions are possible here")
    given = [".".join(names) for names in partition.field_names]
    if [g.lower() for g in given] != [k.lower() for k in keys]:
        raise IllegalArgumentError(
            f"{field}.fieldNames: {', '.join(given)} is not allowed; the partition columns are {', '.join(keys)}"
        )
    if len(partition.values) != len(keys):
        raise IllegalArgumentError(f"{field}.values: {len(keys)} values are needed, not {len(partition.values)}")
    values = [NULL if v.is_null or v.value == "" else str(v.value) for v in partition.values]
    for n, (key, value) in enumerate(zip(entry.partition_keys, values, strict=True)):
        _check_value(f"{field}.values[{n}].value", key, value)
    if partition.name is not None and values_of(entry, partition.name) != values:
        expected = partition_name(keys, values)
        raise IllegalArgumentError(
            f"{field}.name: {partition.name!r} is not the name of these values; it is {expected!r}"
        )
    return values
