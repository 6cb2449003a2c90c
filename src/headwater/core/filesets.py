"""The verbs of filesets. Names and properties are kept by Headwater, the provider holds the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import structlog

from headwater.catalogs.base import Provider, SupportsFilesets
from headwater.core import answers as a
from headwater.core import locations
from headwater.core.connectors import Connector
from headwater.core.lake import Lake
from headwater.core.operation import Call, Result
from headwater.core.verbs import FILESET, verb
from headwater.model import changes as c
from headwater.model.errors import (
    FilesetAlreadyExistsError,
    HeadwaterError,
    IllegalArgumentError,
    NoSuchFilesetError,
    NoSuchLocationNameError,
    NoSuchSchemaError,
    UnsupportedOperationError,
)
from headwater.model.names import NameIdentifier, check_new_name
from headwater.model.nouns import Fileset, FilesetType
from headwater.store.rows import ROOT_ID, Body, Row, new_id, new_row
from headwater.store.session import Session

log = structlog.get_logger(__name__)


def show(row: Row) -> Fileset:
    """The fileset as it is served."""
    return Fileset(
        name=row.name,
        type=FilesetType(row.body.type),
        comment=row.body.comment,
        storage_location=row.body.locations.get(locations.DEFAULT),
        storage_locations=row.body.locations,
        properties=row.body.properties,
        audit=row.audit,
    )


async def _open(lake: Lake, call: Call) -> tuple[Row, Connector, SupportsFilesets, Row]:
    """The catalog, its connector and provider, and the schema's row."""
    catalog = await lake.catalog(call.names[0], call.names[1])
    connector = lake.connectors.get(call.names[0], catalog)
    provider = connector.supporting(SupportsFilesets, "filesets")  # type: ignore[type-abstract]
    schema = await lake.store.read(lambda s: s.find(catalog.id, "schema", call.names[2]))
    if schema is None:
        raise NoSuchSchemaError(f"Schema {'.'.join(call.names[:3])} does not exist")
    return catalog, connector, provider, schema


async def _find(lake: Lake, call: Call) -> tuple[Connector, SupportsFilesets, Row]:
    _, connector, provider, schema = await _open(lake, call)
    row = await lake.store.read(lambda s: s.find(schema.id, "fileset", call.names[3]))
    if row is None:
        raise _no_such_fileset(call)
    return connector, provider, row


def _no_such_fileset(call: Call) -> NoSuchFilesetError:
    return NoSuchFilesetError(f"Fileset {'.'.join(call.names)} does not exist")


@verb(FILESET, "list", privilege="use_fileset", answer=a.IdentifiersAnswer, query=a.ListQuery,
      statuses=(404, 405, 409), cached=True)  # fmt: skip
async def list_filesets(lake: Lake, call: Call) -> Result:
    """List a schema's filesets."""
    *_, schema = await _open(lake, call)
    page = call.query.page()
    names = await lake.store.read(
        lambda s: s.names(schema.id, "fileset", after=page.after, prefix=page.prefix, limit=page.fetch)
    )
    more, names = a.next_token(names, page), names[: page.limit]
    answer = a.IdentifiersAnswer(identifiers=[NameIdentifier(call.names, n) for n in names], next_page_token=more)
    return Result(answer, names=names, field="identifiers")


@verb(FILESET, "create", privilege="create_fileset", answer=a.FilesetAnswer, body=a.CreateFileset,
      statuses=(404, 405, 409))  # fmt: skip
async def create_fileset(lake: Lake, call: Call) -> Result:
    """Create a fileset; folders that are not there are made."""
    catalog, connector, provider, schema = await _open(lake, call)
    row = _new_fileset(call, catalog, schema, connector)
    folders = list(row.body.locations.values())

    def check(s: Session) -> None:
        if s.find(schema.id, "fileset", row.name) is not None:
            raise FilesetAlreadyExistsError(f"Fileset {'.'.join((*call.names, row.name))} already exists")

    def work(s: Session) -> None:
        check(s)
        s.insert(row)

    await lake.store.read(check)
    await empty_trash(lake, call.names[0], catalog, wanted=folders)
    # Folders first: a crash in between leaves an empty folder, never a fileset without one.
    managed = row.body.type == FilesetType.MANAGED.value
    await connector.call(provider.claim_folders if managed else provider.make_folders, folders)
    await lake.store.write(work)
    return Result(a.FilesetAnswer(fileset=show(row)))


