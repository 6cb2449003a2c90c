"""Nouns and verbs: what every command has in common, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from headwater.cli.groups import CONTEXT
from headwater.cli.output import Printer
from headwater.model.errors import HeadwaterError, IllegalArgumentError
from headwater.settings import OUTPUTS, ClientSettings, find_file, load_client

if TYPE_CHECKING:
    from headwater.client import Client

ALIASES = {"show": "details", "load": "details", "alter": "update", "drop": "delete"}
_TEXTS = {
    "catalog": "The catalog it lies in.",
    "schema": "The schema it lies in; a nested one as 'a:b'.",
    "table": "The table it belongs to.",
}


class Session:
    """One run of a command: its settings, the client, and how to show what comes back."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self.show = Printer(settings.output)

    @functools.cached_property
    def client(self) -> Client:
        """Made when a command first needs it."""
        from headwater.client import Client

        s = self.settings
        try:
            return Client(uri=s.uri, metalake=s.metalake, user=s.user, ca_file=s.ca_file)
        except IllegalArgumentError as e:
            raise click.UsageError(e.message) from None

    def close(self) -> None:
        """Let go of the server."""
        if "client" in self.__dict__:
            self.client.close()


def open_session(**flags: str | None) -> Session:
    """A session by flags, environment and configuration file."""
    given = {f"client.{key}": value for key, value in flags.items() if value is not None}
    return Session(load_client(find_file(), given))


_COMMON = (
    click.Option(["--output", "-o"], type=click.Choice(OUTPUTS), help="How to show the answer."),
    click.Option(["--server"], metavar="URI", help="Address of the server.  [default: http://127.0.0.1:8090]"),
    click.Option(["--user"], metavar="NAME", help="Who asks."),
    click.Option(["--verbose", "-v"], is_flag=True, help="Say more about errors."),
)
_METALAKE = click.Option(["--metalake", "-m"], metavar="NAME", help="The metalake; not needed if the server has one.")


def command(
    act: Callable[..., None], name: str, names: tuple[click.Option, ...] = (), metalake: bool = True
) -> click.Command:
    """A command that talks to a server: `act` is given the session and its own options."""

    @functools.wraps(act)
    def run(output: str | None, server: str | None, user: str | None, verbose: bool, **values: Any) -> None:
        above = values.pop("metalake", None) if metalake else None
        session = open_session(output=output, uri=server, user=user, metalake=above)
        if "properties_file" in values:
            values["properties"] = {**(values.pop("properties_file") or {}), **values["properties"]}
        try:
            act(session, **values)
        except HeadwaterError as e:
            if verbose:
                e.message = f"{e.message} ({e.type}, request {e.request_id or 'not sent'})"
            raise
        finally:
            session.close()

    own = reversed(getattr(act, "__click_params__", []))
    run.__click_params__ = []  # type: ignore[attr-defined]
    params = [*names, *own, *([_METALAKE] if metalake else []), *_COMMON]
    return click.Command(name, params=params, callback=run, help=inspect.getdoc(act), context_settings=CONTEXT)


class Noun(click.Group):
    """The verbs of one kind of object, found by their aliases too."""

    def __init__(self, name: str, above: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(name, context_settings=CONTEXT, **settings)
        self._above = above

    def verb(
        self, name: str, *, own: bool = True, required: bool = True
    ) -> Callable[[Callable[..., None]], click.Command]:
        """Declare the decorated function as a verb; `own` gives it the object's own name."""

        def declare(act: Callable[..., None]) -> click.Command:
            options = [click.Option([f"--{n}"], required=True, metavar="NAME", help=_TEXTS[n]) for n in self._above]
            if own:
                options.append(self._own_name(required))
            made = command(act, name, tuple(options), metalake=self.name not in ("metalake", "provider"))
            self.add_command(made)
            return made

        return declare

    def _own_name(self, required: bool) -> click.Option:
        short = ["-m"] if self.name == "metalake" else []
        flags = ["--name", "-n", f"--{self.name}", *short]
        return click.Option([*flags, "name"], required=required, metavar="NAME", help=f"The {self.name}'s name.")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name or alias."""
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))


def dropped(session: Session, noun: str, name: str, was_there: bool, if_exists: bool) -> None:
    """Say that something is gone; that there was nothing is an error unless it was asked for."""
    if not was_there and not if_exists:
        raise click.ClickException(f"There is no {noun} {name}")
    state = "is deleted" if was_there else "did not exist"
    session.show.done(f"{noun.capitalize()} {name} {state}", dropped=was_there)
