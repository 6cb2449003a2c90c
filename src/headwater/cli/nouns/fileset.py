"""`headwater fileset ...`"""

from __future__ import annotations

from typing import Any

import click

from headwater.cli.options import (
    change_options,
    changes,
    describing_options,
    if_exists_option,
    parse_properties,
    parsed,
    prefix_option,
    several,
)
from headwater.cli.output import to_json
from headwater.cli.verbs import Noun, Session, dropped
from headwater.model.names import NameIdentifier, Namespace

fileset = Noun("fileset", ("catalog", "schema"), help="Filesets: named folders of files.")

_place_options = several(
    click.option("--path", metavar="PATH", default="", help="A path inside of the fileset."),
    click.option("--location-name", metavar="NAME", help="Which location, if the fileset has several."),
)


@fileset.verb("list", own=False)
@prefix_option
def list_(s: Session, catalog: str, schema: str, prefix: str | None) -> None:
    """List the filesets of a schema.

    \b
    Examples:
      headwater fileset list --catalog files --schema raw
    """
    names = s.client.filesets(catalog).list_filesets(Namespace.of(schema), prefix=prefix)
    s.show.listing([{"name": n} for n in names])


@fileset.verb("create")
@click.option("--location", metavar="URI", help="Its folder; without one it lies below its schema's.")
@click.option(
    "--locations", metavar="N=URI,N=URI", callback=parsed(parse_properties), help="Several folders, each with a name."
)
@click.option(
    "--type", "type_", type=click.Choice(["managed", "external"]),
    help="Whether its files are deleted with it.  [default: managed]",
)  # fmt: skip
@describing_options
def create(
    s: Session, catalog: str, schema: str, name: str, location: str | None, locations: dict[str, str] | None,
    type_: str | None, comment: str | None, properties: dict[str, str],
) -> None:  # fmt: skip
    """Create a fileset.

    \b
    Examples:
      headwater fileset create --catalog files --schema raw --name logs
      headwater fileset create --catalog files --schema raw --name scans --type external --location /data/scans
    """
    ident = NameIdentifier.of(schema, name)
    made = s.client.filesets(catalog).create_fileset(ident, comment, type_, location, locations, properties)
    s.show.details(made)


@fileset.verb("details")
def details(s: Session, catalog: str, schema: str, name: str) -> None:
    """Show a fileset.

    \b
    Examples:
      headwater fileset details --catalog files --schema raw --name logs
    """
    s.show.details(s.client.filesets(catalog).load_fileset(NameIdentifier.of(schema, name)))


@fileset.verb("update")
@change_options
def update(s: Session, catalog: str, schema: str, name: str, **options: Any) -> None:
    """Change a fileset's name, comment or properties.

    \b
    Examples:
      headwater fileset update --catalog files --schema raw --name logs --comment "Web servers"
    """
    ident = NameIdentifier.of(schema, name)
    s.show.details(s.client.filesets(catalog).alter_fileset(ident, *changes(**options)))


@fileset.verb("delete")
@if_exists_option
def delete(s: Session, catalog: str, schema: str, name: str, if_exists: bool) -> None:
    """Delete a fileset, a managed one with its files.

    \b
    Examples:
      headwater fileset delete --catalog files --schema raw --name logs
    """
    ident = NameIdentifier.of(schema, name)
    dropped(s, "fileset", f"{catalog}.{ident}", s.client.filesets(catalog).drop_fileset(ident), if_exists)


@fileset.verb("files")
@_place_options
def files(s: Session, catalog: str, schema: str, name: str, path: str, location_name: str | None) -> None:
    """List what lies in a folder of a fileset.

    \b
    Examples:
      headwater fileset files --catalog files --schema raw --name logs --path 2024
    """
    found = s.client.filesets(catalog).list_files(NameIdentifier.of(schema, name), path or None, location_name)
    s.show.listing(to_json(found), ("name", "isDir", "size"))


@fileset.verb("location")
@_place_options
def location(s: Session, catalog: str, schema: str, name: str, path: str, location_name: str | None) -> None:
    """Say where a file of a fileset lies.

    \b
    Examples:
      headwater fileset location --catalog files --schema raw --name logs --path 2024/a.gz
    """
    where = s.client.filesets(catalog).get_file_location(NameIdentifier.of(schema, name), path, location_name)
    s.show.done(where, location=where)
