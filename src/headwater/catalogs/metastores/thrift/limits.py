"""Lengths that a Hive Metastore's database keeps: it retries for long what can never fit, and answers with SQL."""

from __future__ import annotations

from headwater.catalogs.metastores.entries import Entry
from headwater.model.errors import IllegalArgumentError

_NAME, _COMMENT, _KEY = 767, 4000, 256


def check_lengths(after: Entry, before: Entry | None = None) -> None:
    """Refuse texts that are too long; what is there already is the Metastore's own business."""
    known = {*before.storage.columns, *before.partition_keys} if before else set()
    for n, column in enumerate((*after.storage.columns, *after.partition_keys)):
        if column not in known:
            _check(f"columns[{n}].name", column.name, _NAME)
            _check(f"columns[{n}].comment", column.comment or "", _COMMENT)
    old = before.parameters if before else {}
    for key in after.parameters.keys() - old.keys():
        _check(f"properties.{key[:40]}...", key, _KEY)


def _check(field: str, text: str, most: int) -> None:
    if len(text) > most:
        raise IllegalArgumentError(f"{field}: a Hive Metastore keeps {most:,} characters there, not {len(text):,}")
