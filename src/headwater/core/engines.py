"""The verb that tells how an engine reaches a catalog."""

from __future__ import annotations

from headwater.core import answers as a
from headwater.core.lake import Lake
from headwater.core.operation import Call, Result
from headwater.core.verbs import ENGINE, verb
from headwater.engines import engine_settings


@verb(ENGINE, "load", privilege="use_catalog", answer=a.EngineSettingsAnswer, event="load_engine_settings",
      statuses=(404, 405, 409), cached=True)  # fmt: skip
async def load_engine_settings(lake: Lake, call: Call) -> Result:
    """Say what Spark, Trino or Flink must be told to reach a catalog; secrets by name only."""
    metalake, name, engine = call.names
    row = await lake.catalog(metalake, name)
    body, allowed = row.body, lake.settings.secrets.allow
    # What the server itself finds elsewhere (env:NAME, file:PATH) is as secret as what it keeps sealed.
    hidden = {*lake.vault.open(row.id, row.secrets), *(k for k, v in body.properties.items() if v in allowed)}
    settings = engine_settings(engine, body.provider, row.name, body.properties, hidden)
    return Result(a.EngineSettingsAnswer(engine_settings=settings))
