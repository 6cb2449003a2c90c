"""The command line's entry: `headwater` and `gcli`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from headwater import __version__
from headwater.model.errors import HeadwaterError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="headwater")
def cli() -> None:
    """One lake of metadata over every catalog you own."""


@cli.command()
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0 takes a free one.  [default: 8090]")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of the embedded store, its key and the audit log."
)
@click.option("--config", type=click.Path(path_type=Path), envvar="HEADWATER_CONFIG", help="TOML file with settings.")
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
    from headwater.server.run import serve as run
    from headwater.settings import load

    flags: dict[str, Any] = {f"server.{k.replace('_', '-')}": v for k, v in options.items() if v is not None}
    if data is not None:
        flags["data"] = str(data)
    sys.exit(run(load(config, flags)))


def main() -> None:
    """Run a command; an expected error is one line on standard error."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as e:
        sys.exit(e.exit_code)
    except click.ClickException as e:
        e.show()
        sys.exit(e.exit_code)
    except click.Abort:
        sys.exit(130)
    except HeadwaterError as e:
        click.echo(f"headwater: {e.message}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
