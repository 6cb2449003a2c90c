"""Starts real Headwater servers for tests, and talks to them in the plainest way."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil


class Answer:
    """Status, headers and body of one answer."""

    def __init__(self, status: int, headers: Any, raw: bytes) -> None:
        self.status, self.headers, self.raw = status, headers, raw

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    def __repr__(self) -> str:
        return f"<{self.status} {self.raw[:300]!r}>"


class Server:
    """A server process of its own on a free port."""

    def __init__(
        self, data: Path, *flags: str, env: dict[str, str] | None = None, prefix: tuple[str, ...] = ()
    ) -> None:
        self.data, self.flags, self.env, self.prefix = data, flags, env or {}, prefix
        self.log = data.parent / f"{data.name}.log"
        self.uri = ""
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def command(self) -> list[str]:
        args = ["serve", "--port", "0", "--data", str(self.data), *self.flags]
        return [*self.prefix, sys.executable, "-m", "headwater.cli.main", *args]

    def start(self, timeout: float = 60) -> Server:
        environment = self._environment()
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.PIPE, stderr=log, env=environment, start_new_session=True
            )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        line, end = b"", time.monotonic() + timeout
        while b"\n" not in line:
            line += self.process.stdout.read() or b""
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}: {self.log.read_text()[-2000:]}")
            if time.monotonic() > end:
                self.kill()
                raise RuntimeError(f"the server was not ready in time: {self.log.read_text()[-2000:]}")
            time.sleep(0.01)
        self.uri = line.split()[-1].decode()
        return self

    def refused(self, timeout: float = 30) -> tuple[int, str]:
        """A start that must fail: its exit code and all that it wrote."""
        done = subprocess.run(
            self.command, check=False, capture_output=True, env=self._environment(), timeout=timeout, text=True
        )
        return done.returncode, done.stdout + done.stderr

    def _environment(self) -> dict[str, str]:
        return {k: v for k, v in os.environ.items() if not k.startswith("HEADWATER_")} | self.env

    def stop(self, timeout: float = 20) -> int:
        """SIGTERM, as an operator would; the answer is the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        return self.process.returncode

    def kill(self) -> None:
        """SIGKILL to it and its workers."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def rss(self) -> int:
        assert self.process is not None
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, timeout: float = 60
    ) -> Answer:
        """One request; `body` is JSON unless it is bytes. An error status is an answer like any other."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.uri + path, data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as r:
                return Answer(r.status, r.headers, r.read())
        except urllib.error.HTTPError as e:
            return Answer(e.code, e.headers, e.read())

    def ok(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """One request that must succeed; the answer is its JSON."""
        answer = self.call(method, path, body, headers)
        assert answer.status == 200, f"{method} {path}: {answer}"
        return answer.json


@contextlib.contextmanager
def running(
    data: Path, *flags: str, env: dict[str, str] | None = None, prefix: tuple[str, ...] = ()
) -> Iterator[Server]:
    """A server for the length of a block."""
    server = Server(data, *flags, env=env, prefix=prefix).start()
    try:
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()


class Seed:
    """A metalake with one Iceberg catalog (a SQLite file) and one fileset catalog, and where their files lie."""

    def __init__(self, server: Server, folder: Path, metalake: str = "lake") -> None:
        self.server, self.folder, self.metalake = server, folder, metalake
        self.database, self.warehouse, self.filesets = folder / "iceberg.db", folder / "warehouse", folder / "filesets"
        self.catalogs = f"/api/metalakes/{metalake}/catalogs"
        self.tables = f"{self.catalogs}/ice/schemas/s/tables"
        self.files = f"{self.catalogs}/files/schemas/s/filesets"

    def make(self, *, iceberg: dict[str, str] | None = None) -> Seed:
        """Catalogs `ice` and `files`, in each a schema `s`, in these table `t` and fileset `f`."""
        columns = [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}, {"name": "ts", "type": "date"}]
        self.server.ok("POST", "/api/metalakes", {"name": self.metalake})
        self.add_catalog("ice", "lakehouse-iceberg", iceberg or self.on_sqlite)
        self.add_catalog("files", "fileset", {"location": str(self.filesets)})
        for catalog in ("ice", "files"):
            self.server.ok("POST", f"{self.catalogs}/{catalog}/schemas", {"name": "s"})
        self.server.ok("POST", self.tables, {"name": "t", "columns": columns})
        self.server.ok("POST", self.files, {"name": "f"})
        return self

    @property
    def on_sqlite(self) -> dict[str, str]:
        """Properties of an Iceberg catalog in a SQLite file."""
        return {"catalog-backend": "jdbc", "uri": f"sqlite:///{self.database}", "warehouse": str(self.warehouse)}

    def add_catalog(self, name: str, provider: str, properties: dict[str, str]) -> None:
        self.server.ok("POST", self.catalogs, {"name": name, "provider": provider, "properties": properties})


def sqlite_dump(path: Path) -> str:
    """All that a SQLite file holds, as SQL."""
    with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
        return "\n".join(connection.iterdump())


def files_below(folder: Path) -> list[str]:
    """Every file and folder below one, but for what SQLite keeps beside its databases."""
    found = (p for p in folder.rglob("*") if not p.name.endswith(("-wal", "-shm", "-journal")))
    return sorted(str(p.relative_to(folder)) for p in found)


class Connection:
    """One HTTP connection that stays open; a lost one is opened anew at the next request."""

    def __init__(self, uri: str, timeout: float = 60, user: str | None = None) -> None:
        self._headers = {"Authorization": "Basic " + base64.b64encode(f"{user}:".encode()).decode()} if user else {}
        host, _, port = uri.removeprefix("http://").partition(":")
        self._http = http.client.HTTPConnection(host, int(port), timeout=timeout)

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """One request; an error status is an answer like any other. A lost connection is an OSError."""
        try:
            self._http.request(
                method, path, None if body is None else json.dumps(body), self._headers | (headers or {})
            )
            response = self._http.getresponse()
            return Answer(response.status, response.headers, response.read())
        except (OSError, http.client.HTTPException) as e:
            self._http.close()
            raise ConnectionError(str(e)) from e

    def close(self) -> None:
        self._http.close()
