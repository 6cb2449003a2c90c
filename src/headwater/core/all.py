"""Importing this declares every verb."""

from headwater.core import catalogs, filesets, metalakes, partitions, providers, schemas, tables
from headwater.core.verbs import VERBS

__all__ = ["VERBS", "catalogs", "filesets", "metalakes", "partitions", "providers", "schemas", "tables"]
