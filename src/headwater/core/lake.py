"""What the verbs work with: store, open catalogs, policy, bus and settings of one server process."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, TypeVar

from headwater.access import AllowAll, Policy
from headwater.catalogs.registry import Providers
from headwater.core.connectors import Connectors
from headwater.events import GROUP, Bus, Listener
from headwater.events.metrics import Metrics
from headwater.model.errors import (
    CatalogNotInUseError,
    HeadwaterError,
    MetalakeNotInUseError,
    NoSuchCatalogError,
    NoSuchMetalakeError,
)
from headwater.settings import Settings
from headwater.store.base import Store
from headwater.store.rows import ROOT_ID, Row
from headwater.store.session import Session
from headwater.store.vault import Vault

if TYPE_CHECKING:
    from headwater.core.operation import Answers

T = TypeVar("T")


class Lake:
    """One server process's view of everything."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        vault: Vault,
        *,
        answers: Answers,
        policy: Policy | None = None,
        listeners: Sequence[Listener] | None = None,
    ) -> None:
        self.settings, self.store, self.vault, self.answers = settings, store, vault, answers
        self.policy: Policy = policy or AllowAll()
        self.metrics = Metrics(settings)
        found = [e.load()(settings) for e in entry_points(group=GROUP)] if listeners is None else listeners
        self.bus = Bus([self.metrics, *found])
        self.providers = Providers()
        self.connectors = Connectors(settings, vault, self.providers, self.metrics, store.many_processes)
        self._rows: dict[tuple[str, ...], Row] = {}
        self._rows_token: Hashable = None

    async def metalake(self, name: str, *, in_use: bool = True) -> Row:
        """The metalake's row; disabled is an error unless `in_use` is False."""
        row = (await self._chain((name,)))[0]
        if in_use:
            require_in_use(row)
        return row

    async def catalog(self, metalake: str, name: str, *, in_use: bool = True) -> Row:
        """The catalog's row, inside a metalake that is in use."""
        above, row = await self._chain((metalake, name))
        require_in_use(above)
        if in_use:
            require_in_use(row)
        return row

    async def folded(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names with those below the catalog as the catalog keeps them: in lower case, where it knows no other."""
        try:
            provider = self.connectors.get(names[0], await self.catalog(names[0], names[1])).provider
        except HeadwaterError:
            return names  # whoever goes on with them meets the same error, after it was seen whether they may
        return (*names[:2], *map(provider.fold, names[2:4]), *names[4:])

    async def _chain(self, names: tuple[str, ...]) -> list[Row]:
        token = await self.store.token()
        if token != self._rows_token:
            self._rows, self._rows_token = {}, token
        keys = [names[: i + 1] for i in range(len(names))]
        known = [self._rows[k] for k in keys if k in self._rows]
        if len(known) == len(names):
            return known
        rows = await self.store.read(chain_of(names))
        if token == self._rows_token:
            self._rows.update(zip(keys, rows, strict=False))
        return require_chain(rows, names)

    async def close(self) -> None:
        """End everything in order."""
        self.connectors.close()
        await self.bus.close()
        await self.store.close()


_KINDS = ("metalake", "catalog")


def chain_of(names: tuple[str, ...]) -> Callable[[Session], list[Row]]:
    """A question for the rows of a metalake and a catalog, as far as they exist."""
    return lambda s: s.chain(ROOT_ID, zip(_KINDS, names, strict=False))


def require_chain(rows: list[Row], names: tuple[str, ...]) -> list[Row]:
    """All rows of the chain, or an error that names the first one missing."""
    if len(rows) == 0:
        raise NoSuchMetalakeError(f"Metalake {names[0]} does not exist")
    if len(rows) < len(names):
        raise NoSuchCatalogError(f"Catalog {'.'.join(names[:2])} does not exist")
    return rows


def require_in_use(row: Row) -> None:
    """Refuse to work with, or below, what is disabled."""
    if not row.in_use:
        if row.kind == "metalake":
            raise MetalakeNotInUseError(f"Metalake {row.name} is not in use")
        raise CatalogNotInUseError(f"Catalog {row.name} is not in use")
