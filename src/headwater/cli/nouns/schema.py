"""`headwater schema ...`"""

from __future__ import annotations

from typing import Any

import click

from headwater.cli.options import changes, describing_options, if_exists_option, prefix_option, property_change_options
from headwater.cli.verbs import Noun, Session, dropped

schema = Noun("schema", ("catalog",), help="Schemas: the databases or namespaces of a catalog.")


@schema.verb("list", own=False)
@prefix_option
@click.option("--parent", metavar="SCHEMA", help="Those right below this one, where schemas are nested.")
def list_(s: Session, catalog: str, prefix: str | None, parent: str | None) -> None:
    """List the schemas of a catalog.

    \b
    Examples:
      headwater schema list --catalog ice
      headwater schema list --catalog ice --parent sales
    """
    s.show.listing([{"name": n} for n in s.client.schemas(catalog).list_schemas(parent, prefix=prefix)])


@schema.verb("create")
@describing_options
def create(s: Session, catalog: str, name: str, comment: str | None, properties: dict[str, str]) -> None:
    """Create a schema.

    \b
    Examples:
      headwater schema create --catalog ice --name sales
      headwater schema create --catalog ice --name sales:emea --comment "Inside of sales"
    """
    s.show.details(s.client.schemas(catalog).create_schema(name, comment, properties))


@schema.verb("details")
def details(s: Session, catalog: str, name: str) -> None:
    """Show a schema.

    \b
    Examples:
      headwater schema details --catalog ice --name sales
    """
    s.show.details(s.client.schemas(catalog).load_schema(name))


@schema.verb("update")
@property_change_options
def update(s: Session, catalog: str, name: str, **options: Any) -> None:
    """Change a schema's properties.

    \b
    Examples:
      headwater schema update --catalog ice --name sales --set team=data --remove old
    """
    s.show.details(s.client.schemas(catalog).alter_schema(name, *changes(**options)))


@schema.verb("delete")
@if_exists_option
@click.option("--cascade", is_flag=True, help="With all that is in it.")
def delete(s: Session, catalog: str, name: str, if_exists: bool, cascade: bool) -> None:
    """Delete a schema.

    \b
    Examples:
      headwater schema delete --catalog ice --name sales --cascade
    """
    dropped(s, "schema", f"{catalog}.{name}", s.client.schemas(catalog).drop_schema(name, cascade), if_exists)
