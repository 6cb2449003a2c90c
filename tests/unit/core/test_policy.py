"""Every verb asks the policy first; behind a refusal nothing happens but its record."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import falcon.testing
import pytest

from headwater.access import Actor, Subject
from headwater.core.all import VERBS
from headwater.core.lake import Lake
from headwater.core.operation import Call, Encoded, operate
from headwater.core.verbs import Verb
from headwater.events import Bus, Event
from headwater.model import codec
from headwater.model.errors import ForbiddenError, HeadwaterError, InternalError
from headwater.server.app import Application
from headwater.server.assembly import open_lake, prepare_store
from headwater.settings import Settings, load

FIELD = re.compile(r"\{(\w+)\}")
NAMES = {"objectType": "catalog", "fullName": "ice", "provider": "fileset", "engine": "trino"}
ALICE = Actor("alice", "10.0.0.1")
# Partitions are no objects of the policy's: who may read a table may see all of its partitions.
LISTS = sorted(name for name, verb in VERBS.items() if verb.action == "list" and verb.noun.name != "partition")


class Deny:
    """Refuses; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Actor, str, Subject]] = []
        self.shown: list[tuple[Actor, str, Subject, list[str]]] = []

    async def allows(self, actor: Actor, privilege: str, subject: Subject) -> bool:
        self.asked.append((actor, privilege, subject))
        return False

    async def visible(self, actor: Actor, privilege: str, parent: Subject, names: Sequence[str]) -> Sequence[str]:
        self.shown.append((actor, privilege, parent, list(names)))
        return []


class Show(Deny):
    """Allows all, and shows those names that a rule likes; bob sees none."""

    def __init__(self, rule: Callable[[str], bool] = bool) -> None:
        super().__init__()
        self.rule = rule

    async def allows(self, actor: Actor, privilege: str, subject: Subject) -> bool:
        await super().allows(actor, privilege, subject)
        return True

    async def visible(self, actor: Actor, privilege: str, parent: Subject, names: Sequence[str]) -> Sequence[str]:
        await super().visible(actor, privilege, parent, names)
        return [n for n in names if self.rule(n) and actor.name != "bob"]


class Broken(Deny):
    """Can't decide."""

    async def allows(self, actor: Actor, privilege: str, subject: Subject) -> bool:
        raise RuntimeError("the directory is away")


class Listening:
    """Remembers every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def handle(self, event: Event) -> Awaitable[None] | None:
        self.events.append(event)
        return None

    async def close(self) -> None:
        """Nothing to do."""


class Tripwire:
    """Stands for what may not be touched."""

    many_processes = False

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was used behind a refusal")


def settings(folder: Path) -> Settings:
    return load(flags={"data": str(folder / "data"), "vend-credentials": True})


@asynccontextmanager
async def lake_with(policy: Deny, folder: Path) -> AsyncIterator[Lake]:
    prepare_store(settings(folder))
    lake = open_lake(settings(folder), policy=policy)
    try:
        yield lake
    finally:
        await lake.close()


def call_of(verb: Verb, actor: Actor = ALICE, body: Any = None, query: str = "", **names: str) -> Call:
    values = tuple(names.get(f, NAMES.get(f, f)) for f in FIELD.findall(verb.path))
    raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    return Call(verb, values, actor, "r1", raw, query)


def subject_of(verb: Verb) -> Subject:
    """Worked out from the route: the object that its last name stands for."""
    fields = FIELD.findall(verb.path)
    if fields and fields[-1] == "fullName":
        return Subject("catalog", ("metalake", "ice"))
    return Subject(fields[-1] if fields else "server", tuple(NAMES.get(f, f) for f in fields))


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


@pytest.fixture
def nothing_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """No body is looked at; the rest is the tripwires' business."""
    monkeypatch.setattr(codec, "decode_body", lambda *_: pytest.fail("the body was decoded"))


@pytest.mark.usefixtures("nothing_is_called")
@pytest.mark.parametrize("name", sorted(VERBS))
@pytest.mark.parametrize("policy", [Deny, Broken])
def test_nothing_happens_behind_a_refusal(name: str, policy: type[Deny], tmp_path: Path) -> None:
    verb, judge, listening = VERBS[name], policy(), Listening()

    async def work() -> None:
        async with lake_with(judge, tmp_path) as lake:
            store, lake.store = lake.store, Tripwire()
            kept = lake.connectors, lake.providers, lake.answers, lake.vault
            lake.connectors = lake.providers = lake.answers = lake.vault = Tripwire()  # type: ignore[assignment]
            lake.bus = Bus([listening])
            expected = ForbiddenError if policy is Deny else InternalError
            with pytest.raises(expected) as found:
                await operate(lake, call_of(verb, body=b'{"\xff not JSON', query="unknown=1&limit=x"))
            check_refusal(found.value, verb, policy)
            lake.store = store
            lake.connectors, lake.providers, lake.answers, lake.vault = kept

    run(work())
    if policy is Deny:
        assert judge.asked == [(ALICE, verb.privilege, subject_of(verb))]
    assert judge.shown == []
    assert [(e.phase, e.kind, e.actor, e.peer, e.request_id) for e in listening.events] == [
        ("after", verb.event, "alice", "10.0.0.1", "r1")
    ]
    assert listening.events[0].status == (403 if policy is Deny else 500)
    assert listening.events[0].details == {}


