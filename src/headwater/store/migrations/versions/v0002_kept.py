"""What outside catalogs can't keep about their objects, and folders still to be removed."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

BYTEWISE = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "kept",
        sa.Column("catalog_id", sa.BigInteger, sa.ForeignKey("objects.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("path", BYTEWISE, primary_key=True),
        sa.Column("identity", sa.String, nullable=False),
        sa.Column("creator", sa.String, nullable=False),
        sa.Column("created", sa.String, nullable=False),
        sa.Column("modifier", sa.String),
        sa.Column("modified", sa.String),
    )
    op.create_table(
        "trash",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("catalog_id", sa.BigInteger, sa.ForeignKey("objects.id", ondelete="CASCADE"), nullable=False),
        sa.Column("locations", sa.String, nullable=False),
    )
