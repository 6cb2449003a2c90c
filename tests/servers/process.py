"""What all servers share: a free port, a process group of their own, a scratch folder, and no trace of them later."""

import atexit
import http.client
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self

from tests.servers import guard

HOST = "127.0.0.1"
# Below the range the kernel takes ports for outgoing connections from: none of those can grab a server's port while it
# is stopped, so that `start` finds it free again.
PORTS = range(20_000, 32_000)
PORT_ATTEMPTS = 5


class ServerError(RuntimeError):
    """A server could not be started, stopped or used; the message says which one and why."""


class Server(Protocol):
    """The least a server is: something with a name and an address that can be closed."""

    name: ClassVar[str]

    @property
    def uri(self) -> str: ...

    def close(self) -> None: ...


def free_port() -> int:
    """A loopback port nobody listens on. It is not reserved: whoever takes it next has it."""
    for _ in range(200):
        # The system's randomness: test tools seed `random`, and parallel test processes would then pick the same ports.
        port = PORTS.start + secrets.randbelow(len(PORTS))
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as candidate:
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                candidate.bind((HOST, port))
            except OSError:
                continue
            return port
    raise ServerError(f"no free port on {HOST} between {PORTS.start} and {PORTS.stop - 1}")


class _PortTakenError(ServerError):
    """Somebody else took the port between `free_port` and the server's own bind."""


class ProcessServer(ABC):
    """A server in a process group of its own.

    A subclass says how its data is laid out (`prepare`), how it is run (`command`) and when it answers (`answers`).
    """

    name: ClassVar[str]
    start_timeout: ClassVar[float] = 60
    stop_timeout: ClassVar[float] = 15
    # How to stop it so that it keeps its data, and how to when nobody is left who needs the data.
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    abandon_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, port: int | None = None) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._port_was_chosen = port is not None
        self.port = free_port() if port is None else port
        self.folder = Path(tempfile.mkdtemp(prefix=f"headwater-{self.name}-"))
        self._owner = os.getpid()
        guard.watch_folder(self.folder)
        # Whoever forgets `close` still leaves nothing behind.
        atexit.register(self.close)
        try:
            self.prepare()
            self._start_on_some_port()
        except BaseException:
            self.close()
            raise

    @property
    @abstractmethod
    def uri(self) -> str: ...

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The program and its arguments; it must stay in the foreground."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server serves requests now. Called many times a second while it starts."""

    def prepare(self) -> None:  # noqa: B027 - most servers need nothing before their first start
        """Lay out the data before the first start."""

    def environment(self) -> Mapping[str, str]:
        return os.environ

    def process_options(self) -> dict[str, Any]:
        """Further arguments of `subprocess.Popen`."""
        return {}

    @property
    def log_file(self) -> Path:
        return self.folder / "log"

    @property
    def pid(self) -> int:
        """The process id, which is its process group's id too."""
        if self._process is None:
            raise ServerError(f"{self.name} is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and not _has_ended(self._process.pid)

    def start(self) -> None:
        """Start on the same port and the same data as before, and wait until the server answers."""
        if self.running:
            raise ServerError(f"{self.name} is running already")
        self.stop()
        command = [str(part) for part in self.command()]
        with self.log_file.open("ab") as log:
            log_start = log.tell()
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self.folder,
                    env=dict(self.environment()),
                    start_new_session=True,
                    **self.process_options(),
                )
            except OSError as error:
                raise ServerError(f"{self.name} cannot be run: {error}") from error
        guard.watch_process(self._process.pid, self.abandon_signal)
        self._wait_until_it_answers(log_start)

    def stop(self) -> None:
        """Stop it in good order; data, port and folder stay. Does nothing when it is stopped."""
        self._end(self.stop_signal)

    def kill(self) -> None:
        """End it as a crash would: no warning, no clean-up."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Stop it and delete its folder."""
        if os.getpid() != self._owner:
            # A forked child inherits this object and the exit hook; the server is not its own.
            return
        self._end(self.abandon_signal)
        shutil.rmtree(self.folder, ignore_errors=True)
        guard.forget_folder(self.folder)
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _start_on_some_port(self) -> None:
        for attempt in range(1, PORT_ATTEMPTS + 1):
            try:
                self.start()
            except _PortTakenError:
                if self._port_was_chosen or attempt == PORT_ATTEMPTS:
                    raise
                self.port = free_port()
            else:
                return

    def _wait_until_it_answers(self, log_start: int) -> None:
        deadline = time.monotonic() + self.start_timeout
        while True:
            answered = self.running and self.answers()
            # Asked again: a stranger on the port may have answered in place of a server that failed to bind.
            if not self.running:
                written = self._log_since(log_start)
                self.stop()
                if "in use" in written:
                    raise _PortTakenError(f"{self.name} found port {self.port} in use:\n{written}")
                raise ServerError(f"{self.name} ended while it started; its log says:\n{written}")
            if answered:
                return
            if time.monotonic() > deadline:
                written = self._log_since(log_start)
                self.kill()
                raise ServerError(f"{self.name} is silent after {self.start_timeout:g} s; its log says:\n{written}")
            time.sleep(0.02)

    def _log_since(self, start: int) -> str:
        with self.log_file.open("rb") as log:
            log.seek(start)
            return log.read()[-4000:].decode(errors="replace").strip() or "(nothing)"

    def _end(self, with_signal: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        guard.signal_group(process.pid, with_signal)
        deadline = time.monotonic() + self.stop_timeout
        while not _has_ended(process.pid) and time.monotonic() < deadline:
            time.sleep(0.005)
        # Its group may outlive it, or it may not listen. The group's id is ours until `wait` has collected its leader.
        guard.signal_group(process.pid, signal.SIGKILL)
        process.wait()
        guard.forget_process(process.pid)


def http_answers(url: str, timeout: float = 1) -> bool:
    """Whether a GET of the address gives a 2xx answer."""
    try:
        # Never by way of a proxy that the environment names: the servers are on the loopback interface.
        with DIRECT.open(url, timeout=timeout):
            return True
    except (OSError, http.client.HTTPException):
        return False


DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _has_ended(pid: int) -> bool:
    """Whether a child process has ended. It stays uncollected, so that its id is not given to a new process."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
