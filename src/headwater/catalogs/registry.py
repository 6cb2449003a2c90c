"""Finds the installed providers by the entry point group `headwater.catalogs`."""

from __future__ import annotations

import difflib
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from headwater.catalogs.base import Provider
from headwater.model.errors import IllegalArgumentError

GROUP = "headwater.catalogs"
ALIASES = {"hadoop": "fileset"}
"""Names that older clients send."""


class Providers:
    """The installed providers; each is imported when it is first asked for."""

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        return {e.name: e for e in entry_points(group=GROUP)}

    def names(self) -> list[str]:
        """What can be given as `provider`."""
        return sorted(self._entries)

    def get(self, name: str) -> type[Provider]:
        """The provider of that name, or an error that says which there are."""
        name = ALIASES.get(name, name)
        entry = self._entries.get(name)
        if entry is None:
            near = difflib.get_close_matches(name, self.names(), n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise IllegalArgumentError(
                f"provider: unknown provider {name!r}; {hint}allowed are {', '.join(self.names())}"
            )
        loaded: type[Provider] = entry.load()
        return loaded
