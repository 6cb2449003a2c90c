"""Both stores, on real servers, against the contract."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.model.errors import MetalakeAlreadyExistsError
from headwater.store import postgres as postgres_store
from headwater.store import sqlite as sqlite_store
from headwater.store.base import Store
from headwater.store.rows import ROOT_ID, Body, Kept, Row, new_row
from headwater.store.session import Session
from tests import servers

_numbers = itertools.count()
Opener = Callable[[], contextlib.AbstractAsyncContextManager[Store]]


@pytest.fixture(scope="module")
def postgres() -> Iterator[servers.postgres]:
    with servers.postgres(fsync=False) as started:
        yield started


@pytest.fixture(params=["sqlite", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the same, new store again and again: each opening stands for a server process."""
    if request.param == "sqlite":
        path = tmp_path / "store.db"
        sqlite_store.prepare(path)
        make: Callable[[], Store] = lambda: sqlite_store.SqliteStore(path)
    else:
        url = request.getfixturevalue("postgres").create_database(f"store{next(_numbers)}")
        postgres_store.prepare(url, may_upgrade=True)
        make = lambda: postgres_store.PostgresStore(url)

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Store]:
        store = make()
        try:
            yield store
        finally:
            await store.close()

    return opened


def run(opener: Opener, test: Callable[..., Awaitable[Any]], processes: int = 1) -> None:
    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            await test(*[await stack.enter_async_context(opener()) for _ in range(processes)])

    asyncio.run(main())


def lake(name: str = "lake", **properties: str) -> Row:
    return new_row("metalake", ROOT_ID, name, Body(comment="c", properties=properties), "me")


def find(name: str = "lake") -> Callable[[Session], Row | None]:
    return lambda s: s.find(ROOT_ID, "metalake", name)


def test_row_comes_back_as_it_was(opener: Opener) -> None:
    async def test(store: Store) -> None:
        row = lake(key="välue\n☃")
        row = msgspec.structs.replace(row, secrets={"password": "sealed"})
        await store.write(lambda s: s.insert(row))
        assert await store.read(find()) == row
        assert await store.read(find("other")) is None

    run(opener, test)


def test_change_is_seen_by_other_processes_at_once(opener: Opener) -> None:
    async def test(one: Store, other: Store) -> None:
        before = await other.token()
        assert await other.token() == before, "nothing was changed"
        await one.write(lambda s: s.insert(lake()))
        assert await other.token() != before
        assert await other.read(find()) is not None
        assert await one.read(find()) is not None

    run(opener, test, processes=2)


def test_own_change_moves_the_token(opener: Opener) -> None:
    async def test(store: Store) -> None:
        seen = [await store.token()]
        for number in range(20):
            await store.write(lambda s, n=number: s.insert(lake(f"l{n}")))
            token = await store.token()
            assert token not in seen
            seen.append(token)

    run(opener, test)


def test_failed_change_leaves_nothing(opener: Opener) -> None:
    async def test(store: Store) -> None:
        def work(s: Session) -> None:
            s.insert(lake())
            raise MetalakeAlreadyExistsError("made up")

        with pytest.raises(MetalakeAlreadyExistsError):
            await store.write(work)
        assert await store.read(find()) is None
        await store.write(lambda s: s.insert(lake()))

    run(opener, test)


def test_update_needs_the_version_before(opener: Opener) -> None:
    async def test(store: Store) -> None:
        row = lake()
        await store.write(lambda s: s.insert(row))
        assert await store.write(lambda s: s.update(row.changed("you", in_use=False))) is True
        assert await store.write(lambda s: s.update(row.changed("you"))) is False, "that version is gone"
        found = await store.read(find())
        assert found is not None
        assert (found.version, found.in_use, found.modifier) == (2, False, "you")

    run(opener, test)


def test_no_update_is_lost(opener: Opener) -> None:
    async def test(one: Store, other: Store) -> None:
        await one.write(lambda s: s.insert(lake()))

        def add(key: str) -> Callable[[Session], None]:
            def work(s: Session) -> None:
                row = s.find(ROOT_ID, "metalake", "lake", lock=True)
                assert row is not None
                body = msgspec.structs.replace(row.body, properties={**row.body.properties, key: "x"})
                assert s.update(row.changed(key, body=body))

            return work

        await asyncio.gather(*(store.write(add(f"{n}-{i}")) for n, store in enumerate((one, other)) for i in range(50)))
        found = await one.read(find())
        assert found is not None
        assert (len(found.body.properties), found.version) == (100, 101)

    run(opener, test, processes=2)


