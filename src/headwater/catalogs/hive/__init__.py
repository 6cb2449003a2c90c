"""Provider `hive`: the tables of a Hive Metastore, or of AWS Glue in its place."""

from __future__ import annotations

from headwater.catalogs.aws import S3_PROPERTIES, aws_properties
from headwater.catalogs.metastores import formats
from headwater.catalogs.metastores.base import Metastore
from headwater.catalogs.metastores.entries import EXTERNAL_TABLE, MANAGED_TABLE
from headwater.catalogs.metastores.glue import open_glue
from headwater.catalogs.metastores.thrift import PROPERTIES as THRIFT_PROPERTIES
from headwater.catalogs.metastores.thrift import open_thrift
from headwater.catalogs.mixed.provider import MetastoreProvider
from headwater.model.errors import IllegalArgumentError
from headwater.model.properties import Kind, Properties, Property

_ONLY_GLUE = ("aws-glue-",)
_ONLY_THRIFT = ("metastore.uris", "client.", "default.catalog", "impersonation-enable", "kerberos.", "authentication.")


class HiveProvider(MetastoreProvider):
    """One metastore, reached by Thrift or by Glue's API."""

    name = "hive"
    summary = "Hive Metastore, or AWS Glue as one: tables of every format"
    catalog_properties = Properties(
        [
            Property(
                name="metastore-type",
                description="What keeps the tables: a Hive Metastore (hive), or AWS Glue (glue).",
                kind=Kind.CHOICE,
                choices=("hive", "glue"),
                default="hive",
                immutable=True,
            ),
            Property(
                name="metastore.uris",
                description="thrift://host:9083; several, with commas between them, are tried in their order.",
                required_when={"metastore-type": ("hive",)},
            ),
            Property(
                name="list-all-tables",
                description="Show Iceberg, Hudi and Paimon tables too.",
                kind=Kind.BOOLEAN,
                default="true",
            ),
            Property(
                name="warehouse",
                description="Folder of new Iceberg tables, if neither they nor their schema name one.",
                kind=Kind.LOCATION,
            ),
            *THRIFT_PROPERTIES,
            *aws_properties(required=False),
            *S3_PROPERTIES,
        ]
    )

    @property
    def on_glue(self) -> bool:  # type: ignore[override]
        """Whether Glue takes the Hive Metastore's place."""
        return self.context.properties.get("metastore-type", "hive").lower() == "glue"

    @property
    def default_kind(self) -> str:  # type: ignore[override]
        """Glue deletes no data, so that nothing in it is really managed."""
        return EXTERNAL_TABLE if self.on_glue else MANAGED_TABLE

    def open_metastore(self) -> Metastore:
        """By Thrift or by Glue's API; what belongs to the other one is refused, for it would do nothing."""
        foreign = _ONLY_THRIFT if self.on_glue else _ONLY_GLUE
        for key in self.context.properties:
            if key.startswith(foreign):
                kind = "glue" if self.on_glue else "hive"
                raise IllegalArgumentError(f"properties.{key}: it has no meaning with metastore-type={kind}")
        if self.on_glue:
            return open_glue(self.context)
        return open_thrift(self.context, self.context.properties["metastore.uris"])

    def shown_formats(self) -> frozenset[str]:
        """All, unless the older habit of hiding other formats is wanted."""
        if self.context.properties.get("list-all-tables", "true").lower() == "true":
            return frozenset({"all"})
        return frozenset({formats.HIVE, formats.DELTA})
