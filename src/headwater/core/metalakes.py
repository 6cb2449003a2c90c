"""The verbs of metalakes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from headwater.core import answers as a
from headwater.core.lake import Lake, require_in_use
from headwater.core.operation import Call, Result
from headwater.core.verbs import METALAKE, Answer, verb
from headwater.model import changes as c
from headwater.model.errors import (
    MetalakeAlreadyExistsError,
    MetalakeInUseError,
    NonEmptyMetalakeError,
    NoSuchMetalakeError,
)
from headwater.model.names import check_new_name
from headwater.model.nouns import Metalake
from headwater.model.properties import Kind, Properties, Property
from headwater.store.rows import ROOT_ID, Body, Row, new_row
from headwater.store.session import Session

PROPERTIES = Properties(
    [
        Property(
            name="in-use",
            description="Whether the metalake is enabled; changed by enabling and disabling it.",
            kind=Kind.BOOLEAN,
            reserved=True,
            default="true",
        )
    ]
)


def show(row: Row, *, in_use: bool = True) -> Metalake:
    """The metalake as it is served."""
    properties = dict(row.body.properties)
    if in_use:
        properties["in-use"] = "true" if row.in_use else "false"
    return Metalake(name=row.name, comment=row.body.comment, properties=properties, audit=row.audit)


def apply(row: Row, updates: Iterable[c.MetalakeChange], spec: Properties, actor: str, kind: str) -> Row:
    """The row after the changes that metalakes and catalogs share: name, comment, properties."""
    name, comment = row.name, row.body.comment
    properties = dict(row.body.properties)
    for update in updates:
        match update:
            case c.Rename():
                name = check_new_name(kind, update.new_name, "updates.newName")
            case c.UpdateComment():
                comment = update.new_comment
            case c.SetProperty():
                properties[update.property] = update.value
            case c.RemoveProperty():
                spec.check_removal(update.property)
                properties.pop(update.property, None)
    body = msgspec.structs.replace(row.body, comment=comment, properties=properties)
    return row.changed(actor, name=name, body=body)


def no_such_metalake(name: str) -> NoSuchMetalakeError:
    """The error for a missing metalake."""
    return NoSuchMetalakeError(f"Metalake {name} does not exist")


def lock_metalake(s: Session, name: str) -> Row:
    """The metalake's row, held until the transaction ends."""
    row = s.find(ROOT_ID, "metalake", name, lock=True)
    if row is None:
        raise no_such_metalake(name)
    return row


def page_of(rows: Sequence[Row], query: a.ListQuery) -> tuple[list[Row], str | None]:
    """The rows of one page, and the token of the next one."""
    page = query.page()
    return list(rows[: page.limit]), a.next_token([r.name for r in rows], page)


@verb(METALAKE, "list", privilege="use_metalake", answer=a.MetalakesAnswer, query=a.ListQuery, cached=True)
async def list_metalakes(lake: Lake, call: Call) -> Result:
    """List metalakes."""
    page = call.query.page()
    rows = await lake.store.read(
        lambda s: s.children(ROOT_ID, "metalake", after=page.after, prefix=page.prefix, limit=page.fetch)
    )
    rows, token = page_of(rows, call.query)
    answer = a.MetalakesAnswer(metalakes=[show(r) for r in rows], next_page_token=token)
    return Result(answer, names=[r.name for r in rows], field="metalakes")


@verb(METALAKE, "create", privilege="create_metalake", answer=a.MetalakeAnswer, body=a.CreateMetalake, statuses=(409,))
async def create_metalake(lake: Lake, call: Call) -> Result:
    """Create a metalake."""
    body: a.CreateMetalake = call.body
    name = check_new_name("metalake", body.name.strip())
    properties = body.properties or {}
    PROPERTIES.check_new(properties)
    row = new_row("metalake", ROOT_ID, name, Body(comment=body.comment, properties=properties), call.actor.name)

    def work(s: Session) -> None:
        if s.find(ROOT_ID, "metalake", name) is not None:
            raise MetalakeAlreadyExistsError(f"Metalake {name} already exists")
        s.insert(row)

    await lake.store.write(work)
    return Result(a.MetalakeAnswer(metalake=show(row, in_use=False)))


@verb(METALAKE, "load", privilege="use_metalake", answer=a.MetalakeAnswer, statuses=(404,), cached=True)
async def load_metalake(lake: Lake, call: Call) -> Result:
    """Load a metalake."""
    return Result(a.MetalakeAnswer(metalake=show(await lake.metalake(call.names[0], in_use=False))))


@verb(METALAKE, "alter", privilege="alter_metalake", answer=a.MetalakeAnswer, body=a.AlterMetalake, statuses=(404, 409))
async def alter_metalake(lake: Lake, call: Call) -> Result:
    """Change a metalake's name, comment or properties."""

    def work(s: Session) -> Row:
        before = lock_metalake(s, call.names[0])
        require_in_use(before)
        after = apply(before, call.body.updates, PROPERTIES, call.actor.name, "metalake")
        PROPERTIES.check_change(before.body.properties, after.body.properties)
        if after.name != before.name and s.find(ROOT_ID, "metalake", after.name) is not None:
            raise MetalakeAlreadyExistsError(f"Metalake {after.name} already exists")
        s.update(after)
        return after

    return Result(a.MetalakeAnswer(metalake=show(await lake.store.write(work))))


@verb(METALAKE, "set_in_use", privilege="alter_metalake", answer=Answer, body=a.SetInUse, statuses=(404,))
async def set_metalake_in_use(lake: Lake, call: Call) -> Result:
    """Enable or disable a metalake."""

    def work(s: Session) -> None:
        row = lock_metalake(s, call.names[0])
        if row.in_use != call.body.in_use:
            s.update(row.changed(call.actor.name, in_use=call.body.in_use))

    await lake.store.write(work)
    return Result(Answer())


@verb(METALAKE, "drop", privilege="drop_metalake", answer=a.DroppedAnswer, query=a.ForceQuery, statuses=(409,))
async def drop_metalake(lake: Lake, call: Call) -> Result:
    """Drop a metalake; with `force` even one that is in use or has catalogs."""
    from headwater.core.catalogs import empty_managed_catalog

    force = call.query.force
    if force:
        # What managed catalogs store outside is removed through their providers first: no folder is left behind.
        rows = await lake.store.read(
            lambda s: (
                (
                    (m := s.find(ROOT_ID, "metalake", call.names[0]))
                    and s.children(m.id, "catalog", after="", prefix="", limit=None)
                )
                or []
            )
        )
        for row in rows:
            await empty_managed_catalog(lake, call.names[0], row)

    def work(s: Session) -> list[int]:
        row = s.find(ROOT_ID, "metalake", call.names[0], lock=True)
        if row is None:
            return []
        if not force:
            if row.in_use:
                raise MetalakeInUseError(f"Metalake {row.name} is in use: disable it first, or use force")
            if s.count_children(row.id):
                raise NonEmptyMetalakeError(f"Metalake {row.name} has catalogs: drop them first, or use force")
        below = [r.id for r in s.tree(row.id)]
        s.delete_tree(row.id)
        return below

    dropped = await lake.store.write(work)
    for row_id in dropped:
        lake.connectors.forget(row_id)
    return Result(a.DroppedAnswer(dropped=bool(dropped)))
