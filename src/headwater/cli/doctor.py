"""`headwater doctor`: what works on this machine, what does not, and what to do about it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import click

from headwater.cli.groups import CONTEXT, FAILED
from headwater.cli.server import load_settings, store_version, where_options
from headwater.model.errors import HeadwaterError
from headwater.settings import Settings

_OLDEST = (3, 11)
_PACKAGES = (
    ("pyarrow", "iceberg", "new data files and S3 in lakehouse-iceberg catalogs"),
    ("boto3", "s3", "AWS: credentials of S3"),
    ("psycopg", "postgres", "PostgreSQL, as the server's store and below catalogs"),
)
"""Packages that are optional, the extra that installs each, and what needs it."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    state: str
    """`ok`, `note` (something optional is missing) or `broken`."""
    what: str
    text: str
    advice: str = ""


@click.command(context_settings=CONTEXT)
@where_options
@click.option("--server", metavar="URI", help="Address of the server to look for.")
def doctor(data: Path | None, config: Path | None, server: str | None) -> None:
    """Check this machine: what works, what is missing, and what to do about it.

    The exit code is 0 unless something that Headwater can't do without is broken.

    \b
    Examples:
      headwater doctor
      headwater doctor --data /srv/headwater --server http://127.0.0.1:9000
    """
    broken = False
    settings = load_settings(data, config)
    for look in (_python, _java, lambda: _server(server or settings.client.uri), lambda: _data(settings),
                 lambda: _store(settings), _packages, _providers):  # fmt: skip
        for finding in look():
            broken = broken or finding.state == "broken"
            _print(finding)
    sys.exit(FAILED if broken else 0)


def _print(finding: Finding) -> None:
    colour = {"ok": "green", "note": "yellow", "broken": "red"}[finding.state]
    mark = click.style(f"{finding.state:<6}", fg=colour, bold=True)
    click.echo(f"{mark} {finding.what}: {finding.text}")
    if finding.advice:
        click.echo(f"       {finding.advice}")


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= _OLDEST:
        yield Finding("ok", "Python", version)
    else:
        yield Finding("broken", "Python", version, f"Headwater needs {_OLDEST[0]}.{_OLDEST[1]} or later")


def _java() -> Iterator[Finding]:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found:
        yield Finding("ok", "Java", found)
    else:
        yield Finding("note", "Java", "not found", "only Spark needs it; Headwater itself does not")


def _server(uri: str) -> Iterator[Finding]:
    from headwater.client import Client

    try:
        with Client(uri, timeout=5) as client:
            yield Finding("ok", "Server", f"Headwater {client.version()} answers at {client.uri}")
    except HeadwaterError as e:
        if _is_open(uri):
            advice = "choose another port for Headwater with 'headwater serve --port', or another address with --server"
            yield Finding("note", "Server", e.message, advice)
        else:
            yield Finding("note", "Server", f"nothing listens at {uri}", "'headwater serve' starts one")


def _is_open(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        address = (parts.hostname or "127.0.0.1", parts.port or (443 if parts.scheme == "https" else 80))
        with socket.create_connection(address, timeout=2):
            return True
    except (OSError, ValueError):
        return False


def _data(settings: Settings) -> Iterator[Finding]:
    folder = settings.data_folder
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield Finding("broken", "Data folder", f"{there} can't be written", "choose another one with --data")
    elif there == folder:
        yield Finding("ok", "Data folder", str(folder))
    else:
        yield Finding("ok", "Data folder", f"{folder} is not there yet; the server makes it")


def _store(settings: Settings) -> Iterator[Finding]:
    from headwater.store.tables import HEAD

    try:
        found = store_version(settings)
    except HeadwaterError as e:
        yield Finding("broken", "Store", e.message)
        return
    except Exception as e:  # noqa: BLE001 - a damaged file, a missing driver: whatever it is, it is what we look for
        yield Finding("broken", "Store", f"can't be read: {e}")
        return
    if found == HEAD:
        yield Finding("ok", "Store", f"at version {found}")
    elif found is not None and found > HEAD:
        yield Finding("broken", "Store", f"at version {found}, newer than {HEAD}", "upgrade Headwater")
    elif settings.store.url is None:
        state = "is not there yet" if found is None else f"is at version {found}"
        yield Finding("ok", "Store", f"{state}; the server brings it to {HEAD} when it starts")
    else:
        state = "is empty" if found is None else f"is at version {found}"
        yield Finding("note", "Store", f"{state}; this release needs {HEAD}", "run 'headwater db upgrade'")


def _packages() -> Iterator[Finding]:
    for package, extra, purpose in _PACKAGES:
        if importlib.util.find_spec(package):
            yield Finding("ok", package, f"for {purpose}")
        else:
            yield Finding("note", package, "not installed", f"for {purpose}: pip install 'headwater[{extra}]'")


def _providers() -> Iterator[Finding]:
    from headwater.catalogs.registry import Providers

    providers = Providers()
    for name in providers.names():
        try:
            yield Finding("ok", f"Provider {name}", providers.get(name).summary)
        except Exception as e:  # noqa: BLE001 - whatever keeps a plug-in from being loaded
            yield Finding("broken", f"Provider {name}", f"can't be loaded: {e}", "install what it needs, or remove it")
