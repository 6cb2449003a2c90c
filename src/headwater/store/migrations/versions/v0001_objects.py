"""Metalakes, catalogs, managed schemas and filesets."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BYTEWISE = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    objects = op.create_table(
        "objects",
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
    root = {"id": 0, "kind": "root", "parent_id": 0, "name": "", "version": 1, "in_use": True}
    op.bulk_insert(objects, [{**root, "body": "{}", "secrets": "{}", "creator": "headwater", "created": ""}])
