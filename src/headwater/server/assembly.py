"""Puts a server process together out of its settings."""

from __future__ import annotations

import importlib.util
import urllib.parse

from headwater.access import Policy
from headwater.core.lake import Lake
from headwater.core.operation import Answers
from headwater.model.errors import StoreUnavailableError
from headwater.settings import Settings, SettingsError, resolve_secret
from headwater.store.base import Store
from headwater.store.vault import Vault

STORE_FILE = "headwater.db"
KEY_FILE = "headwater.key"


def store_url(settings: Settings) -> str | None:
    """The URL of an outside store, with its password; None for the embedded one."""
    url = settings.store.url
    if url is None:
        return None
    url = resolve_secret(url, "store.url")
    if not url.startswith(("postgresql://", "postgres://")):
        raise SettingsError(
            "store.url: allowed is postgresql://USER:PASSWORD@HOST:PORT/DATABASE; leave it out for SQLite"
        )
    url = "postgresql" + url[url.index("://") :]
    try:
        parts = urllib.parse.urlsplit(url)
        usable = bool(parts.hostname and parts.port != 0 and parts.path.strip("/"))
    except ValueError:
        usable = False
    if importlib.util.find_spec("psycopg") is None:
        raise SettingsError("store.url: the PostgreSQL driver is not installed: pip install 'headwater[postgres]'")
    if not usable:
        raise SettingsError("store.url: not a URL of the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
    return url


def prepare_store(settings: Settings, *, upgrade: bool = False) -> str | None:
    """Make the store ready: the embedded one is made and upgraded unasked, an outside one only when asked.

    The answer is the version that it was at.
    """
    url = store_url(settings)
    if url is not None:
        from headwater.store import postgres

        return postgres.prepare(url, may_upgrade=upgrade or settings.store.auto_upgrade)
    from headwater.store import sqlite

    path = settings.data_folder / STORE_FILE
    try:
        settings.data_folder.mkdir(parents=True, exist_ok=True)
        with sqlite.usable(path):
            found = sqlite.prepare(path)
            sqlite.check_writable(path)
    except OSError as e:
        raise StoreUnavailableError(f"The data folder {settings.data_folder} can't be used: {e.strerror}") from None
    return found


def open_store(settings: Settings) -> Store:
    """The store, once it is prepared."""
    url = store_url(settings)
    if url is not None:
        from headwater.store.postgres import PostgresStore

        return PostgresStore(url, connections=settings.store.connections, timeout=settings.store.timeout)
    from headwater.store.sqlite import SqliteStore

    many = settings.server.workers > 1
    return SqliteStore(settings.data_folder / STORE_FILE, timeout=settings.store.timeout, many_processes=many)


def open_vault(settings: Settings) -> Vault:
    """The key for secrets: given, or in a file beside the embedded store."""
    if settings.secrets.key is not None:
        return Vault.from_text(resolve_secret(settings.secrets.key, "secrets.key"))
    if settings.store.url is not None:
        raise SettingsError(
            "secrets.key: required with store.url, the same on every server: 32 bytes in base64, "
            "best as file:PATH or env:NAME"
        )
    path = settings.data_folder / KEY_FILE
    try:
        return Vault.from_file(path)
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "not a key"
        raise SettingsError(f"The key for secrets {path} can't be used: {reason}") from None


def open_lake(settings: Settings, *, policy: Policy | None = None) -> Lake:
    """Everything a server process works with."""
    import headwater.core.all  # noqa: F401 - declares the verbs

    settings.data_folder.mkdir(parents=True, exist_ok=True)
    answers = Answers(settings.cache.bytes)
    return Lake(settings, open_store(settings), open_vault(settings), answers=answers, policy=policy)
