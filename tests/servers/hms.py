"""Hive Metastore 3.1.3 and 4.0.1, the released servers, on Derby.

The database's schema is made once and kept as a template in the cache. A table or database may lie in an object store:
what the metastore does there (it makes the folder of a new table and, where asked, deletes that of a dropped one) it
does to a folder of its own instead, `object_stores / scheme / bucket / key`, or in S3 itself if it is given an `aws`.
"""

import contextlib
import os
import shutil
import socket
import struct
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from xml.sax.saxutils import escape

from tests.servers import artifacts
from tests.servers.coordinates import HADOOP_S3A, HMS_31_ARCHIVE, HMS_31_JARS, HMS_40_ARCHIVE, HMS_40_JARS, Jars
from tests.servers.java import class_path, compiled, java
from tests.servers.moto import MotoServer
from tests.servers.process import HOST, ProcessServer

SOURCES = Path(__file__).parent / "sources"
OBJECT_STORES = ("s3", "s3a", "s3n", "gs", "abfs", "abfss", "oss", "hdfs")
DERBY_FOLDER = "database"
LOGGING = """\
status=ERROR
rootLogger.level=WARN
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{HH:mm:ss.SSS} %-5p [%t] %c{1}: %m%n
logger.datanucleus.name=DataNucleus
logger.datanucleus.level=ERROR
logger.hadoop.name=org.apache.hadoop.util
logger.hadoop.level=ERROR
"""