def check_refusal(error: HeadwaterError, verb: Verb, policy: type[Deny]) -> None:
    if policy is Deny:
        assert (error.status, error.code, error.type) == (403, 1008, "ForbiddenException")
        assert "'alice'" in error.message
        assert verb.event in error.message
    else:
        assert "directory" not in error.message


@pytest.mark.parametrize("name", sorted(VERBS))
def test_over_http_a_refusal_is_a_403(name: str, tmp_path: Path) -> None:
    verb, judge = VERBS[name], Deny()
    prepare_store(settings(tmp_path))
    client = falcon.testing.TestClient(Application(open_lake(settings(tmp_path), policy=judge)))
    path = FIELD.sub(lambda m: NAMES.get(m[1], m[1]), verb.path)
    answer = client.simulate_request(verb.method, path, body="not JSON", headers={"If-None-Match": "*"})
    assert (answer.status_code, answer.json["code"], answer.json["type"]) == (403, 1008, "ForbiddenException")
    assert "ETag" not in answer.headers
    assert [(a.name, s) for a, _, s in judge.asked] == [("anonymous", subject_of(verb))]


async def seed(lake: Lake) -> None:
    """Three of each noun."""
    columns = [{"name": "id", "type": "long"}]
    root = lake.settings.data_folder.parent

    async def make(verb: str, body: dict[str, Any], **names: str) -> None:
        await operate(lake, call_of(VERBS[f"{verb}.create"], body=body, **names))

    ice = {"catalog-backend": "jdbc", "uri": f"sqlite:///{root}/i.db", "warehouse": f"{root}/w"}
    for end in "abc":
        await make("metalake", {"name": f"m{end}"})
        await make("catalog", {"name": f"c{end}", "provider": "lakehouse-iceberg", "properties": ice}, metalake="ma")
        properties = {"location": str(root / "f")}
        await make("catalog", {"name": f"f{end}", "provider": "fileset", "properties": properties}, metalake="ma")
    for end in "abc":
        for catalog in ("ca", "fa"):
            await make("schema", {"name": f"s{end}"}, metalake="ma", catalog=catalog)
    for end in "abc":
        await make("table", {"name": f"t{end}", "columns": columns}, metalake="ma", catalog="ca", schema="sa")
        await make("fileset", {"name": f"x{end}"}, metalake="ma", catalog="fa", schema="sa")


def shown(found: Encoded) -> list[str]:
    document = json.loads(found.body)
    entries = next(v for v in document.values() if isinstance(v, list))
    return [e["name"] for e in entries]


def place(verb: str, catalog: str = "ca") -> dict[str, str]:
    return {"metalake": "ma", "catalog": "fa" if verb == "fileset.list" else catalog, "schema": "sa"}


@pytest.mark.parametrize(
    ("verb", "query", "catalog"),
    [*((v, "", "ca") for v in LISTS), ("catalog.list", "details=true", "ca"), ("schema.list", "", "fa")],
)
def test_a_list_asks_once_for_the_whole_set(verb: str, query: str, catalog: str, tmp_path: Path) -> None:
    judge = Show()

    async def work() -> None:
        async with lake_with(judge, tmp_path) as lake:
            await seed(lake)
            call = lambda who=ALICE: call_of(VERBS[verb], who, query=query, **place(verb, catalog))
            everything = shown(await operate(lake, call()))
            assert len(everything) >= 2
            first = everything[0]
            for _ in range(2):  # the second answer may come from memory, the decision may not
                judge.asked, judge.shown = [], []
                judge.rule = lambda name: name != first
                assert shown(await operate(lake, call())) == everything[1:]
                assert judge.shown == [(ALICE, VERBS[verb].privilege, VERBS[verb].subject(call().names), everything)]
                assert len(judge.asked) == 1
            assert shown(await operate(lake, call(Actor("bob", "")))) == []
            judge.rule = bool
            assert shown(await operate(lake, call())) == everything

    run(work())


@pytest.mark.parametrize("verb", LISTS)
def test_pages_go_on_behind_what_is_hidden(verb: str, tmp_path: Path) -> None:
    judge = Show()

    async def work() -> None:
        async with lake_with(judge, tmp_path) as lake:
            await seed(lake)
            everything = shown(await operate(lake, call_of(VERBS[verb], **place(verb))))
            judge.rule = lambda name: name == everything[-1]
            judge.shown = []
            seen, token, pages = list[str](), "", 0
            while True:
                query = f"limit=1&pageToken={token}"
                found = await operate(lake, call_of(VERBS[verb], query=query, **place(verb)))
                seen, pages = seen + shown(found), pages + 1
                if not (token := json.loads(found.body).get("nextPageToken", "")):
                    break
            assert seen == everything[-1:]
            assert pages == len(everything) == len(judge.shown)

    run(work())


def test_every_verb_is_covered_here() -> None:
    assert len(VERBS) >= 30
    assert {v.noun.name for v in VERBS.values()} >= {"metalake", "catalog", "schema", "table", "fileset", "provider"}
    assert all(VERBS[name].method == "GET" for name in LISTS)
    assert all(v.privilege and v.event for v in VERBS.values())