def _new_fileset(call: Call, catalog: Row, schema: Row, connector: Connector) -> Row:
    body: a.CreateFileset = call.body
    name = check_new_name("fileset", body.name)
    connector.provider.check_name("fileset", name)
    properties = dict(body.properties or {})
    connector.provider.fileset_properties.check_new(properties)
    given = dict(body.storage_locations or {})
    if body.storage_location is not None:
        given[locations.DEFAULT] = body.storage_location
    kind = body.type or FilesetType.MANAGED
    if kind is FilesetType.EXTERNAL and not given:
        raise IllegalArgumentError("storageLocation: required for an external fileset")
    path = (catalog.name, schema.name, name)
    found = locations.of_fileset(path, catalog.body.properties, schema.body.properties, given, properties)
    for key, location in found.items():
        connector.provider.context.check_local(f"storageLocations.{key}", location)
        if kind is FilesetType.MANAGED:
            connector.provider.context.check_removable(f"storageLocations.{key}", location)
        _require_below_schema(key, location, catalog, schema)
    properties[locations.DEFAULT_NAME_KEY] = locations.default_name(found, properties)
    content = Body(comment=body.comment, properties=properties, type=kind.value, locations=found)
    return new_row("fileset", schema.id, name, content, call.actor.name)


def _require_below_schema(key: str, location: str, catalog: Row, schema: Row) -> None:
    """A fileset's folder may not hold the schema's: dropping it would take all other filesets along."""
    for folder in locations.of_schema(catalog.body.properties, schema.body.properties, schema.name):
        if locations.covers(location, folder):
            raise IllegalArgumentError(f"storageLocations.{key}: {location!r} holds the schema's own folder {folder!r}")


@verb(FILESET, "load", privilege="read_fileset", answer=a.FilesetAnswer, statuses=(404, 405, 409), cached=True)
async def load_fileset(lake: Lake, call: Call) -> Result:
    """Load a fileset."""
    _, _, row = await _find(lake, call)
    return Result(a.FilesetAnswer(fileset=show(row)))


@verb(FILESET, "alter", privilege="write_fileset", answer=a.FilesetAnswer, body=a.AlterFileset,
      statuses=(404, 405, 409))  # fmt: skip
async def alter_fileset(lake: Lake, call: Call) -> Result:
    """Change a fileset's name, comment or properties; its folders stay where they are."""
    _, connector, _, schema = await _open(lake, call)
    spec = connector.provider.fileset_properties

    def work(s: Session) -> Row:
        before = s.find(schema.id, "fileset", call.names[3], lock=True)
        if before is None:
            raise _no_such_fileset(call)
        after = _apply(before, call.body.updates, call.actor.name, connector.provider)
        spec.check_change(before.body.properties, after.body.properties)
        if after.name != before.name and s.find(schema.id, "fileset", after.name) is not None:
            raise FilesetAlreadyExistsError(f"Fileset {'.'.join((*call.names[:3], after.name))} already exists")
        s.update(after)
        return after

    return Result(a.FilesetAnswer(fileset=show(await lake.store.write(work))))


def _apply(row: Row, updates: Iterable[c.FilesetChange], actor: str, provider: Provider) -> Row:
    name, comment, properties = row.name, row.body.comment, dict(row.body.properties)
    for update in updates:
        match update:
            case c.Rename():
                name = check_new_name("fileset", update.new_name, "updates.newName")
                provider.check_name("fileset", name)
            case c.UpdateComment():
                comment = update.new_comment
            case c.RemoveComment():
                comment = None
            case c.SetProperty():
                properties[update.property] = update.value
            case c.RemoveProperty():
                properties.pop(update.property, None)
    return row.changed(actor, name=name, body=msgspec.structs.replace(row.body, comment=comment, properties=properties))


@verb(FILESET, "drop", privilege="drop_fileset", answer=a.DroppedAnswer, statuses=(404, 405, 409))
async def drop_fileset(lake: Lake, call: Call) -> Result:
    """Drop a fileset; the folders of a managed one are removed with all that is in them."""
    try:
        _, _, row = await _find(lake, call)
    except (NoSuchFilesetError, NoSuchSchemaError):
        return Result(a.DroppedAnswer(dropped=False))
    catalog = await lake.catalog(call.names[0], call.names[1])
    return Result(a.DroppedAnswer(dropped=await _drop(lake, call.names[0], catalog, [row])))


async def _drop(lake: Lake, metalake: str, catalog: Row, rows: Sequence[Row]) -> bool:
    """Rows first, with a note of the folders to remove: after a crash the removal is finished, not forgotten."""

    def work(s: Session) -> bool:
        present = [r for r in rows if s.find(r.parent_id, "fileset", r.name, lock=True) is not None]
        for row in present:
            s.delete(row.id)
        left = _owned_folders(s)
        for row in present:
            if row.body.type == FilesetType.MANAGED.value:
                s.put_trash(new_id(), catalog.id, _unshared(row, left))
        return bool(present)

    dropped = await lake.store.write(work)
    await empty_trash(lake, metalake, catalog)
    return dropped


def _owned_folders(s: Session) -> list[str]:
    """The folders of all filesets, wherever they are registered."""
    return [folder for row in s.of_kind("fileset") for folder in row.body.locations.values()]


