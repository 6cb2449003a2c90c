"""The declaration of a verb: from one of these follow route, OpenAPI, authorisation, checks, audit and event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from headwater.access import Subject
from headwater.model.wire import Wire, always

if TYPE_CHECKING:
    from headwater.core.lake import Lake
    from headwater.core.operation import Call, Result


class Noun(msgspec.Struct, frozen=True):
    """A kind of object and where it lies."""

    name: str
    plural: str
    parent: Noun | None = None

    @property
    def chain(self) -> tuple[Noun, ...]:
        """The nouns that lead here, the outermost first, this one last."""
        return (*(self.parent.chain if self.parent else ()), self)

    @property
    def collection(self) -> str:
        """The route of all objects of this kind."""
        above = f"{self.parent.item}/" if self.parent else "/api/"
        return f"{above}{self.plural}"

    @property
    def item(self) -> str:
        """The route of one object."""
        return f"{self.collection}/{{{self.name}}}"


METALAKE = Noun("metalake", "metalakes")
CATALOG = Noun("catalog", "catalogs", METALAKE)
SCHEMA = Noun("schema", "schemas", CATALOG)
TABLE = Noun("table", "tables", SCHEMA)
PARTITION = Noun("partition", "partitions", TABLE)
FILESET = Noun("fileset", "filesets", SCHEMA)
PROVIDER = Noun("provider", "providers")
ENGINE = Noun("engine", "engines", CATALOG)
"""What reads a catalog's data: no object that is kept, but a view of the catalog."""


class Answer(Wire, kw_only=True):
    """What every success says."""

    code: int = always(int)


class NoBody(Wire):
    """The verb takes no body."""


class NoQuery(Wire):
    """The verb takes no query parameters."""


Act = Callable[["Lake", "Call"], Awaitable["Result"]]

_ROUTES: dict[str, tuple[str, str]] = {
    "list": ("GET", "collection"),
    "create": ("POST", "collection"),
    "load": ("GET", "item"),
    "alter": ("PUT", "item"),
    "set_in_use": ("PATCH", "item"),
    "drop": ("DELETE", "item"),
}
"""Where a verb of this name is found, unless its declaration says otherwise."""


class Verb(msgspec.Struct, frozen=True, eq=False):
    """One thing that can be done to one kind of object."""

    noun: Noun
    action: str
    summary: str
    privilege: str
    event: str
    method: str
    path: str
    changes: bool
    body: type[Any]
    body_required: bool
    query: type[Any]
    answer: type[Answer]
    statuses: tuple[int, ...]
    """Error statuses of its own, beyond those that every verb may answer."""
    act: Act
    on_collection: bool
    """The verb is about what lies in the parent, not about one object."""
    by_full_name: bool
    """The path names the object by type and full name."""
    other_answer: type[Answer] | None
    """What it answers when asked for details."""
    cached: bool = False
    """The answer may be kept as long as the store's token (and the backend's) stay the same."""

    @property
    def name(self) -> str:
        """`table.load`."""
        return f"{self.noun.name}.{self.action}"

    def subject(self, names: tuple[str, ...]) -> Subject:
        """What the policy is asked about: the object, or the parent whose collection it is."""
        if self.on_collection:
            return Subject(self.noun.parent.name if self.noun.parent else "server", names)
        if self.by_full_name:
            metalake, object_type, full_name = names
            return Subject(object_type.lower(), (metalake, *full_name.split(".")))
        return Subject(self.noun.name, names)


VERBS: dict[str, Verb] = {}
"""Every verb by name, filled by the declarations when `headwater.core` is imported."""

F = TypeVar("F", bound=Act)


def verb(
    noun: Noun,
    action: str,
    *,
    privilege: str,
    answer: type[Answer],
    changes: bool | None = None,
    event: str | None = None,
    route: tuple[str, str] | None = None,
    body: type[Any] = NoBody,
    body_required: bool = True,
    query: type[Any] = NoQuery,
    statuses: tuple[int, ...] = (),
    other_answer: type[Answer] | None = None,
    cached: bool = False,
) -> Callable[[F], F]:
    """Declare the decorated function as a verb."""

    def declare(act: F) -> F:
        method, path = route or _ROUTES[action]
        path = {"collection": noun.collection, "item": noun.item}.get(path, path)
        declared = Verb(
            noun=noun,
            action=action,
            summary=(act.__doc__ or "").strip().split("\n")[0],
            privilege=privilege,
            event=event or f"{action}_{noun.name}",
            method=method,
            path=path,
            changes=method != "GET" if changes is None else changes,
            body=body,
            body_required=body_required,
            query=query,
            answer=answer,
            statuses=statuses,
            act=act,
            on_collection="{" + noun.name + "}" not in path and "{fullName}" not in path,
            other_answer=other_answer,
            by_full_name="{fullName}" in path,
            cached=cached,
        )
        if declared.name in VERBS:
            raise ValueError(f"{declared.name} is declared twice")
        VERBS[declared.name] = declared
        return act

    return declare
