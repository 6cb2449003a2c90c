"""`headwater table ...`"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from headwater.cli import columns as c
from headwater.cli.options import (
    change_options,
    changes,
    describing_options,
    if_exists_option,
    parsed,
    prefix_option,
    read_file,
    several,
)
from headwater.cli.verbs import Noun, Session, dropped
from headwater.model.names import NameIdentifier, Namespace

table = Noun("table", ("catalog", "schema"), help="Tables of a catalog.")


@table.verb("list", own=False)
@prefix_option
def list_(s: Session, catalog: str, schema: str, prefix: str | None) -> None:
    """List the tables of a schema.

    \b
    Examples:
      headwater table list --catalog ice --schema sales
    """
    names = s.client.tables(catalog).list_tables(Namespace.of(schema), prefix=prefix)
    s.show.listing([{"name": n} for n in names])


@table.verb("create")
@click.option("--columns", metavar="TEXT", callback=parsed(c.parse_columns), help="Columns as SQL declares them.")
@click.option(
    "--columns-file",
    metavar="FILE",
    callback=parsed(lambda name: c.parse_columns_file(read_file(name))),
    help="Columns as a JSON array, or as CSV with the header Name,Datatype,Comment,...; '-' is standard input.",
)
@click.option("--partition", metavar="TEXT", callback=parsed(c.parse_partitioning), help="Columns and transforms.")
@click.option("--sort", metavar="TEXT", callback=parsed(c.parse_sort_orders), help="How rows are sorted in files.")
@click.option("--distribution", metavar="TEXT", callback=parsed(c.parse_distribution), help="How rows are spread.")
@click.option("--primary-key", metavar="NAMES", callback=parsed(c.split), help="The columns of the primary key.")
@describing_options
def create(
    s: Session, catalog: str, schema: str, name: str, columns: Any, columns_file: Any, partition: Any, sort: Any,
    distribution: Any, primary_key: list[str] | None, comment: str | None, properties: dict[str, str],
) -> None:  # fmt: skip
    """Create a table.

    Partitions are columns or year(c), month(c), day(c), hour(c), bucket(16, c), truncate(10, c). In columns, 'comment',
    'default' and 'auto_increment' are known besides 'not null'.

    \b
    Examples:
      headwater table create --catalog ice --schema sales --name orders \\
          --columns "id bigint not null, at timestamp, price decimal(10,2) comment 'net'" \\
          --partition "day(at), bucket(16, id)" --sort "id desc"
      headwater table create --catalog ice --schema sales --name items --columns-file items.csv
    """
    if columns is not None and columns_file is not None:
        raise click.UsageError("--columns and --columns-file exclude each other")
    indexes = None
    if primary_key:
        indexes = [{"indexType": "PRIMARY_KEY", "fieldNames": [c.field_name(k) for k in primary_key]}]
    made = s.client.tables(catalog).create_table(
        NameIdentifier.of(schema, name), columns or columns_file or [], comment, properties, partition, distribution,
        sort, indexes,
    )  # fmt: skip
    s.show.details(made)


@table.verb("details")
def details(s: Session, catalog: str, schema: str, name: str) -> None:
    """Show a table: its columns, partitioning and properties.

    \b
    Examples:
      headwater table details --catalog ice --schema sales --table orders
    """
    s.show.details(s.client.tables(catalog).load_table(NameIdentifier.of(schema, name)))


_column_options = several(
    click.option(
        "--drop-column", multiple=True, metavar="NAME", callback=parsed(c.field_name), help="Remove a column."
    ),
    click.option(
        "--rename-column", multiple=True, metavar="OLD=NEW", callback=parsed(c.parse_pair), help="Rename a column."
    ),
    click.option(
        "--alter-column", multiple=True, metavar="NAME=TYPE", callback=parsed(c.parse_pair), help="Change its type."
    ),
    click.option("--nullable", multiple=True, metavar="NAME", callback=parsed(c.field_name), help="Allow NULL."),
    click.option("--not-null", multiple=True, metavar="NAME", callback=parsed(c.field_name), help="Forbid NULL."),
    click.option(
        "--column-comment", multiple=True, metavar="NAME=TEXT", callback=parsed(c.parse_pair), help="Comment a column."
    ),
    click.option(
        "--add-column",
        multiple=True,
        metavar="TEXT",
        callback=parsed(c.parse_column),
        help="Add a column as SQL declares it; 'first' or 'after other' at the end says where.",
    ),
)


@table.verb("update")
@_column_options
@change_options
@click.option("--to-schema", metavar="SCHEMA", help="With --rename: move it to this schema.")
def update(
    s: Session, catalog: str, schema: str, name: str, rename: str | None, to_schema: str | None, set_: dict[str, str],
    remove: list[str], comment: str | None, change: list[dict[str, Any]], **columns: Any,
) -> None:  # fmt: skip
    """Change a table, all changes at once or none.

    They are made in this order: columns are dropped, renamed, altered, added; properties; the comment; --change; the
    new name.

    \b
    Examples:
      headwater table update --catalog ice --schema sales --name orders --add-column "note string after id"
      headwater table update --catalog ice --schema sales --name orders --alter-column "price=decimal(12,2)"
      headwater table update --catalog ice --schema sales --name orders --rename orders_2024
    """
    if to_schema is not None:
        rename = rename or name
    made = changes(rename, comment, set_, remove, change, before=_column_changes(**columns), newSchemaName=to_schema)
    s.show.details(s.client.tables(catalog).alter_table(NameIdentifier.of(schema, name), *made))


def _column_changes(
    drop_column: Any, rename_column: Any, alter_column: Any, nullable: Any, not_null: Any, column_comment: Any,
    add_column: Any,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    yield from ({"@type": "deleteColumn", "fieldName": f} for f in drop_column)
    yield from ({"@type": "renameColumn", "oldFieldName": f, "newFieldName": new} for f, new in rename_column)
    yield from ({"@type": "updateColumnType", "fieldName": f, "newType": new} for f, new in alter_column)
    for fields, allowed in ((nullable, True), (not_null, False)):
        yield from ({"@type": "updateColumnNullability", "fieldName": f, "nullable": allowed} for f in fields)
    yield from ({"@type": "updateColumnComment", "fieldName": f, "newComment": c.unquote(t)} for f, t in column_comment)
    for column in add_column:
        name = column.pop("name")
        yield {"@type": "addColumn", "fieldName": c.split(name, ".") if "." in name else [name], **column}


@table.verb("delete")
@if_exists_option
@click.option("--purge", is_flag=True, help="With its data.")
def delete(s: Session, catalog: str, schema: str, name: str, if_exists: bool, purge: bool) -> None:
    """Delete a table.

    \b
    Examples:
      headwater table delete --catalog ice --schema sales --name orders
      headwater table delete --catalog ice --schema sales --name orders --purge
    """
    tables, ident = s.client.tables(catalog), NameIdentifier.of(schema, name)
    gone = tables.purge_table(ident) if purge else tables.drop_table(ident)
    dropped(s, "table", f"{catalog}.{ident}", gone, if_exists)