def _is_shared(folder: str, owned: Sequence[str]) -> bool:
    """Another fileset needs the folder, whole or in part."""
    return any(locations.covers(folder, other) or locations.covers(other, folder) for other in owned)


def _unshared(row: Row, left: Sequence[str]) -> list[str]:
    """The folders of a fileset that no other fileset needs."""
    return [folder for folder in row.body.locations.values() if not _is_shared(folder, left)]


async def empty_trash(lake: Lake, metalake: str, catalog: Row, wanted: Sequence[str] = ()) -> None:
    """Remove the folders that dropped filesets of a catalog have left.

    What can't be removed now is tried again with the next fileset and at the next start. It is an error only for who
    wants that very folder.
    """
    entries = await lake.store.read(lambda s: s.trash(catalog.id))
    if not entries:
        return
    connector = lake.connectors.get(metalake, catalog)
    provider = connector.supporting(SupportsFilesets, "filesets")  # type: ignore[type-abstract]
    for entry_id, noted in entries:
        # Somebody may have taken a folder over since it was noted: then it is no trash any more.
        owned = await lake.store.read(_owned_folders)
        folders = [f for f in noted if not _is_shared(f, owned)]
        try:
            await connector.call(provider.remove_folders, folders)
        except HeadwaterError as e:
            log.warning("folders of a dropped fileset could not be removed", catalog=catalog.name, reason=e.message)
            if any(locations.covers(a, b) or locations.covers(b, a) for a in folders for b in wanted):
                raise
            continue
        await lake.store.write(lambda s, i=entry_id: s.empty_trash(i))  # type: ignore[misc]


async def empty_all_trash(lake: Lake) -> None:
    """Finish what a crash has interrupted; called when a server starts."""

    def left(s: Session) -> list[tuple[str, Row]]:
        ids = set(s.trashed_catalogs())
        if not ids:
            return []
        lakes = s.children(ROOT_ID, "metalake", after="", prefix="", limit=None)
        return [
            (m.name, row)
            for m in lakes
            for row in s.children(m.id, "catalog", after="", prefix="", limit=None)
            if row.id in ids
        ]

    for metalake, catalog in await lake.store.read(left):
        await empty_trash(lake, metalake, catalog)


async def remove_filesets(lake: Lake, metalake: str, catalog: Row, below: int) -> None:
    """Drop all filesets below a schema or a catalog, folders included."""
    rows = await lake.store.read(lambda s: [r for r in s.tree(below) if r.kind == "fileset"])
    await _drop(lake, metalake, catalog, rows)


@verb(FILESET, "location", privilege="read_fileset", answer=a.LocationAnswer, query=a.FilesQuery,
      event="get_file_location", route=("GET", FILESET.item + "/location"), statuses=(404, 405, 409))  # fmt: skip
async def get_file_location(lake: Lake, call: Call) -> Result:
    """Say where a file of a fileset lies."""
    if call.query.sub_path is None:
        raise IllegalArgumentError("sub_path: required; it may be empty")
    if (call.data_operation or "").upper() == "RENAME" and call.query.sub_path.strip("/ ") == "":
        raise UnsupportedOperationError("sub_path: the folder of a fileset itself can't be renamed")
    _, _, row = await _find(lake, call)
    sub_path = call.query.sub_path.strip()
    if ".." in sub_path.split("/"):
        raise IllegalArgumentError("sub_path: it may not contain '..'")
    if sub_path and not sub_path.startswith("/"):
        sub_path = "/" + sub_path
    return Result(a.LocationAnswer(file_location=_location(row, call.query.location_name) + sub_path))


@verb(FILESET, "files", privilege="read_fileset", answer=a.FilesAnswer, query=a.FilesQuery,
      event="list_files", route=("GET", FILESET.item + "/files"), statuses=(404, 405, 409))  # fmt: skip
async def list_files(lake: Lake, call: Call) -> Result:
    """List what lies in a folder of a fileset."""
    connector, provider, row = await _find(lake, call)
    sub_path = (call.query.sub_path or "/").strip().strip("/")
    location = _location(row, call.query.location_name)
    found = await connector.call(provider.list_files, location, sub_path)
    above = "/".join(("/fileset", *call.names[1:], sub_path)).rstrip("/")
    files = [
        a.FileEntry(name=f.name, is_dir=f.is_dir, size=f.size, last_modified=f.last_modified, path=above) for f in found
    ]
    return Result(a.FilesAnswer(files=files))


def _location(row: Row, name: str | None) -> str:
    wanted = name or row.body.properties.get(locations.DEFAULT_NAME_KEY) or next(iter(row.body.locations))
    if wanted not in row.body.locations:
        known = ", ".join(row.body.locations)
        raise NoSuchLocationNameError(f"Fileset {row.name} has no location {wanted!r}; it has {known}")
    return row.body.locations[wanted]
