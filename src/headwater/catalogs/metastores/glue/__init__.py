"""AWS Glue as the transport of a metastore."""

from __future__ import annotations

from headwater.catalogs.aws import Access
from headwater.catalogs.base import Context
from headwater.catalogs.metastores.base import Metastore
from headwater.catalogs.metastores.glue.metastore import GlueMetastore


def open_glue(context: Context, *, separate: bool = False) -> Metastore:
    """Glue by a catalog's properties, which are checked; nothing is called yet.

    `separate` as in `Access`: set where Glue is the whole catalog, so that its keys are not those of S3.
    """
    return GlueMetastore(context.name, Access(context, separate=separate))
