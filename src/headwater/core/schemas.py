"""The verbs of schemas: those of the outside catalog, or our own where the provider leaves them to us."""

from __future__ import annotations

import urllib.parse

import msgspec

from headwater.catalogs.base import Found, Page, SupportsFilesets, SupportsSchemas, deleted
from headwater.core import answers as a
from headwater.core import keeping, locations
from headwater.core.connectors import Connector
from headwater.core.filesets import remove_filesets
from headwater.core.lake import Lake
from headwater.core.operation import Call, Result
from headwater.core.retrying import retrying
from headwater.core.verbs import SCHEMA, verb
from headwater.model import changes as c
from headwater.model.errors import NonEmptySchemaError, NoSuchSchemaError, SchemaAlreadyExistsError
from headwater.model.names import NameIdentifier, check_new_name, join_schema, split_schema
from headwater.model.nouns import Schema
from headwater.model.properties import Properties
from headwater.store.rows import Body, Row, new_row
from headwater.store.session import Session


def no_such_schema(call_names: tuple[str, ...], name: str) -> NoSuchSchemaError:
    """The error for a missing schema."""
    return NoSuchSchemaError(f"Schema {'.'.join((*call_names[:2], name))} does not exist")


def show(row: Row) -> Schema:
    """A schema of our own as it is served."""
    return Schema(name=row.name, comment=row.body.comment, properties=dict(row.body.properties), audit=row.audit)


async def open_catalog(lake: Lake, call: Call) -> tuple[Row, Connector]:
    """The catalog that a call is about, which must be in use."""
    row = await lake.catalog(call.names[0], call.names[1])
    return row, lake.connectors.get(call.names[0], row)


async def managed_schema(lake: Lake, call: Call, catalog: Row) -> Row:
    """The row of a schema of our own."""
    row = await lake.store.read(lambda s: s.find(catalog.id, "schema", call.names[2]))
    if row is None:
        raise no_such_schema(call.names, call.names[2])
    return row


@verb(SCHEMA, "list", privilege="use_schema", answer=a.IdentifiersAnswer, query=a.SchemaListQuery,
      statuses=(404, 405, 409), cached=True)  # fmt: skip
async def list_schemas(lake: Lake, call: Call) -> Result:
    """List a catalog's schemas, or those right below another one."""
    catalog, connector = await open_catalog(lake, call)
    page = call.query.page()
    provider, token = connector.provider, connector.provider.token()
    if isinstance(provider, SupportsSchemas):
        parent = split_schema(provider.fold(call.query.parent_schema)) if call.query.parent_schema else ()
        names = await connector.call(provider.list_schemas, parent, page)
        return _identifiers(call, names, page, connector, token)
    names = await lake.store.read(
        lambda s: s.names(catalog.id, "schema", after=page.after, prefix=page.prefix, limit=page.fetch)
    )
    return _identifiers(call, names, page, None, None)


def _identifiers(call: Call, names: list[str], page: Page, connector: Connector | None, token: object) -> Result:
    more = a.next_token(names, page)
    names = names[: page.limit]
    answer = a.IdentifiersAnswer(identifiers=[NameIdentifier(call.names, n) for n in names], next_page_token=more)
    source = connector.provider if connector else None
    return Result(answer, source, token, names=names, field="identifiers")


@verb(SCHEMA, "create", privilege="create_schema", answer=a.SchemaAnswer, body=a.CreateSchema, statuses=(404, 405, 409))
async def create_schema(lake: Lake, call: Call) -> Result:
    """Create a schema."""
    body: a.CreateSchema = call.body
    # The released Gravitino client percent-encodes the name in the body; '%' itself is never legal in one.
    name = check_new_name("schema", urllib.parse.unquote(body.name))
    catalog, connector = await open_catalog(lake, call)
    provider, properties = connector.provider, body.properties or {}
    name = provider.fold(name)
    provider.check_name("schema", name)
    provider.schema_properties.check_new(properties)
    if isinstance(provider, SupportsSchemas):
        found = await connector.call(provider.create_schema, split_schema(name), body.comment, properties)
        return Result(a.SchemaAnswer(schema=await keeping.remember_new(lake, catalog.id, name, found, call.actor.name)))
    row = new_row("schema", catalog.id, name, Body(comment=body.comment, properties=properties), call.actor.name)

    def work(s: Session) -> None:
        if s.find(catalog.id, "schema", name) is not None:
            raise SchemaAlreadyExistsError(f"Schema {'.'.join((*call.names, name))} already exists")
        s.insert(row)

    if isinstance(provider, SupportsFilesets):
        await connector.call(provider.make_folders, _folders(connector, catalog, row))
    await lake.store.write(work)
    return Result(a.SchemaAnswer(schema=show(row)))


