"""What an engine is told about a catalog, and the sheet on which that is written down."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import ClassVar

from headwater.model.errors import UnsupportedOperationError
from headwater.model.properties import DRIVER_PREFIX, ENGINE_PREFIXES
from headwater.model.wire import Wire, always

SERVER_ONLY = (
    "in-use", "metastore-type", "catalog-backend", "cloud.name", "cloud.region-code", "credential-providers",
    "client.pool-size", "client.pool-cache.eviction-interval-ms", "impersonation-enable", "authentication.type",
    "authentication.impersonation-enable",
)  # fmt: skip
"""Properties that say how the server itself works, or that every mapping has seen before it begins."""


SERVERS_OWN = {
    "memory": "lives inside the server's own process",
    "custom": "is a Python class that only the server has",
}
"""Iceberg backends that no engine can reach, and why."""


class Setting(Wire):
    """One line of an engine's configuration."""

    key: str
    value: str
    documentation: str | None = None
    """The page on which the engine's makers explain the key."""
    comment: str | None = None


class Secret(Wire):
    """A value that is not shown: the engine finds it in its environment."""

    name: str
    """The environment variable."""
    property: str
    """The catalog's property that holds the value."""


class EngineSettings(Wire):
    """All that an engine must be told to reach a catalog and its data."""

    engine: str
    catalog: str
    """The name under which the engine knows it."""
    connector: str | None = None
    """Trino's name of the connector."""
    settings: list[Setting] = always(list)
    secrets: list[Secret] = always(list)
    notes: list[str] = always(list)
    files: dict[str, str] = always(dict)
    """Further files by name, where settings alone don't do."""

    def value(self, key: str) -> str | None:
        """The value of a setting."""
        return next((s.value for s in self.settings if s.key == key), None)


class Source:
    """A catalog's properties, and which of them have been looked at: what nobody took is not forgotten."""

    def __init__(self, name: str, provider: str, properties: Mapping[str, str], hidden: Collection[str]) -> None:
        self.name, self.provider = name, provider
        self._shown = {k: v for k, v in properties.items() if k not in hidden}
        self._hidden = frozenset(hidden)
        self._taken = set(SERVER_ONLY)
        self.unsaid: set[str] = set()
        """What was asked for as a plain value and is a secret."""

    def take(self, key: str, default: str | None = None) -> str | None:
        """A property that is no secret; from now on it counts as dealt with."""
        self._taken.add(key)
        if key in self._hidden:
            self.unsaid.add(key)
        return self._shown.get(key, default)

    def choice(self, key: str, default: str = "") -> str:
        """A property whose case does not matter."""
        return (self.take(key) or default).lower()

    def has(self, *keys: str) -> bool:
        """Whether any of these is given, as a secret or not."""
        return any(k in self._shown or k in self._hidden for k in keys)

    def is_hidden(self, key: str) -> bool:
        """Whether it is given and secret."""
        return key in self._hidden

    def deal_with(self, *keys: str) -> None:
        """What these say is taken care of."""
        self._taken.update(keys)

    def below(self, prefix: str) -> list[str]:
        """The given keys with a prefix, in the order of the alphabet."""
        return sorted(k for k in (*self._shown, *self._hidden) if k.startswith(prefix))

    def left(self) -> list[str]:
        """What nobody took, apart from keys for other engines."""
        return [k for k in self.below("") if k not in self._taken and not k.startswith(ENGINE_PREFIXES[:3])]