def test_two_who_make_the_same(opener: Opener) -> None:
    async def test(one: Store, other: Store) -> None:
        def make(s: Session) -> str:
            if s.find(ROOT_ID, "metalake", "lake") is not None:
                return "there"
            s.insert(lake())
            return "made"

        answers = await asyncio.gather(*(store.write(make) for _ in range(10) for store in (one, other)))
        assert sorted(answers) == ["made"] + ["there"] * 19

    run(opener, test, processes=2)


def test_children_in_byte_order_and_pages(opener: Opener) -> None:
    async def test(store: Store) -> None:
        parent = lake()
        names = ["b2", "Z", "ä", "a_1", "b1", "a%"]
        rows = [new_row("catalog", parent.id, n, Body(), "me") for n in names]
        await store.write(lambda s: [s.insert(r) for r in (parent, *rows)])
        page = lambda s, **k: s.names(parent.id, "catalog", **{"after": "", "prefix": "", "limit": None, **k})
        assert await store.read(page) == ["Z", "a%", "a_1", "b1", "b2", "ä"]
        assert await store.read(lambda s: page(s, limit=2)) == ["Z", "a%"]
        assert await store.read(lambda s: page(s, after="a_1", limit=2)) == ["b1", "b2"]
        assert await store.read(lambda s: page(s, prefix="a_")) == ["a_1"], "a prefix is no pattern"
        assert await store.read(lambda s: page(s, prefix="B")) == []
        whole = lambda s: s.children(parent.id, "catalog", after="", prefix="b", limit=1)
        assert [r.name for r in await store.read(whole)] == ["b1"]
        assert await store.read(lambda s: s.count_children(parent.id)) == 6

    run(opener, test)


def test_parent_with_children_is_not_deleted(opener: Opener) -> None:
    async def test(store: Store) -> None:
        parent = lake()
        child = new_row("catalog", parent.id, "c", Body(), "me")
        grandchild = new_row("schema", child.id, "s", Body(), "me")
        await store.write(lambda s: [s.insert(r) for r in (parent, child, grandchild)])
        with pytest.raises(Exception, match="changed too often"):
            await store.write(lambda s: s.delete(parent.id))
        tree = await store.read(lambda s: [r.name for r in s.tree(parent.id)])
        assert tree == ["s", "c", "lake"], "the deepest first"
        await store.write(lambda s: s.delete_tree(parent.id))
        assert await store.read(find()) is None

    run(opener, test)


def test_what_is_kept_goes_with_the_catalog(opener: Opener) -> None:
    async def test(store: Store) -> None:
        parent = lake()
        catalog = new_row("catalog", parent.id, "c", Body(), "me")
        entry = Kept(catalog.id, "table", "s\x1ft", "uuid", "me", "now")
        await store.write(lambda s: [s.insert(parent), s.insert(catalog), s.keep(entry)])
        assert await store.read(lambda s: s.kept(catalog.id, "table", "s\x1ft")) == entry
        later = msgspec.structs.replace(entry, modifier="you", modified="later")
        await store.write(lambda s: s.keep(later))
        assert await store.read(lambda s: s.kept(catalog.id, "table", "s\x1ft")) == later
        await store.write(lambda s: s.put_trash(1, catalog.id, ["file:/x"]))
        await store.write(lambda s: s.delete_tree(parent.id))
        assert await store.read(lambda s: s.kept(catalog.id, "table", "s\x1ft")) is None
        assert await store.read(lambda s: s.trash(catalog.id)) == []

    run(opener, test)


def test_forgetting_below_a_path(opener: Opener) -> None:
    async def test(store: Store) -> None:
        parent = lake()
        catalog = new_row("catalog", parent.id, "c", Body(), "me")
        paths = [("schema", "s"), ("table", "s\x1ft"), ("schema", "s:in"), ("table", "s:in\x1ft"), ("table", "s2\x1ft")]
        entries = [Kept(catalog.id, kind, path, "", "me", "now") for kind, path in paths]
        await store.write(lambda s: [s.insert(parent), s.insert(catalog), *(s.keep(e) for e in entries)])
        await store.write(lambda s: s.forget_below(catalog.id, "s"))
        assert await store.read(lambda s: s.kept_names(catalog.id, "table")) == ["s2\x1ft"]
        assert await store.read(lambda s: s.kept_names(catalog.id, "schema")) == ["s"]

    run(opener, test)


def test_touch_changes_nothing(opener: Opener) -> None:
    async def test(store: Store) -> None:
        await store.write(lambda s: s.insert(lake()))
        before = await store.read(find())
        await store.write(Session.touch)
        await store.probe()
        assert await store.read(find()) == before

    run(opener, test)
