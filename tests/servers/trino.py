"""Trino, the released server, with the plugins that lakes need."""

import json
import os
import re
import shutil
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tests.servers import artifacts
from tests.servers.coordinates import TRINO_ARCHIVE, TRINO_PLUGINS
from tests.servers.java import class_path, java
from tests.servers.process import DIRECT, HOST, ProcessServer, ServerError

JAVA_VERSIONS = range(24, 27)
JAVA_FALLBACK = 25
QUERY_TIMEOUT = 300

JVM_OPTIONS = (
    "-Xmx1200M",
    "-XX:+UseG1GC",
    "-XX:G1HeapRegionSize=16M",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:ReservedCodeCacheSize=256M",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+EnableDynamicAgentLoading",
    "-Djdk.attach.allowAttachSelf=true",
    "-Djdk.nio.maxCachedBufferSize=2000000",
    "-Dfile.encoding=UTF-8",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)


# What it says at length about itself, left out.
LOG_LEVELS = {"io.trino": "INFO", "Bootstrap": "WARN", "org.eclipse.jetty": "WARN", "org.hibernate": "WARN"}


class TrinoError(Exception):
    """A query that failed; `name` is Trino's name of the error."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class TrinoServer(ProcessServer):
    """Trino on one node. `catalogs` are the properties of each catalog; queries can make further ones."""

    name: ClassVar[str] = "trino"
    start_timeout: ClassVar[float] = 180

    def __init__(self, port: int | None = None, *, catalogs: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._catalogs = {name: dict(properties) for name, properties in (catalogs or {}).items()}
        super().__init__(port)

    @property
    def uri(self) -> str:
        return f"http://{HOST}:{self.port}"

    def query(self, statement: str) -> list[list[Any]]:
        """Run a statement and return its rows."""
        request = urllib.request.Request(
            f"{self.uri}/v1/statement", statement.encode(), {"X-Trino-User": "tests", "X-Trino-Time-Zone": "UTC"}
        )
        rows: list[list[Any]] = []
        while True:
            with DIRECT.open(request, timeout=QUERY_TIMEOUT) as answer:
                said = json.load(answer)
            if "error" in said:
                raise TrinoError(said["error"]["errorName"], said["error"]["message"])
            rows += said.get("data", [])
            if "nextUri" not in said:
                return rows
            request = urllib.request.Request(said["nextUri"])

    def start(self) -> None:
        written_before = self.log_file.stat().st_size if self.log_file.exists() else 0
        super().start()
        # A catalog with a wrong property is left out, with no more than that in the log.
        written = self.log_file.read_bytes()[written_before:].decode()
        if failed := re.search(r"Failed to load catalog (\S+) .*\n(?:.*\n){,8}", written):
            self.stop()
            raise ServerError(f"{self.name} did not load the catalog {failed[1]}; its log says:\n{failed[0]}")

    def prepare(self) -> None:
        self._installation = artifacts.archive(TRINO_ARCHIVE, finish=_remove_plugins)
        for name, properties in self._catalogs.items():
            _write_properties(self._configuration / "catalog" / f"{name}.properties", properties)
        _write_properties(self._configuration / "log.properties", LOG_LEVELS)
        # Of the folder that it looks for them in.
        (self.folder / "plugin").symlink_to(self._installation / "plugin")

    def command(self) -> Sequence[str]:
        settings = {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": str(self.port),
            "discovery.uri": self.uri,
            "query.max-memory": "300MB",
            "query.max-memory-per-node": "300MB",
            "catalog.management": "dynamic",
            "node.environment": "tests",
            "node.id": "tests",
            "node.bind-ip": HOST,
            "node.internal-address": HOST,
        }
        configuration = self._configuration / "config.properties"
        _write_properties(configuration, settings)
        return [
            str(java(JAVA_VERSIONS, JAVA_FALLBACK)),
            *JVM_OPTIONS,
            f"-Djava.io.tmpdir={self.folder}",
            f"-Dconfig={configuration}",
            "-Dlog.enable-console=true",
            f"-Dlog.levels-file={self._configuration / 'log.properties'}",
            "-cp",
            class_path([self._installation / "lib" / "*"]),
            "io.trino.server.TrinoServer",
        ]

    def environment(self) -> Mapping[str, str]:
        unwanted = ("AWS_", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
        return {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}

    def answers(self) -> bool:
        try:
            with DIRECT.open(f"{self.uri}/v1/info", timeout=1) as answer:
                return json.load(answer)["starting"] is False
        except (OSError, ValueError):
            return False

    @property
    def _configuration(self) -> Path:
        return self.folder / "etc"


def _write_properties(file: Path, properties: Mapping[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


def _remove_plugins(installation: Path) -> None:
    for plugin in (installation / "plugin").iterdir():
        if plugin.name not in TRINO_PLUGINS:
            shutil.rmtree(plugin)
