"""Server processes under measurement: started, asked, and their CPU time and memory read from /proc."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

_TICK = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


class Process:
    """One server on a port of its own; a context manager that ends it."""

    def __init__(self, name: str, command: list[str], port: int, environment: Mapping[str, str]) -> None:
        self.name, self.port = name, port
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("HEADWATER_")}
        self.begun = time.perf_counter()
        self._popen = subprocess.Popen(
            command, env={**inherited, **environment}, stdout=subprocess.DEVNULL, start_new_session=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """SIGTERM; SIGKILL if that is not enough."""
        if self._popen.poll() is not None:
            return
        self._popen.terminate()
        try:
            self._popen.wait(15)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait(5)

    def wait_ready(self, path: str = "/health/ready", within: float = 30.0) -> float:
        """Wait for the first 200; the answer is the seconds since the process was started."""
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        while time.perf_counter() - self.begun < within:
            if self._popen.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {self._popen.returncode}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5) as s:
                s.sendall(request)
                if s.recv(65536).startswith(b"HTTP/1.1 200"):
                    return time.perf_counter() - self.begun
            time.sleep(0.003)
        raise RuntimeError(f"{self.name} was not ready within {within:g} seconds")

    def _tree(self) -> list[int]:
        with contextlib.suppress(psutil.Error):
            return [self._popen.pid, *(c.pid for c in psutil.Process(self._popen.pid).children(recursive=True))]
        return []

    def cpu_since_start(self) -> float:
        """CPU seconds, user and system, of the process and all that it started; in clock ticks."""
        total = 0
        for pid in self._tree():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                total += sum(int(f) for f in fields[11:15])
        return total / _TICK

    def cpu(self) -> float:
        """CPU seconds of all its living threads, to the nanosecond: for differences over a short time."""
        total = 0
        for pid in self._tree():
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                with contextlib.suppress(OSError):
                    total += int(task.read_text().split()[0])
        return total / 1e9

    def resident(self) -> int:
        """Resident memory of the process and all that it started, in bytes."""
        total = 0
        for pid in self._tree():
            with contextlib.suppress(psutil.Error):
                total += int(psutil.Process(pid).memory_info().rss)
        return total


def headwater(data: Path) -> Process:
    """Our server, one worker, on a data folder."""
    port = free_port()
    command = [sys.executable, "-m", "headwater.cli.main", "serve", "--port", str(port), "--data", str(data)]
    return Process("Headwater", command, port, {})


def bare(framework: str, answers: Path | None = None) -> Process:
    """A bare application of a framework, one worker, under the same server settings as ours."""
    port = free_port()
    command = [
        sys.executable, "-m", "uvicorn", f"benchmarks.bare_{framework}:app",
        "--host", "127.0.0.1", "--port", str(port), "--loop", "uvloop", "--http", "httptools",
        "--no-access-log", "--log-level", "error",
    ]  # fmt: skip
    environment = {"BARE_ANSWERS": str(answers) if answers else ""}
    return Process(f"bare {framework.capitalize()}", command, port, environment)
