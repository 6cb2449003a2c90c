"""Starts real Headwater servers for tests, and talks to them in the plainest way."""

from __future__ import annotations

import contextlib
import json
import os
import signal
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
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HEADWATER_")} | self.env
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
