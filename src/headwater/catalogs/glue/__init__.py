"""Provider `glue`: everything that an AWS Glue Data Catalog holds, in one catalog."""

from __future__ import annotations

from headwater.catalogs.aws import S3_PROPERTIES, aws_properties
from headwater.catalogs.metastores import formats
from headwater.catalogs.metastores.base import Metastore
from headwater.catalogs.metastores.entries import EXTERNAL_TABLE, Entry
from headwater.catalogs.metastores.glue import open_glue
from headwater.catalogs.mixed.properties import FORMATS
from headwater.catalogs.mixed.provider import MetastoreProvider
from headwater.model.errors import IllegalArgumentError
from headwater.model.properties import Kind, Properties, Property

FILTER, ALIAS = "table-type-filter", "table-format-filter"


class GlueProvider(MetastoreProvider):
    """One Glue catalog: Hive, Iceberg, Delta, Hudi and plain tables side by side."""

    name = "glue"
    summary = "AWS Glue Data Catalog: tables of every format"
    catalog_properties = Properties(
        [
            *aws_properties(required=True),
            Property(
                name="default-table-format",
                description="Format of a new table that names none.",
                kind=Kind.CHOICE,
                choices=FORMATS,
                default=formats.ICEBERG,
            ),
            Property(
                name=FILTER,
                description=f"What is listed and loaded, with commas between: {', '.join(formats.FILTERS)}.",
                default="all",
            ),
            Property(name=ALIAS, description=f"Another name of {FILTER}."),
            Property(
                name="warehouse",
                description="Folder of new tables, if neither they nor their schema name one.",
                kind=Kind.LOCATION,
            ),
            *S3_PROPERTIES,
        ]
    )
    on_glue = True
    separate_keys = True
    default_kind = EXTERNAL_TABLE

    def open_metastore(self) -> Metastore:
        """By Glue's API."""
        return open_glue(self.context, separate=self.separate_keys)

    def usual_table_format(self) -> str:
        """Iceberg, as the design of this provider says."""
        return formats.ICEBERG

    def shown_formats(self) -> frozenset[str]:
        """What the filter names."""
        given = {key: self.context.properties[key] for key in (FILTER, ALIAS) if key in self.context.properties}
        parsed = [formats.parse_filter(f"properties.{key}", text) for key, text in given.items()]
        if len(set(parsed)) > 1:
            raise IllegalArgumentError(f"properties: {FILTER} and {ALIAS} contradict each other")
        return parsed[0] if parsed else frozenset({"all"})

    def _purge(self, entry: Entry) -> None:
        """The same as a drop: Glue deletes no data, and the files are an engine's to delete."""
        self._drop(entry, delete_data=False)
