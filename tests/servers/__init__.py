"""Real servers for tests, the demo and the benchmarks, each on a free loopback port with its data in a scratch folder.

A factory returns a server that already answers; leaving its `with` block (or `close`) stops it and deletes its folder:

    with servers.postgres() as pg, servers.moto() as aws:
        uri = pg.create_database("lake")
        aws.create_bucket("warehouse")

From a shell: `python -m tests.servers up postgres moto`.
"""

from collections.abc import Callable

from tests.servers.aws import AwsServer
from tests.servers.hanging import HangingServer
from tests.servers.hms import HiveMetastore, HiveMetastore31, HiveMetastore40
from tests.servers.iceberg_rest import IcebergRestServer
from tests.servers.moto import MotoServer
from tests.servers.postgres import PostgresServer
from tests.servers.process import ProcessServer, Server, ServerError, free_port
from tests.servers.trino import TrinoError, TrinoServer

postgres = PostgresServer
moto = MotoServer
aws = AwsServer
hanging = HangingServer
hms31 = HiveMetastore31
hms40 = HiveMetastore40
iceberg_rest = IcebergRestServer
trino = TrinoServer

# What `python -m tests.servers up` can start. A further server is one module and one line here.
REGISTRY: dict[str, Callable[[int | None], Server]] = {
    "postgres": PostgresServer,
    "moto": MotoServer,
    "aws": AwsServer,
    "hanging": HangingServer,
    "hms31": HiveMetastore31,
    "hms40": HiveMetastore40,
    "iceberg-rest": IcebergRestServer,
    "trino": TrinoServer,
}

__all__ = [
    "REGISTRY",
    "AwsServer",
    "HangingServer",
    "HiveMetastore",
    "HiveMetastore31",
    "HiveMetastore40",
    "IcebergRestServer",
    "MotoServer",
    "PostgresServer",
    "ProcessServer",
    "Server",
    "ServerError",
    "TrinoError",
    "TrinoServer",
    "aws",
    "free_port",
    "hanging",
    "hms31",
    "hms40",
    "iceberg_rest",
    "moto",
    "postgres",
    "trino",
]
