"""The declared properties of schemas and tables in a metastore."""

from __future__ import annotations

from headwater.catalogs.metastores import formats
from headwater.catalogs.metastores.reading import SERDE_PARAMETER
from headwater.catalogs.metastores.sparkschema import PREFIX
from headwater.model.properties import Kind, Properties, Property

FORMATS = (formats.HIVE, formats.ICEBERG)
"""What can be made here; tables of all other formats are shown, and made by their engines."""

KEEPS_ITSELF = ("EXTERNAL", "transient_lastDdlTime", "numFiles", "totalSize", "numRows", "rawDataSize")
"""Parameters that a metastore works out by itself."""

SCHEMA = Properties(
    [
        Property(name="location", description="Folder of new tables that name no location.", kind=Kind.LOCATION),
        Property(name="headwater.*", description="Headwater's own notes.", reserved=True, hidden=True),
    ]
)


def _fixed(name: str, description: str, **more: object) -> Property:
    return Property(name=name, description=description, immutable=True, **more)  # type: ignore[arg-type]


TABLE = Properties(
    [
        _fixed("location", "The table's folder.", kind=Kind.LOCATION),
        _fixed("table-format", "The table's format.", kind=Kind.CHOICE, choices=FORMATS),
        _fixed("table_type", "The same, under the name that engines use.", kind=Kind.CHOICE, choices=FORMATS),
        _fixed("metadata_location", "An Iceberg table's metadata file: makes it known here instead of a new one."),
        _fixed("previous_metadata_location", "An Iceberg table's metadata file before the last change."),
        _fixed(
            "format",
            "File format of a Hive table: " + ", ".join(formats.STORAGE) + "; of an Iceberg one parquet, orc or avro.",
        ),
        _fixed("input-format", "Java class that reads files, instead of the format's own."),
        _fixed("output-format", "Java class that writes files, instead of the format's own."),
        _fixed("serde-lib", "Java class that reads rows, instead of the format's own."),
        _fixed("serde-name", "Name of the SerDe."),
        Property(name=f"{SERDE_PARAMETER}*", description="Handed to the SerDe without the prefix."),
        _fixed(
            "table-type",
            "Who owns the data: the metastore deletes that of a managed table with it.",
            kind=Kind.CHOICE,
            choices=("managed_table", "external_table", "managed", "external"),
        ),
        _fixed("external-table", "The same as table-type=EXTERNAL_TABLE.", kind=Kind.BOOLEAN),
        _fixed("managed-table", "The same as table-type=MANAGED_TABLE.", kind=Kind.BOOLEAN),
        _fixed(f"{PREFIX}*", "Spark's own description of the table; a change of columns keeps it true."),
        _fixed("schema-source", "Where the columns come from.", reserved=True),
        *(Property(name=key, description="Kept by the metastore itself.", reserved=True) for key in KEEPS_ITSELF),
        Property(name="presto_view", description="Marks a view.", reserved=True),
        Property(name="headwater.*", description="Headwater's own notes.", reserved=True, hidden=True),
    ]
)
