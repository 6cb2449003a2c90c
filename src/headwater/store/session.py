"""The store's questions and changes, once for all databases.

SQLAlchemy Core writes the SQL text; the plain driver runs it, because that costs a tenth (docs/design/concurrency.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect

from headwater.model.names import SEPARATOR
from headwater.store.rows import PATH_JOINT, Body, Kept, Row
from headwater.store.tables import kept, objects, trash

_LAST = "\U0010ffff"
_EVERYTHING = 2**62
_decode_body = msgspec.json.Decoder(Body).decode
_decode_map = msgspec.json.Decoder(dict[str, str]).decode
_decode_list = msgspec.json.Decoder(list[str]).decode
_encode = msgspec.json.Encoder(order="deterministic").encode

_param = sa.bindparam
_object = sa.select(objects)
_by_name = (
    (objects.c.parent_id == _param("parent_id"))
    & (objects.c.kind == _param("kind"))
    & (objects.c.name == _param("name"))
)
_FIND = _object.where(_by_name)
_OF_KIND = _object.where(objects.c.kind == _param("kind"))
_LOCK = _FIND.with_for_update()
_children_where = (
    (objects.c.parent_id == _param("parent_id")) & (objects.c.kind == _param("kind"))
    & (objects.c.name > _param("after")) & (objects.c.name >= _param("low")) & (objects.c.name < _param("high"))
)  # fmt: skip
_CHILDREN = _object.where(_children_where).order_by(objects.c.name).limit(_param("limit"))
_NAMES = sa.select(objects.c.name).where(_children_where).order_by(objects.c.name).limit(_param("limit"))
_COUNT = sa.select(sa.func.count()).where((objects.c.parent_id == _param("parent_id")) & (objects.c.id != 0))
_INSERT = objects.insert()
_UPDATE = (
    objects.update()
    .where((objects.c.id == _param("row_id")) & (objects.c.version == _param("row_version")))
    .values({c: _param(c) for c in ("name", "version", "in_use", "body", "secrets", "modifier", "modified")})
)
_start = sa.select(objects.c.id, sa.literal(0).label("depth")).where(objects.c.id == _param("row_id"))
_tree = _start.cte(recursive=True)
_tree = _tree.union_all(sa.select(objects.c.id, _tree.c.depth + 1).where(objects.c.parent_id == _tree.c.id))
_TREE = sa.select(objects).join(_tree, objects.c.id == _tree.c.id).order_by(_tree.c.depth.desc())
_DELETE = objects.delete().where(objects.c.id == _param("row_id"))

_TOUCH = objects.update().where(objects.c.id == 0).values(version=objects.c.version)

_kept_key = (kept.c.catalog_id == _param("key_catalog")) & (kept.c.kind == _param("key_kind"))
_KEPT = sa.select(kept).where(_kept_key & (kept.c.path == _param("key_path")))
_KEPT_NAMES = sa.select(kept.c.path).where(_kept_key).order_by(kept.c.path)
_FORGET = kept.delete().where(_kept_key & (kept.c.path == _param("key_path")))
_below = (kept.c.catalog_id == _param("key_catalog")) & (kept.c.path >= _param("low")) & (kept.c.path < _param("high"))
_KEPT_BELOW = sa.select(kept).where(_below)
_FORGET_BELOW = kept.delete().where(_below)
_KEEP = kept.insert()

_TRASH = sa.select(trash.c.id, trash.c.locations).where(trash.c.catalog_id == _param("catalog_id"))
_TRASHED = sa.select(trash.c.catalog_id).distinct()
_PUT_TRASH = trash.insert()
_EMPTY_TRASH = trash.delete().where(trash.c.id == _param("trash_id"))


class Cursor(Protocol):
    """The part of a DB-API cursor that is used."""

    rowcount: int

    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """What sqlite3 and psycopg connections have in common."""

    def execute(self, sql: Any, params: Any = ..., /) -> Any: ...


class Sql:
    """The text of each statement in one database's dialect, made once."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._texts: dict[int, tuple[str, dict[str, Any]]] = {}

    def text(self, statement: sa.ClauseElement) -> tuple[str, dict[str, Any]]:
        """The statement's text with named parameters, and the values of those that are part of it."""
        found = self._texts.get(id(statement))
        if found is None:
            compiled = statement.compile(dialect=self._dialect)
            fixed = {k: v for k, v in compiled.params.items() if v is not None}
            found = self._texts[id(statement)] = (str(compiled), fixed)
        return found


