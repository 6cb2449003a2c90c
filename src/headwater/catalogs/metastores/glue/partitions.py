"""Partitions of a Glue table, in the largest batches that Glue takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from headwater.catalogs.metastores.entries import Entry, PartitionEntry
from headwater.catalogs.metastores.glue import convert
from headwater.catalogs.metastores.glue.calls import Calls
from headwater.catalogs.metastores.glue.convert import Raw
from headwater.catalogs.metastores.glue.errors import EXISTS, NOT_FOUND, Subject, refusal, was_tried_before
from headwater.catalogs.metastores.glue.shapes import check_lengths, fitted
from headwater.catalogs.metastores.partitions import partition_name
from headwater.model.errors import (
    BackendBusyError,
    HeadwaterError,
    NoSuchPartitionError,
    PartitionAlreadyExistsError,
)

GET, CREATE, DELETE = 1000, 100, 25
"""How many partitions one call of each kind takes."""

T = TypeVar("T")

_NAMED = 100
_TRIES = 4


class Partitions:
    """What can be done with the partitions of one table."""

    def __init__(self, calls: Calls, entry: Entry) -> None:
        self._calls, self._entry = calls, entry
        self._table = {"DatabaseName": entry.database, "TableName": entry.name}
        self._subject = calls.table(entry.database, entry.name)
        self._keys = [f.name for f in entry.partition_keys]

    def names(self) -> list[str]:
        """The names of all."""
        pages = self._calls.pages("get_partitions", self._subject, **self._table, ExcludeColumnSchema=True)
        return [self._name(raw["Values"]) for page in pages for raw in page["Partitions"]]

    def all(self) -> Iterator[PartitionEntry]:
        """All, page by page."""
        for page in self._calls.pages("get_partitions", self._subject, **self._table):
            yield from map(convert.partition, page["Partitions"])

    def some(self, values: Sequence[Sequence[str]]) -> Iterator[PartitionEntry]:
        """Those of these values that are there."""
        for chunk in _batches(values, GET):
            wanted = [{"Values": list(v)} for v in chunk]
            tries = 0
            while wanted:
                answer = self._calls.one("batch_get_partition", self._subject, **self._table, PartitionsToGet=wanted)
                yield from map(convert.partition, answer.get("Partitions") or ())
                left = answer.get("UnprocessedKeys") or []
                tries = tries + 1 if len(left) == len(wanted) else 0
                if tries == _TRIES:
                    raise BackendBusyError(f"{self._calls.where} leaves {len(left)} partitions unanswered")
                wanted = left

    def one(self, values: Sequence[str]) -> PartitionEntry | None:
        """One, or None."""
        about = Subject("Partition", f"{self._subject.name}.{'/'.join(values)}")
        try:
            answer = self._calls.one("get_partition", about, **self._table, PartitionValues=list(values))
        except NoSuchPartitionError:
            return None
        return convert.partition(answer["Partition"])

    def add(self, partitions: Sequence[PartitionEntry]) -> list[PartitionEntry]:
        """Add all that are not there yet, in the given order; an error says which were. Glue keeps what it is given."""
        new = _NewPartitions(self._calls, self._entry)
        made: list[PartitionEntry] = []
        added: list[str] = []
        taken: list[str] = []
        for chunk in _batches(partitions, CREATE):
            inputs = {self._name(p.values): new.input(p) for p in chunk}
            made += [new.made(p, raw) for p, raw in zip(chunk, inputs.values(), strict=True)]
            try:
                failed = self._create(inputs)
            except HeadwaterError as e:
                raise type(e)(f"{e.message}; {_added(added)}") from e
            added += [name for name in inputs if name not in failed]
            taken += [name for name, error in failed.items() if error["ErrorCode"] == EXISTS]
            worse = {name: error for name, error in failed.items() if error["ErrorCode"] != EXISTS}
            if worse:
                name, error = next(iter(worse.items()))
                ours = refusal(error, "BatchCreatePartition", self._about(name), self._calls.where)
                raise type(ours)(f"{ours.message}; not added: {_listed([*taken, *worse])}; {_added(added)}")
        if taken:
            raise PartitionAlreadyExistsError(f"{self._subject} has these already: {_listed(taken)}; {_added(added)}")
        return made

    def drop(self, values: Iterable[Sequence[str]]) -> int:
        """Drop those that are there; the answer is how many that were."""
        count = 0
        for chunk in _batches([list(v) for v in values], DELETE):
            unwanted = [{"Values": v} for v in chunk]
            answer = self._calls.one(
                "batch_delete_partition", self._subject, **self._table, PartitionsToDelete=unwanted
            )
            errors = answer.get("Errors") or []
            count += len(chunk) - len(errors)
            for error in errors:
                if error["ErrorDetail"]["ErrorCode"] != NOT_FOUND:
                    about = self._about(self._name(error["PartitionValues"]))
                    ours = refusal(error["ErrorDetail"], "BatchDeletePartition", about, self._calls.where)
                    raise type(ours)(f"{ours.message}; {count} others were dropped")
        return count

    def _create(self, inputs: Mapping[str, Raw]) -> dict[str, Raw]:
        """One call; the answer tells what is wrong with each that was not added."""
        answer = self._calls.one(
            "batch_create_partition", self._subject, **self._table, PartitionInputList=list(inputs.values())
        )
        failed = {self._name(e["PartitionValues"]): e["ErrorDetail"] for e in answer.get("Errors") or ()}
        if was_tried_before(answer):
            taken = [inputs[name] for name, error in failed.items() if error["ErrorCode"] == EXISTS]
            for found in self.some([p["Values"] for p in taken]):
                if any(p == {k: found.raw.get(k) for k in p} for p in taken):
                    del failed[self._name(found.values)]
        return failed

    def _name(self, values: Sequence[str]) -> str:
        return partition_name(self._keys, values)

    def _about(self, name: str) -> Subject:
        return Subject("Partition", f"{self._subject.name}.{name}")


class _NewPartitions:
    """Makes Glue's input of new partitions: what is not said about one is as the table has it."""

    def __init__(self, calls: Calls, entry: Entry) -> None:
        self._entry = entry
        self._keys = [f.name for f in entry.partition_keys]
        self._shape = calls.input_shape("BatchCreatePartition", "PartitionInputList").member
        self._described = self._shape.members["StorageDescriptor"]
        self._as_table = fitted(self._described, (entry.raw or {}).get("StorageDescriptor") or {})

    def input(self, partition: PartitionEntry) -> Raw:
        """One partition."""
        described = self._as_table
        if partition.storage is not None:
            described = convert.over_storage(described, self._entry.storage, partition.storage)
        base = self._entry.storage.location
        if base is not None and (partition.storage is None or partition.storage.location is None):
            name = partition_name(self._keys, partition.values)
            described = {**described, "Location": f"{base.rstrip('/')}/{name}"}
        made = {
            "Values": list(partition.values),
            "StorageDescriptor": described,
            "Parameters": dict(partition.parameters),
        }
        check_lengths(self._shape, made, {"StorageDescriptor": self._as_table})
        return made

    def made(self, partition: PartitionEntry, raw: Raw) -> PartitionEntry:
        """The partition that Glue has once it has taken its input."""
        location = raw["StorageDescriptor"].get("Location")
        storage = msgspec.structs.replace(partition.storage or self._entry.storage, location=location)
        return msgspec.structs.replace(partition, storage=storage, raw=raw)


def _added(names: Sequence[str]) -> str:
    return f"added: {_listed(names)}" if names else "none was added"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more, in the order of the request" if len(names) > _NAMED else shown


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