def _folders(connector: Connector, catalog: Row, schema: Row) -> list[str]:
    found = locations.of_schema(catalog.body.properties, schema.body.properties, schema.name)
    for folder in found:
        connector.provider.context.check_local("properties.location", folder)
    return found


@verb(SCHEMA, "load", privilege="use_schema", answer=a.SchemaAnswer, statuses=(404, 405, 409), cached=True)
async def load_schema(lake: Lake, call: Call) -> Result:
    """Load a schema."""
    catalog, connector = await open_catalog(lake, call)
    provider, token = connector.provider, connector.provider.token()
    if isinstance(provider, SupportsSchemas):
        found: Found[Schema] = await connector.call(provider.load_schema, split_schema(call.names[2]))
        schema = await keeping.with_audit(lake, catalog.id, join_schema(split_schema(call.names[2])), found)
        return Result(a.SchemaAnswer(schema=schema), provider, token)
    return Result(a.SchemaAnswer(schema=show(await managed_schema(lake, call, catalog))))


@verb(SCHEMA, "alter", privilege="alter_schema", answer=a.SchemaAnswer, body=a.AlterSchema, statuses=(404, 405, 409))
async def alter_schema(lake: Lake, call: Call) -> Result:
    """Change a schema's properties."""
    catalog, connector = await open_catalog(lake, call)
    provider, name, updates = connector.provider, call.names[2], call.body.updates
    check_property_changes(provider.schema_properties, updates)
    if isinstance(provider, SupportsSchemas):
        async with connector.turn(name):
            found = await retrying(lambda: connector.call(provider.alter_schema, split_schema(name), updates))
            known = await lake.store.read(lambda s: s.kept(catalog.id, "schema", name))
            schema = await keeping.remember_change(lake, catalog.id, name, found, call.actor.name, known)
        return Result(a.SchemaAnswer(schema=schema))

    def work(s: Session) -> Row:
        before = s.find(catalog.id, "schema", name, lock=True)
        if before is None:
            raise no_such_schema(call.names, name)
        properties = with_properties(before.body.properties, updates)
        provider.schema_properties.check_change(before.body.properties, properties)
        after = before.changed(call.actor.name, body=msgspec.structs.replace(before.body, properties=properties))
        s.update(after)
        return after

    return Result(a.SchemaAnswer(schema=show(await lake.store.write(work))))


def with_properties(before: dict[str, str], updates: list[c.SchemaChange]) -> dict[str, str]:
    """The properties after the changes."""
    after = dict(before)
    for update in updates:
        if isinstance(update, c.SetProperty):
            after[update.property] = update.value
        else:
            after.pop(update.property, None)
    return after


def check_property_changes(spec: Properties, updates: list[c.Change]) -> None:
    """Refuse changes of immutable and reserved properties before the backend is asked."""
    for update in updates:
        if isinstance(update, c.SetProperty | c.SetTableProperty):
            spec.check_change({}, {update.property: update.value})
        elif isinstance(update, c.RemoveProperty):
            spec.check_removal(update.property)


@verb(SCHEMA, "drop", privilege="drop_schema", answer=a.DroppedAnswer, query=a.CascadeQuery, statuses=(404, 405, 409))
async def drop_schema(lake: Lake, call: Call) -> Result:
    """Drop a schema; with `cascade` also what is in it."""
    catalog, connector = await open_catalog(lake, call)
    provider, name, cascade = connector.provider, call.names[2], call.query.cascade
    if isinstance(provider, SupportsSchemas):
        noted: list[str] = []
        deleted.set(noted)
        dropped = await keeping.forget_schema_while(
            lake, catalog.id, name, lambda: connector.call(provider.drop_schema, split_schema(name), cascade),
            cascade=cascade,
        )  # fmt: skip
        if noted:
            call.details["deleted"] = noted
        return Result(a.DroppedAnswer(dropped=dropped))
    return Result(a.DroppedAnswer(dropped=await _drop_managed(lake, call, catalog, connector, cascade)))


async def _drop_managed(lake: Lake, call: Call, catalog: Row, connector: Connector, cascade: bool) -> bool:
    name = call.names[2]
    row = await lake.store.read(lambda s: s.find(catalog.id, "schema", name))
    if row is None:
        return False
    if cascade:
        await remove_filesets(lake, call.names[0], catalog, row.id)

    def work(s: Session) -> bool:
        current = s.find(catalog.id, "schema", name, lock=True)
        if current is None:
            return False
        if s.count_children(current.id):
            raise NonEmptySchemaError(f"Schema {'.'.join(call.names)} is not empty: drop what is in it, or use cascade")
        s.delete(current.id)
        return True

    dropped = await lake.store.write(work)
    if dropped and isinstance(connector.provider, SupportsFilesets):
        await connector.call(connector.provider.remove_empty_folders, _folders(connector, catalog, row))
    return dropped
