"""What may keep the list of namespaces and tables. A new one is one module here and one line in `_BACKENDS`."""

from __future__ import annotations

from headwater.catalogs.aws import S3_PROPERTIES
from headwater.catalogs.base import Context
from headwater.catalogs.iceberg.backends.base import Backend
from headwater.catalogs.iceberg.backends.custom import CustomBackend
from headwater.catalogs.iceberg.backends.metastores import GlueBackend, HiveBackend
from headwater.catalogs.iceberg.backends.rest import RestBackend
from headwater.catalogs.iceberg.backends.sql import DatabaseBackend, MemoryBackend
from headwater.catalogs.iceberg.properties import CODE
from headwater.model.properties import DRIVER_PREFIX, Kind, Properties, Property

_BACKENDS: dict[str, type[Backend]] = {
    "memory": MemoryBackend,
    "jdbc": DatabaseBackend,
    "rest": RestBackend,
    "hive": HiveBackend,
    "glue": GlueBackend,
    "custom": CustomBackend,
}

CATALOG = Properties(
    [
        Property(
            name="catalog-backend",
            description="What keeps the list of tables: a database (jdbc), an Iceberg REST server (rest), a Hive "
            "Metastore (hive), AWS Glue (glue), a Python class (custom), or this process while it lives (memory).",
            kind=Kind.CHOICE,
            choices=tuple(_BACKENDS),
            required=True,
            immutable=True,
        ),
        Property(
            name="uri",
            description="Of a database: sqlite:////absolute/path, postgresql://host:port/database, or the same with "
            "jdbc: in front (user and password go into jdbc-user and jdbc-password). Of a REST server: "
            "http(s)://host:port/path. Of a Hive Metastore: thrift://host:port, or several with commas.",
            required_when={"catalog-backend": ("jdbc", "rest", "hive")},
        ),
        Property(
            name="warehouse",
            description="Folder of new tables that name no location: an absolute path, file: or s3://bucket/path. "
            "For a REST server, the name of one of its warehouses.",
        ),
        Property(
            name="catalog-backend-name",
            description="The catalog's name inside the database; several may share one.",
            default="the backend's name",
        ),
        *(p for backend in _BACKENDS.values() for p in backend.properties),
        *S3_PROPERTIES,
        *(
            Property(name=f"{DRIVER_PREFIX}{key}", description="Names code; not settable here.", reserved=True)
            for key in CODE
        ),
        *(
            Property(
                name=f"{DRIVER_PREFIX}s3.{key}", description="Handed to pyiceberg without the prefix.", hidden=True
            )
            for key in ("access-key-id", "secret-access-key", "session-token")
        ),
        Property(name=f"{DRIVER_PREFIX}s3.*", description="Handed to pyiceberg without the prefix."),
    ]
)
"""The properties of an Iceberg catalog."""


def make_backend(context: Context) -> Backend:
    """The backend that a catalog's properties name; they are checked, and nothing is opened yet."""
    return _BACKENDS[context.properties["catalog-backend"].lower()](context)