class HiveMetastore(ProcessServer):
    """A metastore. `aws` plays S3 for it; `settings` are further ones of metastore-site.xml."""

    archive: ClassVar[str]
    jars: ClassVar[Jars]
    schema_tool: ClassVar[str]
    own_sources: ClassVar[tuple[str, ...]]
    start_timeout: ClassVar[float] = 120

    def __init__(
        self, port: int | None = None, *, aws: MotoServer | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self._s3 = [HADOOP_S3A] if aws is not None else []
        self._further_settings = {**(s3a_settings(aws) if aws is not None else {}), **(settings or {})}
        super().__init__(port)

    @property
    def uri(self) -> str:
        return f"thrift://{HOST}:{self.port}"

    @property
    def warehouse(self) -> Path:
        """The folder of managed tables."""
        return self.folder / "warehouse"

    @property
    def object_stores(self) -> Path:
        """Where the metastore's folders in object stores are."""
        return self.folder / "object-stores"

    @contextlib.contextmanager
    def client(self) -> Iterator[Any]:
        """The Metastore by its own bindings, with none of our code between."""
        from hive_metastore import ThriftHiveMetastore
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol
        from thrift.transport.TSocket import TSocket
        from thrift.transport.TTransport import TBufferedTransport

        transport = TBufferedTransport(TSocket(HOST, self.port))
        transport.open()
        with contextlib.closing(transport):
            yield ThriftHiveMetastore.Client(TBinaryProtocol(transport))

    def prepare(self) -> None:
        self.warehouse.mkdir()
        self.object_stores.mkdir()
        installation = artifacts.archive(self.archive)
        libraries = [*sorted((installation / "lib").glob("*.jar")), *artifacts.class_path(self.jars)]
        sources = [SOURCES / source for source in self.own_sources]
        classes = compiled(f"{self.jars.name}-classes", sources, libraries)
        for further in self._s3:
            libraries += artifacts.class_path(further)
        self._class_path = class_path([classes, *libraries])
        content = self.archive, self.jars
        template = artifacts.cached(f"{self.jars.name}-derby", content, self._make_schema)
        shutil.copytree(template / DERBY_FOLDER, self.folder / DERBY_FOLDER)
        self._configure(self.folder)

    def command(self) -> Sequence[str]:
        return [*self._java(self.folder), "-Xms128m", "-Xmx512m", *self.main()]

    @abstractmethod
    def main(self) -> Sequence[str]:
        """The server's class and its arguments."""

    def answers(self) -> bool:
        with contextlib.suppress(OSError):
            return b"default" in call(self.port, "get_all_databases")
        return False

    def environment(self) -> Mapping[str, str]:
        # Of no meaning here, but read: foreign settings, and options that every Java announces on its output.
        unwanted = ("HIVE_", "HADOOP_", "METASTORE_", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
        return {**inherited, "METASTORE_HOME": str(artifacts.archive(self.archive))}

    def _make_schema(self, folder: Path) -> None:
        self._configure(folder)
        tool = [*self._java(folder), self.schema_tool, "-dbType", "derby", "-initSchema"]
        artifacts.run(f"the schema tool of {self.name}", tool, folder, self.environment())

    def _java(self, folder: Path) -> list[str]:
        logging = folder / "configuration" / "metastore-log4j2.properties"
        return [
            str(java()),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            "-Djava.net.preferIPv4Stack=true",
            f"-Dlog4j2.configurationFile={logging.as_uri()}",
            f"-Dderby.stream.error.file={folder / 'derby.log'}",
            f"-Djava.io.tmpdir={folder}",
            "-cp",
            class_path([folder / "configuration", self._class_path]),
        ]

    def _configure(self, folder: Path) -> None:
        configuration = folder / "configuration"
        configuration.mkdir()
        settings = {
            "metastore.thrift.bind.host": HOST,
            "metastore.warehouse.dir": self.warehouse.as_uri(),
            "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
            "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
            "metastore.event.db.notification.api.auth": "false",
            "hive.metastore.event.db.notification.api.auth": "false",
            "metastore.async.log.enabled": "false",
            "metastore.server.min.threads": "4",
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / DERBY_FOLDER};create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "javax.jdo.option.ConnectionUserName": "APP",
            "javax.jdo.option.ConnectionPassword": "mine",
            "datanucleus.connectionPoolingType": "HikariCP",
            "headwater.folders": str(self.object_stores),
            **{f"fs.{scheme}.impl": "FolderFileSystem" for scheme in OBJECT_STORES},
            **self._further_settings,
        }
        properties = "".join(
            f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
            for name, value in settings.items()
        )
        (configuration / "metastore-site.xml").write_text(f"<configuration>\n{properties}</configuration>\n")
        (configuration / "metastore-log4j2.properties").write_text(LOGGING)


class HiveMetastore31(HiveMetastore):
    name: ClassVar[str] = "hms31"
    archive: ClassVar[str] = HMS_31_ARCHIVE
    jars: ClassVar[Jars] = HMS_31_JARS
    schema_tool: ClassVar[str] = "org.apache.hadoop.hive.metastore.tools.MetastoreSchemaTool"
    own_sources: ClassVar[tuple[str, ...]] = ("FolderFileSystem.java", "LoopbackMetastore.java")

    def main(self) -> Sequence[str]:
        return ["LoopbackMetastore", str(self.port)]


class HiveMetastore40(HiveMetastore):
    name: ClassVar[str] = "hms40"
    archive: ClassVar[str] = HMS_40_ARCHIVE
    jars: ClassVar[Jars] = HMS_40_JARS
    schema_tool: ClassVar[str] = "org.apache.hadoop.hive.metastore.tools.schematool.MetastoreSchemaTool"
    own_sources: ClassVar[tuple[str, ...]] = ("FolderFileSystem.java",)

    def main(self) -> Sequence[str]:
        return ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(self.port)]


def s3a_settings(aws: MotoServer) -> dict[str, str]:
    """What Hadoop is to be told so that it finds `s3:` and its like in this server."""
    settings = {
        "endpoint": aws.uri,
        "endpoint.region": aws.region,
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "access.key": aws.access_key_id,
        "secret.key": aws.secret_access_key,
    }
    return {
        **{f"fs.s3a.{key}": value for key, value in settings.items()},
        **{f"fs.{scheme}.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem" for scheme in ("s3", "s3a", "s3n")},
    }


def call(port: int, method: str, timeout: float = 5) -> bytes:
    """Call a method without arguments of the metastore and return the raw answer, or what has come of it so far."""
    # Thrift's strict binary protocol: version and kind, name, sequence id, and an empty struct of arguments.
    name = method.encode()
    request = struct.pack(">Ii", 0x8001_0001, len(name)) + name + struct.pack(">ib", 0, 0)
    with socket.create_connection((HOST, port), timeout) as connection:
        connection.sendall(request)
        return connection.recv(65536)
