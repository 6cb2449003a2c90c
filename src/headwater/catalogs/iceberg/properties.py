"""The declared properties of Iceberg catalogs, namespaces and tables."""

from __future__ import annotations

from headwater.model.properties import Kind, Properties, Property

CODE = ("py-io-impl", "py-catalog-impl", "write.py-location-provider.impl")
"""Keys by which pyiceberg is told to import a class: nobody may choose what code the server runs."""

SCHEMA = Properties(
    [
        Property(name="comment", description="Served as the schema's comment.", reserved=True, hidden=True),
        Property(name="headwater.*", description="Headwater's own notes.", reserved=True, hidden=True),
        Property(name="location", description="Folder of new tables that name no location."),
        Property(name="exists", description="Iceberg's own mark of a namespace.", reserved=True),
    ]
)

TYPE_NOTE = "headwater.type."
"""Prefix of table properties that note which varchar or char type a field was declared with."""

TABLE = Properties(
    [
        Property(name="location", description="The table's folder.", immutable=True, kind=Kind.LOCATION),
        Property(
            name="provider", description="Always iceberg.", kind=Kind.CHOICE, choices=("iceberg",), immutable=True
        ),
        Property(
            name="format",
            description="File format of new data files.",
            kind=Kind.CHOICE,
            choices=("iceberg/parquet", "iceberg/orc", "iceberg/avro", "parquet", "orc", "avro", "iceberg"),
            immutable=True,
            default="iceberg/parquet",
        ),
        Property(
            name="format-version",
            description="Version of the Iceberg table format.",
            kind=Kind.CHOICE,
            choices=("1", "2", "3"),
            default="2",
            immutable=True,
        ),
        Property(name="comment", description="Served as the table's comment.", reserved=True, hidden=True),
        Property(name="creator", description="Served in the audit data.", reserved=True),
        Property(name="current-snapshot-id", description="The current snapshot, or none.", reserved=True),
        Property(name="cherry-pick-snapshot-id", description="Not settable here.", reserved=True),
        Property(name="sort-order", description="The sort order as text.", reserved=True),
        Property(name="identifier-fields", description="The fields that identify a row.", reserved=True),
        Property(name="write.distribution-mode", description="Served as the table's distribution.", reserved=True),
        *(
            Property(name=key, description="Folder into which files are written.", kind=Kind.LOCATION)
            for key in (
                "write.metadata.path",
                "write.data.path",
                "write.object-storage.path",
                "write.folder-storage.path",
            )
        ),
        *(
            Property(name=key, description="A whole number that Iceberg's libraries read.", kind=Kind.INTEGER)
            for key in (
                "commit.retry.num-retries",
                "commit.retry.min-wait-ms",
                "commit.retry.max-wait-ms",
                "commit.retry.total-timeout-ms",
                "write.metadata.previous-versions-max",
                "write.target-file-size-bytes",
            )
        ),
        Property(
            name="write.metadata.delete-after-commit.enabled",
            description="Remove old metadata files.",
            kind=Kind.BOOLEAN,
        ),
        Property(
            name="write.format.default",
            description="File format of new data files.",
            kind=Kind.CHOICE,
            choices=("parquet", "orc", "avro"),
        ),
        *(Property(name=key, description="Names code; not settable here.", reserved=True) for key in CODE),
        Property(name="headwater.*", description="Headwater's own notes.", reserved=True, hidden=True),
    ]
)
