"""What Headwater remembers about objects of outside catalogs, and the order in which that and the object change.

A new object is made outside first and remembered then; one to be dropped or renamed is forgotten first. So a crash in
between leaves an object about which nothing is remembered, never a memory without its object; and since a memory
counts only with the source's own identity, a later object of the same name never inherits it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
import structlog

from headwater.catalogs.base import Found
from headwater.core.lake import Lake
from headwater.model.errors import HeadwaterError
from headwater.model.nouns import Audit, Schema
from headwater.model.tables import Table
from headwater.store.rows import PATH_JOINT, Kept, now

log = structlog.get_logger(__name__)

O = TypeVar("O", Schema, Table)  # noqa: E741
T = TypeVar("T")


def table_path(schema: str, table: str) -> str:
    """The path of a table below its catalog."""
    return f"{schema}{PATH_JOINT}{table}"


async def with_audit(lake: Lake, catalog_id: int, path: str, found: Found[O]) -> O:
    """The object, with the audit data that is remembered about it."""
    kind = _kind(found.value)
    known = await lake.store.read(lambda s: s.kept(catalog_id, kind, path))
    if known is not None and known.identity == found.identity:
        found.value.audit = _merged(known.audit, found.value.audit)
    return found.value


def _merged(ours: Audit, theirs: Audit) -> Audit:
    """Ours, with the source's own word on the last change where it is newer."""
    newer = (theirs.last_modified_time or "") > (ours.last_modified_time or ours.create_time or "")
    if not newer or theirs.last_modifier is None:
        return ours
    return msgspec.structs.replace(
        ours, last_modifier=theirs.last_modifier, last_modified_time=theirs.last_modified_time
    )


async def remember_new(lake: Lake, catalog_id: int, path: str, found: Found[O], actor: str) -> O:
    """Remember who made an object, now that it is there."""
    entry = Kept(catalog_id, _kind(found.value), path, found.identity, actor, now())
    await _keep(lake, entry)
    found.value.audit = entry.audit
    return found.value


async def remember_change(
    lake: Lake, catalog_id: int, path: str, found: Found[O], actor: str, before: Kept | None
) -> O:
    """Remember who changed an object."""
    if before is None or before.identity != found.identity:
        before = _first_seen(catalog_id, path, found)
    entry = msgspec.structs.replace(before, path=path, modifier=actor, modified=now())
    await _keep(lake, entry)
    found.value.audit = entry.audit
    return found.value


def _first_seen(catalog_id: int, path: str, found: Found[O]) -> Kept:
    theirs = found.value.audit
    return Kept(catalog_id, _kind(found.value), path, found.identity, theirs.creator or "", theirs.create_time or "")


async def _keep(lake: Lake, entry: Kept) -> None:
    try:
        await lake.store.write(lambda s: s.keep(entry))
    except HeadwaterError as e:
        # The object is made or changed: that is what the caller must hear. Only our note about it is lost.
        log.warning("audit data could not be stored", path=entry.path, reason=e.message)


async def forget_while(
    lake: Lake, catalog_id: int, kind: str, path: str, act: Callable[[Kept | None], Awaitable[T]]
) -> T:
    """Forget an object, then act (drop or rename it); if that fails, remember it again."""
    known = await lake.store.read(lambda s: s.kept(catalog_id, kind, path))
    if known is not None:
        await lake.store.write(lambda s: s.forget(catalog_id, kind, path))
    try:
        return await act(known)
    except HeadwaterError:
        if known is not None:
            await _keep(lake, known)
        raise


async def forget_schema_while(
    lake: Lake, catalog_id: int, path: str, act: Callable[[], Awaitable[T]], *, cascade: bool
) -> T:
    """The same for a schema, with all that lies in it if that is to go too."""
    below = await lake.store.read(lambda s: s.kept_below(catalog_id, path)) if cascade else []
    if below:
        await lake.store.write(lambda s: s.forget_below(catalog_id, path))
    try:
        dropped = await forget_while(lake, catalog_id, "schema", path, lambda _: act())
    except HeadwaterError:
        for entry in below:
            await _keep(lake, entry)
        raise
    # What is left now is about objects that were dropped behind our back.
    await lake.store.write(lambda s: s.forget_below(catalog_id, path))
    return dropped


def _kind(value: Schema | Table) -> str:
    return "schema" if isinstance(value, Schema) else "table"
