"""`headwater partition ...`"""

from __future__ import annotations

from typing import Any

import click

from headwater.cli.options import if_exists_option, prefix_option, properties_option
from headwater.cli.verbs import Noun, Session, dropped
from headwater.model.names import NameIdentifier

partition = Noun("partition", ("catalog", "schema", "table"), help="Partitions of a table.")


@partition.verb("list", own=False)
@prefix_option
def list_(s: Session, catalog: str, schema: str, table: str, prefix: str | None) -> None:
    """List a table's partitions.

    \b
    Examples:
      headwater partition list --catalog hive --schema sales --table orders --prefix dt=2024-
    """
    names = s.client.tables(catalog).list_partitions(NameIdentifier.of(schema, table), prefix=prefix)
    s.show.listing([{"name": n} for n in names])


@partition.verb("details")
def details(s: Session, catalog: str, schema: str, table: str, name: str) -> None:
    """Show a partition: its values, its folder and its properties.

    \b
    Examples:
      headwater partition details --catalog hive --schema sales --table orders --name dt=2024-01-01/country=us
    """
    s.show.details(s.client.tables(catalog).load_partition(NameIdentifier.of(schema, table), name))


@partition.verb("add", own=False)
@click.option("--name", "names", multiple=True, required=True, metavar="NAME", help="key=value/key=value; repeatable.")
@properties_option
def add(s: Session, catalog: str, schema: str, table: str, names: tuple[str, ...], properties: dict[str, str]) -> None:
    """Add partitions. With the property location one may lie elsewhere than below its table.

    \b
    Examples:
      headwater partition add --catalog hive --schema sales --table orders --name dt=2024-01-01 --name dt=2024-01-02
    """
    if len(names) > 1 and "location" in properties:
        raise click.UsageError("only one partition can be added with a location")
    made = s.client.tables(catalog).add_partitions(
        NameIdentifier.of(schema, table), *(_wire_form(name, properties) for name in names)
    )
    s.show.listing([{"name": p.name} for p in made], data=made)


def _wire_form(name: str, properties: dict[str, str]) -> dict[str, Any]:
    from headwater.catalogs.metastores.partitions import partition_values

    try:
        values = partition_values(name)
    except ValueError as e:
        raise click.UsageError(str(e)) from None
    return {
        "type": "identity",
        "fieldNames": [[key] for key, _ in values],
        "values": [{"type": "literal", "dataType": "string", "value": value} for _, value in values],
        "properties": properties,
    }


@partition.verb("delete")
@if_exists_option
@click.option("--purge", is_flag=True, help="With its data.")
def delete(s: Session, catalog: str, schema: str, table: str, name: str, if_exists: bool, purge: bool) -> None:
    """Delete a partition.

    \b
    Examples:
      headwater partition delete --catalog hive --schema sales --table orders --name dt=2024-01-01
    """
    gone = s.client.tables(catalog).drop_partition(NameIdentifier.of(schema, table), name, purge)
    dropped(s, "partition", f"{catalog}.{schema}.{table} {name}", gone, if_exists)
