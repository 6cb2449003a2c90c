"""Bring a store to the newest schema. Alembic is imported here only, and only when there is something to do."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from headwater.model.errors import HeadwaterError
from headwater.store.tables import HEAD


class StoreVersionError(HeadwaterError):
    """The store's schema does not fit this release."""


def read_version(connection: sa.Connection) -> str | None:
    """The migration that the store is at; None for an empty store."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("select version_num from alembic_version")).scalar()


def upgrade(connection: sa.Connection, to: str = HEAD) -> None:
    """Run the missing migrations in the connection's transaction: all or nothing."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, to)


def check_version(found: str | None) -> None:
    """Refuse a store that is older (and may not be touched unasked) or newer than this release."""
    if found == HEAD:
        return
    if found is not None and found > HEAD:
        raise StoreVersionError(f"The store is at version {found}, newer than this release knows ({HEAD}): upgrade it")
    state = "empty" if found is None else f"at version {found}"
    raise StoreVersionError(
        f"The store is {state} and this release needs version {HEAD}: "
        "run 'headwater db upgrade', or set store.auto-upgrade = true"
    )
