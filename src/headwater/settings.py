"""Everything that can be configured: one typed object, filled from a TOML file, the environment and flags.

A key `store.url` is `[store] url = ...` in the file and `HEADWATER_STORE_URL` in the environment; those of `[client]`
leave the section out there: `HEADWATER_URI`. Flags win over the environment, the environment over the file. Every key
is explained in docs/configuration.md; a test checks that.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from headwater.model.errors import HeadwaterError

PREFIX = "HEADWATER_"
CONFIG_VARIABLE = "HEADWATER_CONFIG"
"""The variable that names the file."""

OUTPUTS = ("table", "json", "yaml")
"""The forms in which the command line shows answers, if it is told which."""

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class SettingsError(HeadwaterError):
    """The configuration can't be right: the message names the key and what is allowed."""

    type = "SettingsException"


class _Section(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True, frozen=True):
    pass


class ServerSettings(_Section, frozen=True):
    """Where and how the server listens."""

    host: str = "127.0.0.1"
    port: int = 8090
    workers: int = 1
    insecure: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    root_path: str = ""
    forwarded_allow_ips: str = "127.0.0.1"
    max_body: int = 16 * 1024 * 1024
    body_timeout: float = 30.0
    shutdown_timeout: int = 10
    log_format: str = "text"


class StoreSettings(_Section, frozen=True):
    """Where Headwater remembers things."""

    url: str | None = None
    auto_upgrade: bool = False
    connections: int = 8
    timeout: float = 10.0


class CatalogSettings(_Section, frozen=True):
    """The bounds within which outside catalogs are called."""

    threads: int = 8
    waiting: int = 64
    timeout: float = 30.0
    custom_classes: list[str] = []


class StorageSettings(_Section, frozen=True):
    """What catalog properties may touch on this machine."""

    local_roots: list[str] | None = None


class SecretsSettings(_Section, frozen=True):
    """How secrets are kept and found."""

    key: str | None = None
    allow: list[str] = []


class AuditSettings(_Section, frozen=True):
    """The audit log."""

    file: str | None = None
    reads: bool = True
    max_bytes: int = 256 * 1024 * 1024
    keep: int = 30


class CacheSettings(_Section, frozen=True):
    """Memory for answers that are checked against an exact token at every request."""

    bytes: int = 32 * 1024 * 1024


class ClientSettings(_Section, frozen=True):
    """Which server the command line talks to, and how it shows what it is told."""

    uri: str = "http://127.0.0.1:8090"
    metalake: str | None = None
    user: str | None = None
    ca_file: str | None = None
    output: str | None = None


class Settings(_Section, frozen=True):
    """All settings."""

    data: str = ""
    default_metalake: str | None = None
    vend_credentials: bool = False
    server: ServerSettings = ServerSettings()
    store: StoreSettings = StoreSettings()
    catalogs: CatalogSettings = CatalogSettings()
    storage: StorageSettings = StorageSettings()
    secrets: SecretsSettings = SecretsSettings()
    audit: AuditSettings = AuditSettings()
    cache: CacheSettings = CacheSettings()
    client: ClientSettings = ClientSettings()

    @property
    def data_folder(self) -> Path:
        """Where the embedded store, its key and the audit log lie."""
        default = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "headwater"
        return Path(self.data).expanduser().absolute() if self.data else default

    @property
    def on_loopback(self) -> bool:
        """Only this machine can reach the server."""
        return self.server.host in _LOOPBACK


