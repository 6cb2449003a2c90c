"""The verbs of catalogs."""

from __future__ import annotations

import msgspec

from headwater.catalogs.base import Provider, SupportsSchemas
from headwater.catalogs.registry import ALIASES
from headwater.core import answers as a
from headwater.core.filesets import remove_filesets
from headwater.core.lake import Lake, require_in_use
from headwater.core.metalakes import apply, lock_metalake, page_of
from headwater.core.operation import Call, Result
from headwater.core.verbs import CATALOG, Answer, verb
from headwater.model import changes as c
from headwater.model.errors import (
    CatalogAlreadyExistsError,
    CatalogInUseError,
    ConnectionFailedError,
    HeadwaterError,
    IllegalArgumentError,
    NonEmptyCatalogError,
    NoSuchCatalogError,
    UnsupportedOperationError,
)
from headwater.model.names import NameIdentifier, check_new_name
from headwater.model.nouns import Catalog, CatalogType
from headwater.model.properties import Kind, Properties, Property
from headwater.store.rows import ROOT_ID, Body, Row, new_row
from headwater.store.session import Session

COMMON = (
    Property(
        name="in-use",
        description="Whether the catalog is enabled; changed by enabling and disabling it.",
        kind=Kind.BOOLEAN,
        reserved=True,
        default="true",
    ),
    Property(name="cloud.name", description="The cloud it runs in, for your own information."),
    Property(name="cloud.region-code", description="The region it runs in, for your own information."),
    Property(name="credential-providers", description="Which kinds of credentials are handed out for this catalog."),
)
"""Properties that every catalog has."""


def declared(provider: type[Provider]) -> Properties:
    """The properties of catalogs of a provider: its own and the common ones."""
    return Properties((*provider.catalog_properties.declared, *COMMON))


def show(row: Row) -> Catalog:
    """The catalog as it is served: without what is hidden."""
    properties = {**row.body.properties, "in-use": "true" if row.in_use else "false"}
    return Catalog(
        name=row.name,
        type=CatalogType(row.body.type),
        provider=row.body.provider,
        comment=row.body.comment,
        properties=properties,
        audit=row.audit,
    )


def find_provider(lake: Lake, body: a.CreateCatalog) -> tuple[type[Provider], str]:
    """The provider that a request means, and its name; type and provider must fit."""
    name = body.provider
    if name is None:
        if body.type is None:
            raise IllegalArgumentError(f"provider: required; allowed are {', '.join(lake.providers.names())}")
        fitting = [n for n in lake.providers.names() if lake.providers.get(n).type is body.type]
        if body.type.value not in fitting:
            allowed = ", ".join(fitting) or "none for this type"
            raise IllegalArgumentError(f"provider: required; allowed for type {body.type.value!r} are {allowed}")
        name = body.type.value
    provider = lake.providers.get(name)
    if body.type is not None and body.type is not provider.type:
        raise IllegalArgumentError(
            f"type: {body.type.value!r} does not fit provider {name!r}, which is {provider.type.value!r}"
        )
    return provider, ALIASES.get(name, name)


def lock_catalog(s: Session, metalake: str, name: str) -> Row:
    """The catalog's row, held until the transaction ends."""
    above = s.find(ROOT_ID, "metalake", metalake)
    if above is None:
        from headwater.core.metalakes import no_such_metalake

        raise no_such_metalake(metalake)
    require_in_use(above)
    row = s.find(above.id, "catalog", name, lock=True)
    if row is None:
        raise NoSuchCatalogError(f"Catalog {metalake}.{name} does not exist")
    return row


@verb(CATALOG, "list", privilege="use_catalog", answer=a.IdentifiersAnswer,
      other_answer=a.CatalogsAnswer, query=a.DetailsQuery,
      statuses=(404, 409), cached=True)  # fmt: skip
