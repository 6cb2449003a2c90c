"""pyiceberg's SQL catalog with one question asked exactly."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergNamespaceProperties, IcebergTables, SqlCatalog

from headwater.catalogs.iceberg.files import OurFiles


class ExactSqlCatalog(OurFiles, SqlCatalog):
    """Tells `S` from `s`: pyiceberg looks for schemas inside a schema with LIKE, which SQLite takes in any case."""

    def namespace_exists(self, identifier: Any) -> bool:
        """Whether the namespace, or one inside of it, is there."""
        name = Catalog.namespace_to_string(Catalog.identifier_to_tuple(identifier))
        tables: Any = IcebergTables.__table__
        spaces: Any = IcebergNamespaceProperties.__table__
        with self.engine.connect() as connection:
            for table, column in ((spaces, spaces.c.namespace), (tables, tables.c.table_namespace)):
                text = sa.collate(column, "C") if self.engine.dialect.name == "postgresql" else column
                inside = (text >= f"{name}.") & (text < f"{name}/")
                found = sa.select(sa.literal(1)).where(
                    (table.c.catalog_name == self.name) & ((column == name) | inside)
                )
                if connection.execute(found.limit(1)).fetchall():
                    return True
        return False
