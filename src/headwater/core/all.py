"""Importing this declares every verb."""

from headwater.core import catalogs, engines, filesets, metalakes, partitions, providers, schemas, tables
from headwater.core.verbs import VERBS

__all__ = ["VERBS", "catalogs", "engines", "filesets", "metalakes", "partitions", "providers", "schemas", "tables"]
