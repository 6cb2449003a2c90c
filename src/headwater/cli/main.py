"""The command line's entry: `headwater` and `gcli`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from headwater import __version__
from headwater.cli.doctor import doctor
from headwater.cli.groups import CONTEXT, Root
from headwater.cli.nouns.catalog import catalog, provider
from headwater.cli.nouns.fileset import fileset
from headwater.cli.nouns.metalake import metalake
from headwater.cli.nouns.partition import partition
from headwater.cli.nouns.schema import schema
from headwater.cli.nouns.table import table
from headwater.cli.server import db, serve
from headwater.cli.system import completion, version

PROGRAMS = ("headwater", "gcli")


@click.group(cls=Root, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="headwater")
def cli() -> None:
    """One lake of metadata over every catalog you own.

    The server is found by --server, HEADWATER_URI or the configuration file, the metalake by --metalake,
    HEADWATER_METALAKE or the file; a server with one metalake needs neither.

    \b
    Examples:
      headwater serve
      headwater catalog create --name files --provider fileset --properties location=/data/files
      headwater schema list --catalog files
      headwater table details --catalog ice --schema sales --table orders --output json
    """


_NOUNS = (metalake, catalog, schema, table, partition, fileset, provider)
for _command in (*_NOUNS, serve, db, doctor, version, completion):
    cli.add_command(_command)


def main() -> None:
    """Run the command of this process."""
    name = Path(sys.argv[0]).name
    cli.main(prog_name=name if name in PROGRAMS else PROGRAMS[0])


if __name__ == "__main__":
    main()
