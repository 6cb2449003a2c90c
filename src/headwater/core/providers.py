"""The verbs of providers: what can be given as `provider`, and which properties each one declares."""

from __future__ import annotations

from headwater.catalogs import base
from headwater.core import answers as a
from headwater.core.catalogs import declared
from headwater.core.lake import Lake
from headwater.core.operation import Call, Result
from headwater.core.verbs import PROVIDER, verb
from headwater.model.errors import IllegalArgumentError, NotFoundError


def show(provider: type[base.Provider]) -> a.ProviderInfo:
    """The provider as it is served."""
    return a.ProviderInfo(
        name=provider.name,
        type=provider.type,
        summary=provider.summary,
        catalog_properties=list(declared(provider).declared),
        schema_properties=list(provider.schema_properties.declared),
        table_properties=list(provider.table_properties.declared),
        fileset_properties=list(provider.fileset_properties.declared),
    )


@verb(PROVIDER, "list", privilege="use_provider", answer=a.ProvidersAnswer, query=a.ListQuery, cached=True)
async def list_providers(lake: Lake, call: Call) -> Result:
    """List the installed providers of catalogs, with the properties that they declare."""
    page = call.query.page()
    names = page.cut(lake.providers.names())
    more, names = a.next_token(names, page), names[: page.limit]
    answer = a.ProvidersAnswer(providers=[show(lake.providers.get(n)) for n in names], next_page_token=more)
    return Result(answer, names=names, field="providers")


@verb(PROVIDER, "load", privilege="use_provider", answer=a.ProviderAnswer, statuses=(404,), cached=True)
async def load_provider(lake: Lake, call: Call) -> Result:
    """Load one provider's declarations."""
    try:
        provider = lake.providers.get(call.names[0])
    except IllegalArgumentError as e:
        raise NotFoundError(e.message) from None
    return Result(a.ProviderAnswer(provider=show(provider)))