async def list_catalogs(lake: Lake, call: Call) -> Result:
    """List a metalake's catalogs; with `details` whole."""
    metalake = await lake.metalake(call.names[0])
    page = call.query.page()
    rows = await lake.store.read(
        lambda s: s.children(metalake.id, "catalog", after=page.after, prefix=page.prefix, limit=page.fetch)
    )
    rows, token = page_of(rows, call.query)
    names = [r.name for r in rows]
    if call.query.details:
        whole = a.CatalogsAnswer(catalogs=[show(r) for r in rows], next_page_token=token)
        return Result(whole, names=names, field="catalogs")
    identifiers = [NameIdentifier(call.names, n) for n in names]
    return Result(a.IdentifiersAnswer(identifiers=identifiers, next_page_token=token), names=names, field="identifiers")


@verb(CATALOG, "create", privilege="create_catalog", answer=a.CatalogAnswer, body=a.CreateCatalog, statuses=(404, 409))
async def create_catalog(lake: Lake, call: Call) -> Result:
    """Create a catalog: register an outside one, or make one that Headwater manages."""
    body: a.CreateCatalog = call.body
    name = check_new_name("catalog", body.name.strip())
    row, warnings = _new_catalog(lake, call, name)

    def work(s: Session) -> None:
        metalake = lock_metalake(s, call.names[0])
        require_in_use(metalake)
        if s.find(metalake.id, "catalog", name) is not None:
            raise CatalogAlreadyExistsError(f"Catalog {call.names[0]}.{name} already exists")
        s.insert(msgspec.structs.replace(row, parent_id=metalake.id))

    await lake.metalake(call.names[0])
    await lake.store.write(work)
    return Result(a.CatalogAnswer(catalog=show(row), warnings=warnings))


def _new_catalog(lake: Lake, call: Call, name: str) -> tuple[Row, list[str]]:
    """The row of a new catalog, its properties checked by the declarations and by the provider itself."""
    body: a.CreateCatalog = call.body
    provider, provider_name = find_provider(lake, body)
    spec = declared(provider)
    given = body.properties or {}
    warnings = spec.check_new(given, strict=True)
    hidden = spec.hidden(given)
    shown = {k: v for k, v in given.items() if k not in hidden}
    content = Body(comment=body.comment, properties=shown, type=provider.type.value, provider=provider_name)
    row = new_row("catalog", ROOT_ID, name, content, call.actor.name)
    lake.connectors.open(f"{call.names[0]}.{name}", provider_name, shown, hidden, row.id).close()
    return msgspec.structs.replace(row, secrets=lake.vault.seal(row.id, hidden)), warnings


@verb(CATALOG, "load", privilege="use_catalog", answer=a.CatalogAnswer, statuses=(404, 409), cached=True)
async def load_catalog(lake: Lake, call: Call) -> Result:
    """Load a catalog."""
    return Result(a.CatalogAnswer(catalog=show(await lake.catalog(*call.names, in_use=False))))


@verb(CATALOG, "alter", privilege="alter_catalog", answer=a.CatalogAnswer, body=a.AlterCatalog, statuses=(404, 409))
async def alter_catalog(lake: Lake, call: Call) -> Result:
    """Change a catalog's name, comment or properties."""

    def work(s: Session) -> tuple[Row, list[str]]:
        before = lock_catalog(s, *call.names)
        require_in_use(before)
        after, warnings = _altered(lake, call, before, call.body.updates)
        if after.name != before.name and s.find(before.parent_id, "catalog", after.name) is not None:
            raise CatalogAlreadyExistsError(f"Catalog {call.names[0]}.{after.name} already exists")
        s.update(after)
        return after, warnings

    row, warnings = await lake.store.write(work)
    return Result(a.CatalogAnswer(catalog=show(row), warnings=warnings))


