"""Real Spark sessions for tests: PySpark 3.5 and 4.1, each in a process of its own with its own packages.

    with spark("3.5", packages=("iceberg",), hive=hms) as session:
        session.sql("CREATE TABLE t (id INT) USING iceberg")
        assert session.sql("SELECT * FROM t") == []

A statement that fails raises SparkError; the session goes on. PySpark and the jars are fetched once (see
`tests.servers.artifacts`).
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers import artifacts, guard
from tests.servers.coordinates import (
    HMS_40_ARCHIVE,
    HMS_40_CLIENT,
    HMS_40_JARS,
    PYSPARK,
    SPARK_METASTORE_CLIENTS,
    SPARK_PACKAGES,
    Jars,
)
from tests.servers.hms import HiveMetastore, HiveMetastore40, s3a_settings
from tests.servers.java import class_path, java_home
from tests.servers.moto import MotoServer
from tests.servers.process import HOST, ServerError

CHILD = Path(__file__).parent / "spark_child.py"
STATEMENT_TIMEOUT = 300.0
STOP_TIMEOUT = 20.0

EXTENSIONS = {
    # The order matters: Iceberg's last.
    "paimon": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
    "hudi": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}
BASE = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.databricks.delta.snapshotPartitions": "2",
}


class SparkError(Exception):
    """A statement that failed. `condition` is Spark's name of the error where it has one, `details` the whole of it."""

    def __init__(self, message: str, condition: str | None, details: str) -> None:
        super().__init__(message)
        self.condition = condition
        self.details = details


