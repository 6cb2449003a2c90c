"""Commands that are about the program itself: its version and its completion in shells."""

from __future__ import annotations

import click

from headwater import __version__
from headwater.cli.groups import CONTEXT
from headwater.cli.verbs import Session, command
from headwater.model.errors import ConnectionFailedError


def _version(s: Session) -> None:
    """Show the version of this program and of the server.

    \b
    Examples:
      headwater version
      headwater version --server http://lake.example.com:8090
    """
    found = {"client": __version__, "server": None}
    try:
        found["server"] = s.client.version()
    except ConnectionFailedError:
        server = f"not reachable at {s.client.uri}"
    else:
        server = f"{found['server']} at {s.client.uri}"
    s.show.pairs([("client", __version__), ("server", server)], data=found)


version = command(_version, "version", metalake=False)


@click.command(context_settings=CONTEXT)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands in a shell.

    \b
    Examples:
      source <(headwater completion bash)
      headwater completion fish > ~/.config/fish/completions/headwater.fish
    """
    from click.shell_completion import get_completion_class

    cls = get_completion_class(shell)
    assert cls is not None
    for program in ("headwater", "gcli"):
        script = cls(ctx.find_root().command, {}, program, f"_{program.upper()}_COMPLETE")
        click.echo(script.source_template % script.source_vars())
