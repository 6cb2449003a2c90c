"""The Hive Metastore by its Thrift API, 3.1 and 4.x, over the bindings that pyiceberg's wheel brings along."""

from __future__ import annotations

import importlib.util
import re

from headwater.catalogs.base import Context
from headwater.catalogs.metastores.base import Metastore
from headwater.model.errors import IllegalArgumentError
from headwater.model.properties import Kind, Property

DEFAULT_CATALOG = "hive"

PROPERTIES = (
    Property(
        name="default.catalog",
        description="The Metastore's own catalog (version 3 and later) that this catalog shows.",
        default=DEFAULT_CATALOG,
        immutable=True,
    ),
    Property(
        name="client.pool-size",
        description="Connections to the Metastore that are kept open.",
        kind=Kind.INTEGER,
        default="8",
    ),
    Property(
        name="client.pool-cache.eviction-interval-ms",
        description="A connection that was idle for longer is closed.",
        kind=Kind.INTEGER,
        default="300000",
    ),
    Property(
        name="impersonation-enable",
        description="Not possible yet; the caller is the owner of what is made all the same.",
        kind=Kind.BOOLEAN,
        default="false",
    ),
    Property(name="kerberos.*", description="Not possible yet."),
    Property(name="authentication.*", description="Only authentication.type=simple is possible yet."),
)

_ADDRESS = re.compile(r"thrift://(\[[0-9a-fA-F:]+\]|[^\s:/\[\],]+):([0-9]{1,5})/?")


def open_thrift(context: Context, uris: str, field: str = "properties.metastore.uris") -> Metastore:
    """The Metastore at `uris`. Checks properties; connects when it is first asked."""
    if importlib.util.find_spec("thrift") is None:
        raise IllegalArgumentError(f"{field}: this server lacks Thrift: pip install 'headwater[hive]'")
    from headwater.catalogs.metastores.thrift.metastore import ThriftMetastore
    from headwater.catalogs.metastores.thrift.pool import ConnectionPool

    _refuse_what_does_not_work(context)
    addresses = parse_uris(field, uris)
    size = _whole(context, "client.pool-size", least=1)
    idle = _whole(context, "client.pool-cache.eviction-interval-ms", least=0) / 1000
    pool = ConnectionPool(addresses, size=size, idle=idle, timeout=context.timeout * 0.8)
    catalog = context.properties.get("default.catalog", DEFAULT_CATALOG)
    # The wait for a turn, that for the lock, and the change itself together stay below the time-out.
    return ThriftMetastore(context.name, pool, catalog, patience=min(10.0, context.timeout * 0.3))


def parse_uris(field: str, text: str) -> list[tuple[str, int]]:
    """Host and port of each address, in the order in which they are tried."""
    found = []
    for piece in (p.strip() for p in text.split(",")):
        match = _ADDRESS.fullmatch(piece)
        if match is None or not 0 < int(match[2]) < 65536:
            raise IllegalArgumentError(f"{field}: {piece!r} is not allowed; addresses look like thrift://host:9083")
        found.append((match[1].strip("[]"), int(match[2])))
    return found


def _whole(context: Context, key: str, *, least: int) -> int:
    declared = next(p for p in PROPERTIES if p.name == key)
    value = int(context.properties.get(key, declared.default or "0"))
    if value < least:
        raise IllegalArgumentError(f"properties.{key}: {value} is not allowed; it must be {least} or more")
    return value


def _refuse_what_does_not_work(context: Context) -> None:
    """Kerberos and impersonation are for later; ignoring them would look like security that is not there."""
    for key, value in context.properties.items():
        if key.startswith("kerberos."):
            raise IllegalArgumentError(f"properties.{key}: Kerberos is not supported yet")
        switched_on = value.lower() != "false"
        if key in ("impersonation-enable", "authentication.impersonation-enable") and switched_on:
            raise IllegalArgumentError(f"properties.{key}: impersonation is not supported yet; only false is allowed")
        other = key.startswith("authentication.") and "impersonation" not in key
        if other and (key, value.lower()) != ("authentication.type", "simple"):
            raise IllegalArgumentError(f"properties.{key}: only authentication.type=simple is supported yet")
