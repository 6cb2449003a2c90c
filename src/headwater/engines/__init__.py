"""What Spark, Trino and Flink must be told about a catalog: pure functions, properties in, settings out.

>>> found = engine_settings("trino", "hive", "sales", {"metastore.uris": "thrift://hms:9083"})
>>> found.value("hive.metastore.uri")
'thrift://hms:9083'
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from headwater.engines import flink, spark, trino
from headwater.engines.base import EngineSettings, Secret, Setting, Source
from headwater.model.errors import IllegalArgumentError, UnsupportedOperationError

_ENGINES: dict[str, Callable[[Source], EngineSettings]] = {
    "spark": spark.settings,
    "trino": trino.settings,
    "flink": flink.settings,
}

ENGINES = tuple(_ENGINES)
"""The engines that settings can be made for."""

PROVIDERS = ("hive", "lakehouse-iceberg", "glue")
"""The providers whose catalogs engines can reach by themselves."""


def engine_settings(
    engine: str, provider: str, catalog: str, properties: Mapping[str, str], hidden: Collection[str] = ()
) -> EngineSettings:
    """What an engine must be told about a catalog; of the properties named in `hidden` only the names are needed."""
    make = _ENGINES.get(engine.lower())
    if make is None:
        raise IllegalArgumentError(f"engine: {engine!r} is not allowed; allowed are {', '.join(ENGINES)}")
    if provider not in PROVIDERS:
        raise UnsupportedOperationError(
            f"Catalog {catalog}: engines have no connector for provider {provider}; there are settings for catalogs of "
            + ", ".join(PROVIDERS)
        )
    return make(Source(catalog, provider, properties, hidden))


__all__ = ["ENGINES", "PROVIDERS", "EngineSettings", "Secret", "Setting", "Source", "engine_settings"]
