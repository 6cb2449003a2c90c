"""Open catalogs: a provider with its own bounded pool of threads, for as long as the catalog's row stays the same."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import structlog

from headwater.blocking import Pool
from headwater.catalogs.base import Context, Provider
from headwater.catalogs.registry import Providers
from headwater.core.reach import Reach
from headwater.events.metrics import Metrics
from headwater.model.errors import BackendTimeoutError, HeadwaterError, InternalError, UnsupportedOperationError
from headwater.model.properties import DRIVER_PREFIX
from headwater.settings import Settings
from headwater.store.rows import Body, Row
from headwater.store.vault import Vault

log = structlog.get_logger(__name__)

T = TypeVar("T")
P = TypeVar("P")

_SHORTEST_SECRET = 4
_FAREWELL = 2.0
"""Seconds between looks at a catalog that was replaced: it is closed when nobody is in a call to it."""


class Connector:
    """One open catalog."""

    def __init__(self, name: str, provider: Provider, pool: Pool, metrics: Metrics, hidden: Mapping[str, str]) -> None:
        self.name, self.provider = name, provider
        self.made_of: tuple[object, ...] = ()
        self._pool, self._metrics = pool, metrics
        self._secrets = [v for v in hidden.values() if len(v) >= _SHORTEST_SECRET]
        self._locks: weakref.WeakValueDictionary[Hashable, asyncio.Lock] = weakref.WeakValueDictionary()

    def supporting(self, protocol: type[P], what: str) -> P:
        """The provider, if it can do that."""
        if not isinstance(self.provider, protocol):
            raise UnsupportedOperationError(f"Catalog {self.name} ({self.provider.name}) does not support {what}")
        return self.provider

    async def call(self, fn: Callable[..., T], *args: Any) -> T:
        """Call a method of the provider in the catalog's pool; an error never carries one of the catalog's secrets."""
        begun = time.perf_counter()
        outcome = "ok"
        try:
            return await self._pool.call(fn, *args)
        except HeadwaterError as e:
            outcome = e.type
            raise type(e)(self.scrub(e.message)) from None
        except Exception as e:  # noqa: BLE001 - whatever a driver raises becomes one clear error
            outcome = type(e).__name__
            what = getattr(fn, "__name__", "call")
            log.error(
                "backend call failed", catalog=self.name, operation=what, error=outcome, reason=self.scrub(str(e))
            )
            raise InternalError(f"Catalog {self.name}: {what} failed: {self.scrub(str(e)) or outcome}") from None
        finally:
            labels = (self.name, self.provider.name, getattr(fn, "__name__", "call"), outcome)
            self._metrics.backend_calls.observe(labels, time.perf_counter() - begun)

    def scrub(self, text: str) -> str:
        """The text without the catalog's secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator[None]:
        """Changes of one object take turns inside this process; who waits for too long is told, and does nothing."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        try:
            async with asyncio.timeout(self._pool.timeout):
                await lock.acquire()
        except TimeoutError:
            raise BackendTimeoutError(
                f"Catalog {self.name}: other changes of the same object took all of {self._pool.timeout:g} seconds; "
                "nothing was changed"
            ) from None
        try:
            yield
        finally:
            lock.release()

    @property
    def busy(self) -> bool:
        """A call is under way or waits."""
        return self._pool.running > 0 or self._pool.queued > 0

    def close(self) -> None:
        """Let go of the backend. Whoever still has this connector may use it: it connects anew then."""
        self._pool.close()
        self.provider.close()


class Connectors:
    """All open catalogs, by id and version of their rows."""

    def __init__(
        self, settings: Settings, vault: Vault, providers: Providers, metrics: Metrics, many_processes: bool
    ) -> None:
        self._settings, self._vault, self._providers, self._metrics = settings, vault, providers, metrics
        self._many = many_processes
        self._reach = Reach(settings)
        self._open: dict[int, tuple[Hashable, Connector]] = {}
        self._retired: list[Connector] = []

    def get(self, metalake: str, row: Row) -> Connector:
        """The open catalog of a row; opened, or opened anew after a change, without any I/O."""
        known = self._open.get(row.id)
        if known is not None and known[0] == row.version:
            return known[1]
        name, body = f"{metalake}.{row.name}", row.body
        made_of = (name, body.provider, self._effective(body), row.secrets)
        if known is not None and known[1].made_of == made_of:
            self._open[row.id] = (row.version, known[1])  # only something changed that the backend does not care about
            return known[1]
        self.forget(row.id)
        hidden = self._vault.open(row.id, row.secrets)
        connector = self.open(name, body.provider, body.properties, hidden, row.id)
        connector.made_of = made_of
        self._open[row.id] = (row.version, connector)
        return connector

    def open(
        self, name: str, provider: str, properties: Mapping[str, str], hidden: Mapping[str, str], object_id: int
    ) -> Connector:
        """A catalog with these properties. Checks them; does no I/O."""
        cls = self._providers.get(provider)
        limits = self._settings.catalogs
        everything = {**properties, **hidden}
        context = Context(
            name=name,
            properties={k: self._reach.resolve(f"properties.{k}", v) for k, v in everything.items()},
            scratch=self._settings.data_folder / "catalogs" / str(object_id),
            timeout=limits.timeout,
            many_processes=self._many,
            check_local=self._reach.check_local,
            check_removable=self._reach.check_removable,
            allowed_classes=frozenset(limits.custom_classes),
        )
        resolved = {k: v for k, v in context.properties.items() if k in hidden or v != everything[k]}
        pool = Pool(f"catalog {name}", limits.threads, limits.waiting, limits.timeout)
        return Connector(name, cls(context), pool, self._metrics, resolved)

    def forget(self, row_id: int) -> None:
        """The catalog is gone, or another one now. Who works with it still may finish: it is closed after a while."""
        known = self._open.pop(row_id, None)
        if known is not None:
            self._retired.append(known[1])
            asyncio.get_running_loop().call_later(_FAREWELL, self._close_idle, known[1])

    def _close_idle(self, connector: Connector) -> None:
        if connector.busy:
            asyncio.get_running_loop().call_later(_FAREWELL, self._close_idle, connector)
        elif connector in self._retired:
            self._retired.remove(connector)
            connector.close()

    def _effective(self, body: Body) -> dict[str, str]:
        """The properties that a provider may look at: others can change without a new connection."""
        spec = self._providers.get(body.provider).catalog_properties
        return {k: v for k, v in body.properties.items() if spec.get(k) or k.startswith(DRIVER_PREFIX)}

    def close(self) -> None:
        """Close all."""
        for connector in (*(c for _, c in self._open.values()), *self._retired):
            connector.close()
        self._open.clear()
        self._retired.clear()
