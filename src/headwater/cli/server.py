"""`headwater serve` and `headwater db`: what runs on the server's own machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from headwater.cli.groups import CONTEXT
from headwater.cli.options import F, several
from headwater.settings import Settings, find_file, load

where_options: Callable[[F], F] = several(
    click.option(
        "--data", type=click.Path(path_type=Path), help="Folder of the embedded store, its key and the audit log."
    ),
    click.option("--config", type=click.Path(path_type=Path), help="TOML file with settings; HEADWATER_CONFIG."),
)
"""Where a server's settings and data are."""


def load_settings(data: Path | None, config: Path | None, **options: Any) -> Settings:
    """A server's settings by flags, environment and file."""
    flags: dict[str, Any] = {f"server.{k.replace('_', '-')}": v for k, v in options.items() if v is not None}
    if data is not None:
        flags["data"] = str(data)
    return load(config or find_file(), flags)


@click.command(context_settings=CONTEXT)
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0 takes a free one.  [default: 8090]")
@where_options
@click.option("--workers", type=int, help="Processes that serve.  [default: 1]")
@click.option("--insecure", is_flag=True, default=None, help="Listen beyond this machine without an authenticator.")
@click.option("--tls-cert", type=click.Path(), help="Certificate file for HTTPS.")
@click.option("--tls-key", type=click.Path(), help="Key file for HTTPS.")
@click.option("--root-path", help="Path under which a proxy shows the server.")
@click.option("--forwarded-allow-ips", help="Proxies whose X-Forwarded headers are believed.  [default: 127.0.0.1]")
def serve(data: Path | None, config: Path | None, **options: Any) -> None:
    """Run the server in the foreground until it is stopped.

    \b
    Examples:
      headwater serve
      headwater serve --port 9000 --data /srv/headwater
      headwater serve --config headwater.toml --workers 2
    """
    settings = load_settings(data, config, **options)
    from headwater.server.run import serve as run

    sys.exit(run(settings))


@click.group(context_settings=CONTEXT)
def db() -> None:
    """The server's own store."""


@db.command(context_settings=CONTEXT)
@where_options
def upgrade(data: Path | None, config: Path | None) -> None:
    """Bring the store to what this release needs; a new one is made.

    \b
    Examples:
      headwater db upgrade
      headwater db upgrade --config headwater.toml
    """
    settings = load_settings(data, config)
    from headwater.server.assembly import prepare_store
    from headwater.store.tables import HEAD

    before = prepare_store(settings, upgrade=True)
    if before == HEAD:
        click.echo(f"The store is at version {HEAD} already")
    else:
        click.echo(f"The store is upgraded from {before or 'nothing'} to version {HEAD}")


@db.command(context_settings=CONTEXT)
@where_options
def check(data: Path | None, config: Path | None) -> None:
    """Say whether the store must be upgraded; changes nothing. The exit code is 1 if it must.

    \b
    Examples:
      headwater db check --data /srv/headwater
    """
    settings = load_settings(data, config)
    from headwater.store.tables import HEAD

    found = store_version(settings)
    if found == HEAD:
        click.echo(f"The store is at version {found}, as this release needs it")
        return
    state = "is empty" if found is None else f"is at version {found}"
    advice = "upgrade Headwater" if found is not None and found > HEAD else "run 'headwater db upgrade'"
    raise click.ClickException(f"The store {state} and this release needs {HEAD}: {advice}")


def store_version(settings: Settings) -> str | None:
    """The version that the store is at, None for an empty one; nothing is made or changed."""
    from headwater.server.assembly import STORE_FILE, store_url

    url = store_url(settings)
    if url is None:
        from headwater.store import sqlite

        return sqlite.read_version(settings.data_folder / STORE_FILE)
    import sqlalchemy as sa

    from headwater.model.errors import StoreUnavailableError
    from headwater.store.upgrade import read_version

    engine = sa.create_engine(
        sa.make_url(url).set(drivername="postgresql+psycopg"), connect_args={"connect_timeout": 5}
    )
    try:
        with engine.connect() as connection:
            return read_version(connection)
    except sa.exc.OperationalError as e:
        reason = str(e.orig or e).strip().split("\n")[0]
        raise StoreUnavailableError(f"The store can't be reached: {reason}") from None
    finally:
        engine.dispose()
