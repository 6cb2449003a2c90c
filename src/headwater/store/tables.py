"""The tables of Headwater's own store. Migrations (one tree for all databases) make them; this is what queries use."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

BYTEWISE = sa.String().with_variant(sa.String(collation="C"), "postgresql")
"""Text that is compared and ordered byte by byte, so that every database pages alike."""

HEAD = "0002"
"""The newest migration. A start compares it with what the store says and loads Alembic only if they differ."""

objects = sa.Table(
    "objects",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("parent_id", sa.BigInteger, sa.ForeignKey("objects.id"), nullable=False),
    sa.Column("name", BYTEWISE, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("in_use", sa.Boolean, nullable=False),
    sa.Column("body", sa.String, nullable=False),
    sa.Column("secrets", sa.String, nullable=False),
    sa.Column("creator", sa.String, nullable=False),
    sa.Column("created", sa.String, nullable=False),
    sa.Column("modifier", sa.String),
    sa.Column("modified", sa.String),
    sa.UniqueConstraint("parent_id", "kind", "name", name="objects_by_name"),
)
"""What Headwater keeps itself: metalakes, catalogs, managed schemas, filesets. Row 0 is the parent of all metalakes."""

kept = sa.Table(
    "kept",
    metadata,
    sa.Column("catalog_id", sa.BigInteger, sa.ForeignKey("objects.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("kind", sa.String, primary_key=True),
    sa.Column("path", BYTEWISE, primary_key=True),
    sa.Column("identity", sa.String, nullable=False),
    sa.Column("creator", sa.String, nullable=False),
    sa.Column("created", sa.String, nullable=False),
    sa.Column("modifier", sa.String),
    sa.Column("modified", sa.String),
)
"""What an outside catalog can't keep about its own objects, tied to the object by the source's own identity."""

trash = sa.Table(
    "trash",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("catalog_id", sa.BigInteger, sa.ForeignKey("objects.id", ondelete="CASCADE"), nullable=False),
    sa.Column("locations", sa.String, nullable=False),
)
"""Folders whose fileset is gone but which are not removed yet: written with the drop, so that a crash forgets none."""
