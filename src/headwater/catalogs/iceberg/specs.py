"""A new partition spec for a table that has one: pyiceberg's own update can neither reorder nor change an argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headwater.catalogs.iceberg.layout import Term

if TYPE_CHECKING:
    from pyiceberg.table import Transaction


def respec(transaction: Transaction, terms: Sequence[tuple[int, Any, Term]]) -> None:
    """Make these partition fields, given by source id and transform, the table's; one used before keeps its id."""
    from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
    from pyiceberg.table.update import (
        AddPartitionSpecUpdate,
        AssertDefaultSpecId,
        AssertLastAssignedPartitionId,
        SetDefaultSpecUpdate,
    )

    metadata = transaction.table_metadata
    specs = metadata.partition_specs
    known = {(f.source_id, str(f.transform)): f for spec in specs for f in spec.fields}
    taken = {f.name for spec in specs for f in spec.fields} | set(metadata.schema().column_names)
    last = metadata.last_partition_id or PARTITION_FIELD_ID_START - 1
    fields: list[Any] = []
    for source_id, transform, term in terms:
        field = known.get((source_id, str(transform)))
        if field is None:
            last += 1
            field = PartitionField(source_id, last, transform, _free_name(term, taken))
            taken.add(field.name)
        fields.append(field)
    requirements = (
        AssertLastAssignedPartitionId.model_validate({"last-assigned-partition-id": metadata.last_partition_id}),
        AssertDefaultSpecId.model_validate({"default-spec-id": metadata.default_spec_id}),
    )
    same = next((spec for spec in specs if list(spec.fields) == fields), None)
    if same is not None:
        updates: tuple[Any, ...] = (SetDefaultSpecUpdate.model_validate({"spec-id": same.spec_id}),)
    else:
        spec = PartitionSpec(*fields, spec_id=max(s.spec_id for s in specs) + 1)
        made = SetDefaultSpecUpdate.model_validate({"spec-id": -1})
        updates = (AddPartitionSpecUpdate.model_validate({"spec": spec}), made)
    transaction._stage(updates, requirements)


def _free_name(term: Term, taken: set[str]) -> str:
    """Iceberg's usual name of the field; with the transform's argument if another one bears that name already."""
    if term.transform == "identity" or term.name not in taken:
        return term.name
    argument = term.transform.partition("[")[2].rstrip("]")
    return f"{term.name}_{argument}" if argument else f"{term.name}_part"
