"""`headwater metalake ...`"""

from __future__ import annotations

from typing import Any

import click

from headwater.cli.options import change_options, changes, describing_options, if_exists_option, prefix_option
from headwater.cli.output import to_json
from headwater.cli.verbs import Noun, Session, dropped

metalake = Noun("metalake", help="Metalakes: the outermost namespaces, each with catalogs of its own.")


@metalake.verb("list", own=False)
@prefix_option
def list_(s: Session, prefix: str | None) -> None:
    """List metalakes.

    \b
    Examples:
      headwater metalake list
      headwater metalake list --output json
    """
    s.show.listing(to_json(s.client.list_metalakes_info(prefix=prefix)), ("name", "comment"))


@metalake.verb("create")
@describing_options
def create(s: Session, name: str, comment: str | None, properties: dict[str, str]) -> None:
    """Create a metalake.

    \b
    Examples:
      headwater metalake create --name lake --comment "All of it"
    """
    s.show.details(s.client.create_metalake(name, comment, properties))


@metalake.verb("details")
def details(s: Session, name: str) -> None:
    """Show a metalake.

    \b
    Examples:
      headwater metalake details --name lake
    """
    s.show.details(s.client.load_metalake(name))


@metalake.verb("update")
@change_options
def update(s: Session, name: str, **options: Any) -> None:
    """Change a metalake's name, comment or properties.

    \b
    Examples:
      headwater metalake update --name lake --comment "Production"
      headwater metalake update --name lake --set team=data,site=north --remove old
    """
    s.show.details(s.client.alter_metalake(name, *changes(**options)))


@metalake.verb("enable")
def enable(s: Session, name: str) -> None:
    """Let a metalake be used again.

    \b
    Examples:
      headwater metalake enable --name lake
    """
    s.client.enable_metalake(name)
    s.show.done(f"Metalake {name} is enabled", inUse=True)


@metalake.verb("disable")
def disable(s: Session, name: str) -> None:
    """Let nobody use a metalake until it is enabled.

    \b
    Examples:
      headwater metalake disable --name lake
    """
    s.client.disable_metalake(name)
    s.show.done(f"Metalake {name} is disabled", inUse=False)


@metalake.verb("delete")
@if_exists_option
@click.option("--force", is_flag=True, help="Even if it is enabled or has catalogs.")
def delete(s: Session, name: str, if_exists: bool, force: bool) -> None:
    """Delete a metalake that is disabled and empty.

    \b
    Examples:
      headwater metalake delete --name old --force
    """
    dropped(s, "metalake", name, s.client.drop_metalake(name, force), if_exists)
