"""The lake that is measured: a metalake, an Iceberg catalog on SQLite, a schema, 1,000 tables, all made over HTTP."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any

TABLES = 1000
COLUMNS = 27
PROPERTIES = 20

METALAKE = "/api/metalakes/lake"
CATALOG = f"{METALAKE}/catalogs/ice"
SCHEMA = f"{CATALOG}/schemas/sales"
LIST = f"{SCHEMA}/tables"
TABLE = f"{LIST}/orders"
_TYPES = ("long", "string", "date", "timestamp", "decimal(18,2)", "boolean", "double", "integer", "varchar(20)")


class Client:
    """One connection that stays open."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """One request that must succeed; the answer's body."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self._http.request(method, path, data, {"Content-Type": "application/json"} if data else {})
        response = self._http.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {response.status} {answer[:500]!r}")
        return answer

    def close(self) -> None:
        """Hang up."""
        self._http.close()


def _properties(count: int) -> dict[str, str]:
    return {f"key-{i:02}": f"value-{i:02}" for i in range(count)}


def table_body(name: str, columns: int = COLUMNS) -> bytes:
    """What creates a table with the first so many of our columns."""
    listed = [
        {"name": f"column_{i:02}", "type": _TYPES[i % len(_TYPES)], "comment": f"the column {i:02}", "nullable": i > 0}
        for i in range(columns)
    ]
    return json.dumps(
        {"name": name, "comment": "one of many", "columns": listed, "properties": _properties(4)}
    ).encode()


def table_names() -> list[str]:
    """The 1,000 tables; the first one is the one that is loaded again and again."""
    return ["orders", *(f"orders_{i:03}" for i in range(1, TABLES))]


def make_containers(client: Client, folder: Path) -> None:
    """Metalake, catalog and schema, each with 20 properties."""
    where = {
        "catalog-backend": "jdbc",
        "uri": f"sqlite:///{folder / 'iceberg.db'}",
        "warehouse": str(folder / "warehouse"),
    }
    client.ask(
        "POST", "/api/metalakes", {"name": "lake", "comment": "the lake", "properties": _properties(PROPERTIES - 1)}
    )
    client.ask(
        "POST",
        f"{METALAKE}/catalogs",
        {
            "name": "ice",
            "type": "RELATIONAL",
            "provider": "lakehouse-iceberg",
            "comment": "tables",
            "properties": {**where, **_properties(PROPERTIES - len(where) - 1)},
        },
    )
    client.ask(
        "POST",
        f"{CATALOG}/schemas",
        {"name": "sales", "comment": "what was sold", "properties": _properties(PROPERTIES)},
    )


def make_tables(client: Client) -> None:
    """All tables, one after the other."""
    for name in table_names():
        client.ask("POST", LIST, table_body(name))