class Session:
    """Questions and changes inside one transaction (or, for reads alone, one statement each)."""

    statements = 0
    """How many statements this process has run: tests prove with it that a page costs a constant number."""

    def __init__(self, connection: Connection, sql: Sql) -> None:
        self._connection = connection
        self._sql = sql

    def _run(self, statement: sa.ClauseElement, **params: Any) -> Cursor:
        Session.statements += 1
        text, fixed = self._sql.text(statement)
        return self._connection.execute(text, {**fixed, **params})  # type: ignore[no-any-return]

    def _rows(self, statement: sa.ClauseElement, **params: Any) -> list[Row]:
        return [_row(r) for r in self._run(statement, **params).fetchall()]

    def find(self, parent_id: int, kind: str, name: str, *, lock: bool = False) -> Row | None:
        """The object of that name; `lock` keeps others from changing it until the transaction ends."""
        rows = self._rows(_LOCK if lock else _FIND, parent_id=parent_id, kind=kind, name=name)
        return rows[0] if rows else None

    def chain(self, start: int, path: Iterable[tuple[str, str]]) -> list[Row]:
        """The objects along a path of (kind, name), as far as they exist."""
        rows: list[Row] = []
        for kind, name in path:
            row = self.find(rows[-1].id if rows else start, kind, name)
            if row is None:
                break
            rows.append(row)
        return rows

    def children(self, parent_id: int, kind: str, *, after: str, prefix: str, limit: int | None) -> list[Row]:
        """Objects of a kind right below another, in byte order of their names."""
        return self._rows(_CHILDREN, **_part(parent_id, kind, after, prefix, limit))

    def names(self, parent_id: int, kind: str, *, after: str, prefix: str, limit: int | None) -> list[str]:
        """Their names alone."""
        return [r[0] for r in self._run(_NAMES, **_part(parent_id, kind, after, prefix, limit)).fetchall()]

    def count_children(self, parent_id: int) -> int:
        """How many objects lie right below."""
        return int(self._run(_COUNT, parent_id=parent_id).fetchall()[0][0])

    def of_kind(self, kind: str) -> list[Row]:
        """All objects of a kind, wherever they lie."""
        return self._rows(_OF_KIND, kind=kind)

    def insert(self, row: Row) -> None:
        """Add an object."""
        self._run(_INSERT, **_columns(row))

    def update(self, row: Row) -> bool:
        """Store the next version of an object; False if it is no longer at the version before."""
        values = {k: v for k, v in _columns(row).items() if k not in ("id", "kind", "parent_id", "creator", "created")}
        return self._run(_UPDATE, row_id=row.id, row_version=row.version - 1, **values).rowcount == 1

    def tree(self, row_id: int) -> list[Row]:
        """An object and all below it, the deepest first."""
        return self._rows(_TREE, row_id=row_id)

    def delete(self, row_id: int) -> None:
        """Remove one object without children; what is kept for a catalog's objects goes with the catalog."""
        self._run(_DELETE, row_id=row_id)

    def delete_tree(self, row_id: int) -> None:
        """Remove an object and all below it."""
        for row in self.tree(row_id):
            self.delete(row.id)

    def touch(self) -> None:
        """Write without changing anything: proves that writing works."""
        self._run(_TOUCH)

    def kept(self, catalog_id: int, kind: str, path: str) -> Kept | None:
        """What is remembered about an object of an outside catalog."""
        rows = self._run(_KEPT, key_catalog=catalog_id, key_kind=kind, key_path=path).fetchall()
        return Kept(*rows[0]) if rows else None

    def kept_names(self, catalog_id: int, kind: str) -> list[str]:
        """The paths of all objects of a kind that something is remembered about."""
        return [r[0] for r in self._run(_KEPT_NAMES, key_catalog=catalog_id, key_kind=kind).fetchall()]

    def keep(self, entry: Kept) -> None:
        """Remember it, in place of what was remembered under that name."""
        self.forget(entry.catalog_id, entry.kind, entry.path)
        self._run(_KEEP, **msgspec.structs.asdict(entry))

    def forget(self, catalog_id: int, kind: str, path: str) -> None:
        """Remember nothing any more about one object."""
        self._run(_FORGET, key_catalog=catalog_id, key_kind=kind, key_path=path)

    def kept_below(self, catalog_id: int, path: str) -> list[Kept]:
        """What is remembered about whatever lies below a path."""
        found = []
        for joint in (PATH_JOINT, SEPARATOR):
            rows = self._run(_KEPT_BELOW, key_catalog=catalog_id, low=path + joint, high=path + joint + _LAST)
            found += [Kept(*r) for r in rows.fetchall()]
        return found

    def forget_below(self, catalog_id: int, path: str) -> None:
        """Remember nothing any more about whatever lies below a path."""
        for joint in (PATH_JOINT, SEPARATOR):
            self._run(_FORGET_BELOW, key_catalog=catalog_id, low=path + joint, high=path + joint + _LAST)

    def put_trash(self, entry_id: int, catalog_id: int, locations: Sequence[str]) -> None:
        """Note folders that are still to be removed."""
        self._run(_PUT_TRASH, id=entry_id, catalog_id=catalog_id, locations=_encode(locations).decode())

    def trash(self, catalog_id: int) -> list[tuple[int, list[str]]]:
        """The folders of a catalog that are still to be removed."""
        return [(r[0], _decode_list(r[1])) for r in self._run(_TRASH, catalog_id=catalog_id).fetchall()]

    def trashed_catalogs(self) -> list[int]:
        """The catalogs that have folders to be removed."""
        return [r[0] for r in self._run(_TRASHED).fetchall()]

    def empty_trash(self, entry_id: int) -> None:
        """They are removed."""
        self._run(_EMPTY_TRASH, trash_id=entry_id)


def _part(parent_id: int, kind: str, after: str, prefix: str, limit: int | None) -> dict[str, Any]:
    end = {"low": prefix, "high": prefix + _LAST, "limit": _EVERYTHING if limit is None else limit}
    return {"parent_id": parent_id, "kind": kind, "after": after, **end}


def _row(r: Sequence[Any]) -> Row:
    body, hidden = _decode_body(r[6]), _decode_map(r[7])
    return Row(r[0], r[1], r[2], r[3], r[4], bool(r[5]), body, hidden, r[8], r[9], r[10], r[11])


def _columns(row: Row) -> dict[str, Any]:
    values = {f: getattr(row, f) for f in row.__struct_fields__}
    return {**values, "body": _encode(row.body).decode(), "secrets": _encode(row.secrets).decode()}