def load(
    file: Path | None = None, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """The settings from all three sources; SettingsError names the first key that is wrong."""
    settings = _merge(file, flags, environ)
    _check(settings)
    return settings


def load_client(
    file: Path | None = None, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> ClientSettings:
    """The settings of a client. Those of a server in the same file must be known, but need not fit this machine."""
    client = _merge(file, flags, environ).client
    if client.output not in (None, *OUTPUTS):
        raise SettingsError(f"client.output: {client.output!r} is not allowed; allowed are {', '.join(OUTPUTS)}")
    return client


def find_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """The file that `HEADWATER_CONFIG` names, else `~/.config/headwater/config.toml` if that is there."""
    variables = os.environ if environ is None else environ
    if named := variables.get(CONFIG_VARIABLE):
        return Path(named)
    usual = Path(variables.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "headwater" / "config.toml"
    return usual if usual.is_file() else None


def _merge(file: Path | None, flags: Mapping[str, Any] | None, environ: Mapping[str, str] | None) -> Settings:
    merged: dict[str, Any] = {}
    if file is not None:
        merged = _read_file(file)
    for source in (_from_environment(os.environ if environ is None else environ), flags or {}):
        for key, value in source.items():
            _put(merged, key, value)
    try:
        return msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as e:
        raise SettingsError(_explain(e, merged)) from None


def keys(section: type[_Section] = Settings, above: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each key with its type and its default."""
    for field in msgspec.structs.fields(section):
        name = above + field.encode_name
        if isinstance(field.type, type) and issubclass(field.type, _Section):
            yield from keys(field.type, name + ".")
        else:
            default = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
            yield name, field.type, default


def variable(key: str) -> str:
    """The environment variable of a key.

    >>> variable("store.auto-upgrade"), variable("client.uri")
    ('HEADWATER_STORE_AUTO_UPGRADE', 'HEADWATER_URI')
    """
    return PREFIX + key.removeprefix("client.").upper().replace(".", "_").replace("-", "_")


def resolve_secret(value: str, field: str) -> str:
    """A secret given as `file:PATH` or `env:NAME` instead of itself."""
    scheme, _, rest = value.partition(":")
    if scheme == "file":
        try:
            return Path(rest).read_text().strip()
        except OSError as e:
            raise SettingsError(f"{field}: {value}: {e.strerror}") from None
    if scheme == "env":
        if rest not in os.environ:
            raise SettingsError(f"{field}: the environment variable {rest} is not set")
        return os.environ[rest]
    return value


def _read_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as e:
        raise SettingsError(f"{file}: {e.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise SettingsError(f"{file}: not valid TOML: {e}") from None


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    known = {variable(k): (k, t) for k, t, _ in keys()}
    found: dict[str, Any] = {}
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name == CONFIG_VARIABLE:
            continue
        if name not in known:
            raise SettingsError(f"{name}: unknown setting" + _nearest(name, known))
        key, type_ = known[name]
        if not text and key.startswith("client."):
            continue  # an empty variable is a usual way to say that it is not set
        found[key] = [p for p in text.split(",") if p] if "list" in str(type_) else text
    return found


def _put(tree: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        below = tree.setdefault(section, {})
        if not isinstance(below, dict):
            raise SettingsError(f"{section}: it is a section with keys of its own, as in [{section}]")
        tree = below
    tree[last] = value


def _explain(error: msgspec.ValidationError, merged: Mapping[str, Any]) -> str:
    names = [k for k, _, _ in keys()]
    for key in _flatten(merged):
        if key not in names:
            return f"{key}: unknown setting" + _nearest(key, names)
    text, _, where = str(error).partition(" - at `$.")
    return f"{where.rstrip('`')}: {text}" if where else text


def _flatten(tree: Mapping[str, Any], above: str = "") -> Iterator[str]:
    sections = {f.encode_name for f in msgspec.structs.fields(Settings) if f.default_factory is not msgspec.NODEFAULT}
    sections |= {k.split(".")[0] for k, _, _ in keys() if "." in k}
    for key, value in tree.items():
        if isinstance(value, Mapping) and not above and key in sections:
            yield from _flatten(value, key + ".")
        else:
            yield above + key


def _nearest(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _check(settings: Settings) -> None:
    ranges = {"server.port": (0, 65535), "server.workers": (1, 64), "store.connections": (1, 256)}
    for key, (low, high) in ranges.items():
        section, _, name = key.partition(".")
        value = getattr(getattr(settings, section), name)
        if not low <= value <= high:
            raise SettingsError(f"{key}: {value} is not allowed; allowed is {low} to {high}")
    for key, value in (
        ("catalogs.threads", settings.catalogs.threads),
        ("catalogs.waiting", settings.catalogs.waiting),
        ("catalogs.timeout", settings.catalogs.timeout),
        ("store.timeout", settings.store.timeout),
        ("server.max-body", settings.server.max_body),
        ("server.body-timeout", settings.server.body_timeout),
        ("server.shutdown-timeout", settings.server.shutdown_timeout),
        ("audit.max-bytes", settings.audit.max_bytes),
        ("audit.keep", settings.audit.keep),
        ("cache.bytes", settings.cache.bytes),
    ):
        if value <= 0:
            raise SettingsError(f"{key}: {value} is not allowed; it must be above 0")
    if settings.server.log_format not in ("text", "json"):
        raise SettingsError(f"server.log-format: {settings.server.log_format!r} is not allowed; allowed are text, json")
    if bool(settings.server.tls_cert) != bool(settings.server.tls_key):
        raise SettingsError("server.tls-cert and server.tls-key must be given together")
    if not settings.on_loopback and not settings.server.insecure:
        raise SettingsError(
            f"server.host: {settings.server.host} can be reached from other machines and there is no authenticator: "
            "listen on 127.0.0.1, or say --insecure"
        )