def _altered(lake: Lake, call: Call, before: Row, updates: list[c.CatalogChange]) -> tuple[Row, list[str]]:
    """The row after the changes, checked like that of a new catalog."""
    spec = declared(lake.providers.get(before.body.provider))
    secrets = lake.vault.open(before.id, before.secrets)
    old = {**before.body.properties, **secrets}
    whole = msgspec.structs.replace(before, body=msgspec.structs.replace(before.body, properties=old))
    after = apply(whole, updates, spec, call.actor.name, "catalog")
    new = after.body.properties
    warnings = spec.check_change(old, new, strict=True)
    hidden = spec.hidden(new)
    shown = {k: v for k, v in new.items() if k not in hidden}
    if new != old:
        lake.connectors.open(f"{call.names[0]}.{after.name}", after.body.provider, shown, hidden, before.id).close()
    body = msgspec.structs.replace(after.body, properties=shown)
    sealed = before.secrets if hidden == secrets else lake.vault.seal(before.id, hidden)
    return msgspec.structs.replace(after, body=body, secrets=sealed), warnings


@verb(CATALOG, "set_in_use", privilege="alter_catalog", answer=Answer, body=a.SetInUse, statuses=(404, 409))
async def set_catalog_in_use(lake: Lake, call: Call) -> Result:
    """Enable or disable a catalog."""

    def work(s: Session) -> None:
        row = lock_catalog(s, *call.names)
        if row.in_use != call.body.in_use:
            s.update(row.changed(call.actor.name, in_use=call.body.in_use))

    await lake.store.write(work)
    return Result(Answer())


@verb(CATALOG, "drop", privilege="drop_catalog", answer=a.DroppedAnswer, query=a.ForceQuery, statuses=(404, 409))
async def drop_catalog(lake: Lake, call: Call) -> Result:
    """Drop a catalog; what an outside catalog holds stays untouched, what Headwater manages goes (with `force`)."""
    metalake = await lake.metalake(call.names[0])
    name, force = call.names[1], call.query.force
    row = await lake.store.read(lambda s: s.find(metalake.id, "catalog", name))
    if row is None:
        return Result(a.DroppedAnswer(dropped=False))
    if force:
        await empty_managed_catalog(lake, call.names[0], row)
    else:
        _require_disabled(row)
        await _require_no_own_schemas(lake, call.names[0], row)

    def work(s: Session) -> list[int]:
        current = s.find(metalake.id, "catalog", name, lock=True)
        if current is None:
            return []
        if not force:
            _require_disabled(current)
            if s.count_children(current.id):
                raise _non_empty(name)
        below = [r.id for r in s.tree(current.id)]
        s.delete_tree(current.id)
        return below

    dropped = await lake.store.write(work)
    for row_id in dropped:
        lake.connectors.forget(row_id)
    return Result(a.DroppedAnswer(dropped=bool(dropped)))


def _require_disabled(row: Row) -> None:
    if row.in_use:
        raise CatalogInUseError(f"Catalog {row.name} is in use: disable it first, or use force")


def _non_empty(name: str) -> NonEmptyCatalogError:
    return NonEmptyCatalogError(f"Catalog {name} has schemas: drop them first, or use force")


async def _require_no_own_schemas(lake: Lake, metalake: str, row: Row) -> None:
    """An outside catalog counts as empty when no schema is left in it that was made through Headwater."""
    ours = await lake.store.read(lambda s: s.kept_names(row.id, "schema"))
    if not ours:
        return
    connector = lake.connectors.get(metalake, row)
    if not isinstance(connector.provider, SupportsSchemas):
        return
    for name in ours:
        try:
            await connector.call(connector.provider.load_schema, tuple(name.split(":")))
        except HeadwaterError as e:
            if e.status == 404:
                continue
        raise _non_empty(row.name)


async def empty_managed_catalog(lake: Lake, metalake: str, row: Row) -> None:
    """Remove what a managed catalog stores outside, before its rows go."""
    if row.body.type == CatalogType.FILESET.value:
        await remove_filesets(lake, metalake, row, row.id)