class SparkSession:
    """A session in a child process. Use `spark` to get one."""

    def __init__(
        self, version: str, conf: Mapping[str, str], jars: Sequence[Path], variables: Mapping[str, str]
    ) -> None:
        home = artifacts.python_packages(*PYSPARK[version]) / "pyspark"
        self.folder = Path(tempfile.mkdtemp(prefix=f"headwater-spark-{version}-"))
        guard.watch_folder(self.folder)
        self._lock = threading.Lock()
        request_end, self._requests = _pipe("w")
        self._answers, answer_end = _pipe("r")
        command = [sys.executable, str(CHILD), str(request_end), str(answer_end)]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**_environment(home), **variables},
                pass_fds=(request_end, answer_end),
                start_new_session=True,
            )
        os.close(request_end)
        os.close(answer_end)
        guard.watch_process(self._process.pid, signal.SIGTERM)
        options = f"-Dderby.system.home={self.folder} -Djava.io.tmpdir={self.folder} -XX:-UsePerfData"
        settings = {
            **BASE,
            "spark.driver.extraJavaOptions": options,
            "spark.driver.extraClassPath": class_path(jars),
            "spark.local.dir": str(self.folder / "local"),
            "spark.sql.warehouse.dir": self.warehouse.as_uri(),
            **conf,
        }
        try:
            self.version: str = self._ask(settings)["version"]
        except BaseException:
            self.close()
            raise

    @property
    def warehouse(self) -> Path:
        """The folder of managed tables, if nothing else was configured."""
        return self.folder / "warehouse"

    @property
    def log_file(self) -> Path:
        return self.folder / "log"

    def sql(self, statement: str) -> list[dict[str, Any]]:
        """Run a statement and return its rows by column. Dates, decimals and bytes are strings, structs are lists."""
        columns, rows = self.table(statement)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def rows(self, statement: str) -> list[list[Any]]:
        """Run a statement and return its rows as lists."""
        return self.table(statement)[1]

    def table(self, statement: str) -> tuple[list[str], list[list[Any]]]:
        """Run a statement and return the names of its columns, and its rows."""
        answer = self._ask(statement)
        return answer["columns"], answer["rows"]

    def close(self) -> None:
        """End the session and delete its folder."""
        for end in (self._requests, self._answers):
            end.close()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # The JVM is in the group too, and ends with the Python process only if that ended well.
            guard.signal_group(self._process.pid, signal.SIGKILL)
            self._process.wait()
            guard.forget_process(self._process.pid)
            shutil.rmtree(self.folder, ignore_errors=True)
            guard.forget_folder(self.folder)

    def _ask(self, request: object) -> dict[str, Any]:
        with self._lock:
            # A statement that hangs ends the session, and with it the wait for its answer.
            timer = threading.Timer(STATEMENT_TIMEOUT, guard.signal_group, (self._process.pid, signal.SIGKILL))
            timer.start()
            try:
                self._requests.write(json.dumps(request) + "\n")
                self._requests.flush()
                line = self._answers.readline()
            except BrokenPipeError:
                line = ""
            finally:
                timer.cancel()
        if not line:
            raise ServerError(f"Spark ended or took too long; its log says:\n{self.log_file.read_text()[-4000:]}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SparkError(answer["error"], answer["condition"], answer["details"])
        return answer


@contextmanager
def spark(
    version: str = "3.5",
    *,
    conf: Mapping[str, str] | None = None,
    packages: Sequence[str] = (),
    hive: HiveMetastore | None = None,
    aws: MotoServer | None = None,
    jars: Sequence[Path] = (),
) -> Iterator[SparkSession]:
    """A session of Spark `version`.

    `packages` are names of `coordinates.SPARK_PACKAGES`; what has extensions is switched on. Delta takes the place of
    the session's catalog, or Hudi without Delta. `hive` is the metastore behind the session's catalog. `aws` plays AWS
    for s3a (package `s3a`) and Iceberg (package `iceberg-aws`). `conf` goes last and overrides everything.
    """
    settings: dict[str, str] = {}
    found = [*jars, *(file for package in packages for file in artifacts.class_path(SPARK_PACKAGES[version][package]))]
    if extensions := [name for key, name in EXTENSIONS.items() if key in packages]:
        settings["spark.sql.extensions"] = ",".join(extensions)
    if "delta" in packages:
        settings["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    if "hudi" in packages:
        settings["spark.serializer"] = "org.apache.spark.serializer.KryoSerializer"
        settings["spark.kryo.registrator"] = "org.apache.spark.HoodieSparkKryoRegistrar"
        settings.setdefault("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
    if hive is not None:
        settings |= _hive_settings(version, hive)
    if isinstance(hive, HiveMetastore40):
        # Before Spark's own of the same name, for Iceberg's catalog, which uses what it finds.
        found.insert(0, artifacts.archive(HMS_40_ARCHIVE) / "lib" / HMS_40_CLIENT)
    if aws is not None:
        settings |= {f"spark.hadoop.{key}": value for key, value in s3a_settings(aws).items()}
    session = SparkSession(version, {**settings, **(conf or {})}, found, aws.credentials if aws is not None else {})
    try:
        yield session
    finally:
        session.close()


def _hive_settings(version: str, hive: HiveMetastore) -> dict[str, str]:
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": hive.uri,
        "spark.sql.warehouse.dir": hive.warehouse.as_uri(),
    }
    if isinstance(hive, HiveMetastore40):
        # The client that Spark brings calls what this metastore no longer has.
        if version not in SPARK_METASTORE_CLIENTS:
            raise ServerError(f"Spark {version} has no client for {hive.name}")
        client: Jars = SPARK_METASTORE_CLIENTS[version]
        folders = artifacts.jars(client), artifacts.archive(HMS_40_ARCHIVE) / "lib", artifacts.jars(HMS_40_JARS)
        settings |= {
            "spark.sql.hive.metastore.version": "4.0.1",
            "spark.sql.hive.metastore.jars": "path",
            "spark.sql.hive.metastore.jars.path": ",".join(f"{folder.as_uri()}/*.jar" for folder in folders),
        }
    return settings


def _environment(home: Path) -> dict[str, str]:
    unwanted = ("SPARK_", "PYSPARK_", "HADOOP_", "HIVE_", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    return {
        **inherited,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "PYTHONPATH": str(home.parent),
        "PYSPARK_PYTHON": sys.executable,
        # Nothing of the machine's own configuration.
        "HADOOP_CONF_DIR": "",
    }


def _pipe(kept: str) -> tuple[Any, Any]:
    """A pipe whose end for us is a file of text, and whose other end is a descriptor for the child."""
    reading, writing = os.pipe()
    if kept == "w":
        return reading, os.fdopen(writing, "w")
    return os.fdopen(reading), writing
