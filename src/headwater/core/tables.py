"""The verbs of tables."""

from __future__ import annotations

from headwater.catalogs.base import Found, NewTable, Provider, SupportsTables
from headwater.core import answers as a
from headwater.core import keeping
from headwater.core.lake import Lake
from headwater.core.operation import Call, Result
from headwater.core.retrying import retrying
from headwater.core.schemas import check_property_changes, open_catalog
from headwater.core.verbs import TABLE, verb
from headwater.model import changes as c
from headwater.model.errors import IllegalArgumentError
from headwater.model.names import NameIdentifier, check_new_name, split_schema
from headwater.model.tables import Table, check_table
from headwater.store.rows import Kept

_PRIVILEGES = {"SELECT_TABLE", "MODIFY_TABLE"}


@verb(TABLE, "list", privilege="use_table", answer=a.IdentifiersAnswer, query=a.ListQuery,
      statuses=(404, 405, 409), cached=True)  # fmt: skip
async def list_tables(lake: Lake, call: Call) -> Result:
    """List a schema's tables."""
    _, connector = await open_catalog(lake, call)
    provider = connector.supporting(SupportsTables, "tables")  # type: ignore[type-abstract]
    token, page = connector.provider.token(), call.query.page()
    names = await connector.call(provider.list_tables, split_schema(call.names[2]), page)
    more = a.next_token(names, page)
    names = names[: page.limit]
    answer = a.IdentifiersAnswer(identifiers=[NameIdentifier(call.names, n) for n in names], next_page_token=more)
    return Result(answer, connector.provider, token, names=names, field="identifiers")


@verb(TABLE, "create", privilege="create_table", answer=a.TableAnswer, body=a.CreateTable, statuses=(404, 405, 409))
async def create_table(lake: Lake, call: Call) -> Result:
    """Create a table."""
    body: a.CreateTable = call.body
    name = check_new_name("table", body.name)
    new = NewTable(
        name, body.columns or [], body.comment, body.properties or {}, body.partitioning or [], body.distribution,
        body.sort_orders or [], body.indexes or [],
    )  # fmt: skip
    check_table(new.columns, new.partitioning, new.distribution, new.sort_orders, new.indexes)
    catalog, connector = await open_catalog(lake, call)
    provider = connector.supporting(SupportsTables, "tables")  # type: ignore[type-abstract]
    new.name = name = connector.provider.fold(name)
    connector.provider.check_name("table", name)
    connector.provider.table_properties.check_new(new.properties)
    found: Found[Table] = await connector.call(provider.create_table, split_schema(call.names[2]), new)
    path = keeping.table_path(call.names[2], name)
    return Result(a.TableAnswer(table=await keeping.remember_new(lake, catalog.id, path, found, call.actor.name)))


@verb(TABLE, "load", privilege="select_table", answer=a.TableAnswer, query=a.PrivilegesQuery,
      statuses=(404, 405, 409), cached=True)  # fmt: skip
async def load_table(lake: Lake, call: Call) -> Result:
    """Load a table."""
    if call.query.privileges is not None:
        unknown = [p for p in call.query.privileges.split(",") if p.strip().upper() not in _PRIVILEGES]
        if unknown:
            raise IllegalArgumentError(f"privileges: {unknown[0]!r} is not allowed; allowed are {sorted(_PRIVILEGES)}")
    catalog, connector = await open_catalog(lake, call)
    provider = connector.supporting(SupportsTables, "tables")  # type: ignore[type-abstract]
    token = connector.provider.token()
    found: Found[Table] = await connector.call(provider.load_table, split_schema(call.names[2]), call.names[3])
    table = await keeping.with_audit(lake, catalog.id, keeping.table_path(*call.names[2:]), found)
    return Result(a.TableAnswer(table=table), connector.provider, token)


@verb(TABLE, "alter", privilege="modify_table", answer=a.TableAnswer, body=a.AlterTable, statuses=(404, 405, 409))
async def alter_table(lake: Lake, call: Call) -> Result:
    """Change a table: all changes in one commit, or none."""
    updates: list[c.TableChange] = call.body.updates
    _, _, schema, name = call.names
    catalog, connector = await open_catalog(lake, call)
    provider = connector.supporting(SupportsTables, "tables")  # type: ignore[type-abstract]
    check_property_changes(connector.provider.table_properties, list(updates))
    connector.provider.check_changes(updates)
    target = _target(connector.provider, updates, schema, name)

    async def act() -> Found[Table]:
        return await connector.call(provider.alter_table, split_schema(schema), name, updates)

    async def move(known: Kept | None) -> Table:
        found = await retrying(act)
        return await keeping.remember_change(lake, catalog.id, target, found, call.actor.name, known)

    path = keeping.table_path(schema, name)
    async with connector.turn((schema, name)):
        if target != path:
            table = await keeping.forget_while(lake, catalog.id, "table", path, move)
        else:
            table = await move(await lake.store.read(lambda s: s.kept(catalog.id, "table", path)))
    return Result(a.TableAnswer(table=table))


def _target(provider: Provider, updates: list[c.TableChange], schema: str, name: str) -> str:
    """Where the table is after the changes."""
    for update in updates:
        if isinstance(update, c.RenameTable):
            name = provider.fold(check_new_name("table", update.new_name, "updates.newName"))
            provider.check_name("table", name)
            schema = provider.fold(update.new_schema_name or schema)
    return keeping.table_path(schema, name)


@verb(TABLE, "drop", privilege="drop_table", answer=a.DroppedAnswer, query=a.PurgeQuery, statuses=(404, 405, 409))
async def drop_table(lake: Lake, call: Call) -> Result:
    """Drop a table; with `purge` its data too."""
    _, _, schema, name = call.names
    catalog, connector = await open_catalog(lake, call)
    provider = connector.supporting(SupportsTables, "tables")  # type: ignore[type-abstract]
    dropped = await keeping.forget_while(
        lake, catalog.id, "table", keeping.table_path(schema, name),
        lambda _: connector.call(provider.drop_table, split_schema(schema), name, call.query.purge),
    )  # fmt: skip
    return Result(a.DroppedAnswer(dropped=dropped))
