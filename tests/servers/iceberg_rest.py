"""The REST server of the Iceberg project (its reference implementation, on SQLite)."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from tests.servers import artifacts
from tests.servers.coordinates import ICEBERG_REST_JARS, ICEBERG_REST_S3_JARS
from tests.servers.java import class_path, compiled, java
from tests.servers.moto import MotoServer
from tests.servers.process import HOST, ProcessServer, http_answers

SOURCE = Path(__file__).parent / "sources" / "LoopbackIcebergRest.java"


class IcebergRestServer(ProcessServer):
    """An Iceberg REST catalog.

    `warehouse` is where tables go, by default a folder of the server's own. `aws` is the server that plays S3 for a
    warehouse `s3://...`. `properties` are further ones of the catalog behind it.
    """

    name: ClassVar[str] = "iceberg-rest"

    def __init__(
        self,
        port: int | None = None,
        *,
        warehouse: str | Path | None = None,
        aws: MotoServer | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._warehouse = warehouse
        self._aws = aws
        self._properties = dict(properties or {})
        super().__init__(port)

    @property
    def uri(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def warehouse(self) -> str:
        """The address of the warehouse."""
        where = self.folder / "warehouse" if self._warehouse is None else self._warehouse
        return where.as_uri() if isinstance(where, Path) else where

    def prepare(self) -> None:
        libraries = artifacts.class_path(ICEBERG_REST_JARS)
        if self._aws is not None:
            libraries += artifacts.class_path(ICEBERG_REST_S3_JARS)
        classes = compiled("iceberg-rest-classes", [SOURCE], libraries)
        self._class_path = class_path([classes, *libraries])

    def command(self) -> Sequence[str]:
        properties = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:sqlite:{self.folder / 'catalog.db'}",
            # The one that has views.
            "jdbc.schema-version": "V1",
            # SQLite refuses a second writer at the same time.
            "clients": "1",
            "warehouse": self.warehouse,
            **self._s3_properties(),
            **self._properties,
            "port": str(self.port),
        }
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
        options += [
            "-Djava.net.preferIPv4Stack=true",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            f"-Djava.io.tmpdir={self.folder}",
        ]
        main = "org.apache.iceberg.rest.LoopbackIcebergRest"
        arguments = [f"{key}={value}" for key, value in properties.items()]
        return [str(java()), *options, "-cp", self._class_path, main, *arguments]

    def environment(self) -> Mapping[str, str]:
        return {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CATALOG_"))}

    def answers(self) -> bool:
        return http_answers(f"{self.uri}/v1/config")

    def _s3_properties(self) -> dict[str, str]:
        if self._aws is None:
            return {}
        return {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "client.region": self._aws.region,
            "s3.endpoint": self._aws.uri,
            "s3.path-style-access": "true",
            "s3.access-key-id": self._aws.access_key_id,
            "s3.secret-access-key": self._aws.secret_access_key,
        }