@verb(CATALOG, "test", privilege="create_catalog", answer=Answer, body=a.CreateCatalog, changes=False,
      event="test_connection", route=("POST", CATALOG.collection + "/testConnection"), statuses=(404, 409))  # fmt: skip
async def test_catalog(lake: Lake, call: Call) -> Result:
    """Try whether a catalog with these properties could be reached, without making it."""
    body: a.CreateCatalog = call.body
    metalake = await lake.metalake(call.names[0])
    name = check_new_name("catalog", body.name.strip())
    if await lake.store.read(lambda s: s.find(metalake.id, "catalog", name)) is not None:
        raise CatalogAlreadyExistsError(f"Catalog {call.names[0]}.{name} already exists")
    provider, provider_name = find_provider(lake, body)
    spec = declared(provider)
    given = body.properties or {}
    spec.check_new(given, strict=True)
    await _try(lake, f"{call.names[0]}.{name}", provider_name, given, spec.hidden(given), 0)
    return Result(Answer())


@verb(CATALOG, "test_existing", privilege="use_catalog", answer=Answer, body=a.TestExisting, body_required=False,
      changes=False, event="test_connection", route=("POST", CATALOG.item + "/testConnection"),
      statuses=(404, 409))  # fmt: skip
async def test_existing_catalog(lake: Lake, call: Call) -> Result:
    """Try whether a catalog can be reached, or could be after some changes, without making them."""
    row = await lake.catalog(*call.names)
    if call.body is not None and call.body.updates:
        row, _ = _altered(lake, call, row, call.body.updates)
    hidden = lake.vault.open(row.id, row.secrets)
    await _try(lake, ".".join(call.names), row.body.provider, row.body.properties, hidden, row.id)
    return Result(Answer())


async def _try(
    lake: Lake, name: str, provider: str, properties: dict[str, str], hidden: dict[str, str], object_id: int
) -> None:
    connector = lake.connectors.open(name, provider, {**properties, **hidden}, hidden, object_id)
    try:
        await connector.call(connector.provider.test)
    except HeadwaterError as e:
        if e.status < 500 or isinstance(e, ConnectionFailedError):
            raise
        raise ConnectionFailedError(e.message) from None
    finally:
        connector.close()


_CREDENTIALS = "/api/metalakes/{metalake}/objects/{objectType}/{fullName}/credentials"


@verb(CATALOG, "credentials", privilege="get_credentials", answer=a.CredentialsAnswer, changes=True,
      event="get_credentials", route=("GET", _CREDENTIALS), statuses=(404, 405, 409))  # fmt: skip
async def get_credentials(lake: Lake, call: Call) -> Result:
    """Hand out a catalog's hidden properties, where the server's configuration allows that at all."""
    if not lake.settings.vend_credentials:
        raise UnsupportedOperationError("This server hands out no credentials: its setting vend-credentials is off")
    metalake, object_type, full_name = call.names
    if object_type.lower() != "catalog":
        raise IllegalArgumentError(f"objectType: {object_type!r} has no credentials; allowed is catalog")
    row = await lake.catalog(metalake, full_name)
    hidden = lake.vault.open(row.id, row.secrets)
    return Result(a.CredentialsAnswer(credentials=_credentials(hidden)))


_FAMILIES = {
    "jdbc-user-password": ("jdbc-user", "jdbc-password"),
    "s3-secret-key": ("s3-access-key-id", "s3-secret-access-key"),
    "oss-secret-key": ("oss-access-key-id", "oss-secret-access-key"),
}


def _credentials(hidden: dict[str, str]) -> list[a.Credential]:
    """The hidden properties in the groups that engines know, and whatever is left in one more."""
    left = dict(hidden)
    found = []
    for name, keys in _FAMILIES.items():
        if all(k in left for k in keys):
            found.append(a.Credential(credential_type=name, credential_info={k: left.pop(k) for k in keys}))
    if left:
        found.append(a.Credential(credential_type="properties", credential_info=left))
    return found