class Sheet:
    """Settings as they are written down; one subclass per engine knows how the engine writes a secret."""

    engine: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, source: Source) -> None:
        self.source = source
        self.catalog = source.name
        self.connector: str | None = None
        self._settings: dict[str, Setting] = {}
        self._secrets: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._notes: list[str] = []
        self._files: dict[str, str] = {}

    def placeholder(self, name: str) -> str:
        """How this engine refers to an environment variable."""
        return f"${{{name}}}"

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(self, key: str, value: str | None, documentation: str | None, comment: str | None = None) -> None:
        """One setting, if it has a value."""
        if value is not None:
            self._settings[key] = Setting(key=key, value=value, documentation=documentation, comment=comment)

    def copy(self, prop: str, key: str, documentation: str, comment: str | None = None) -> None:
        """A property under the engine's own name, if it is given; a secret by its placeholder."""
        self.add(key, self.value(prop), documentation, comment)

    def value(self, prop: str) -> str | None:
        """A property's value, or the placeholder of a secret."""
        if not self.source.is_hidden(prop):
            return self.source.take(prop)
        return self.placeholder(self.secret(prop))

    def secret(self, prop: str, name: str | None = None) -> str:
        """The environment variable that holds a secret; `name` says which, where the engine leaves no choice."""
        self.source.deal_with(prop)
        found = self._names.setdefault(prop, name or variable(self.source.name, prop))
        self._secrets[found] = prop
        return found

    def note(self, text: str) -> None:
        """Something to know about the whole, once."""
        if text not in self._notes:
            self._notes.append(text)

    def cannot(self, why: str, *props: str) -> None:
        """These properties, as far as they are given, can't be said to this engine: say so, and why."""
        self.source.deal_with(*props)
        given = [p for p in props if self.source.has(p)]
        if given:
            self.note(f"{', '.join(given)}: {why}")

    def has(self, key: str) -> bool:
        """Whether a setting is written down."""
        return key in self._settings

    def filters(self) -> None:
        """What hides tables in Headwater hides nothing from an engine."""
        why = f"it holds in Headwater; {self.title} itself sees all tables of the metastore"
        for key in ("table-type-filter", "table-format-filter"):
            if self.source.choice(key, "all") != "all":
                self.note(f"{key}: {why}")
        if self.source.choice("list-all-tables", "true") == "false":
            self.note(f"list-all-tables: {why}")

    def file(self, name: str, text: str) -> None:
        """A file beside the settings."""
        self._files[name] = text

    def refuse(self, why: str) -> UnsupportedOperationError:
        """The error for a catalog that this engine can't have."""
        return UnsupportedOperationError(f"Catalog {self.source.name}: {self.title} can't use it: {why}")

    # --- the end ---------------------------------------------------------------------------------------------------

    def finish(self, passed: Callable[[str], str] = lambda key: key) -> EngineSettings:
        """The whole sheet: keys of the engine's own prefix come in last and win; what is left over is named."""
        prefix = f"{self.engine}.bypass."
        for prop in self.source.below(prefix):
            key = passed(prop.removeprefix(prefix))
            before, after = self._settings.get(key), self.value(prop)
            if before is not None and before.value != after:
                self.note(f"{prop} replaces the value of {key} that follows from the catalog's other properties")
            self.add(key, after, None, f"from {prop}")
        self.cannot(f"no setting of {self.title} is made of it", *self.source.left())
        self.cannot("its value is a secret of the server's: add what follows from it", *sorted(self.source.unsaid))
        in_use = {s.value for s in self._settings.values()}
        texts = "\n".join((*in_use, *self._files.values()))
        secrets = [Secret(name=n, property=p) for n, p in sorted(self._secrets.items()) if self._needed(n, texts)]
        return EngineSettings(
            engine=self.engine,
            catalog=self.catalog,
            connector=self.connector,
            settings=list(self._settings.values()),
            secrets=secrets,
            notes=self._notes,
            files=self._files,
        )

    def _needed(self, name: str, texts: str) -> bool:
        """A variable that the engine looks for by itself stands in no setting."""
        return name.startswith("AWS_") or self.placeholder(name) in texts


def variable(catalog: str, prop: str) -> str:
    """The name of the environment variable for a catalog's secret.

    >>> variable("my-glue", "aws-secret-access-key")
    'HEADWATER_MY_GLUE_AWS_SECRET_ACCESS_KEY'
    """
    key = prop.removeprefix(DRIVER_PREFIX)
    return re.sub(r"[^A-Z0-9]+", "_", f"HEADWATER_{catalog}_{key}".upper())
