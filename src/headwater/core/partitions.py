"""The verbs of partitions: those of tables whose catalog keeps a list of them."""

from __future__ import annotations

from headwater.catalogs.base import SupportsPartitions
from headwater.core import answers as a
from headwater.core.connectors import Connector
from headwater.core.lake import Lake
from headwater.core.operation import Call, Result
from headwater.core.schemas import open_catalog
from headwater.core.verbs import PARTITION, verb
from headwater.model.names import split_schema

_STATUSES = (404, 405, 409)


async def _open(lake: Lake, call: Call) -> tuple[Connector, SupportsPartitions]:
    _, connector = await open_catalog(lake, call)
    return connector, connector.supporting(SupportsPartitions, "partitions")  # type: ignore[type-abstract]


@verb(PARTITION, "list", privilege="select_table", answer=a.NamesAnswer, other_answer=a.PartitionsAnswer,
      query=a.DetailsQuery, statuses=_STATUSES)  # fmt: skip
async def list_partitions(lake: Lake, call: Call) -> Result:
    """List a table's partitions: their names, or with `details` all of them whole."""
    connector, provider = await _open(lake, call)
    page, table = call.query.page(), (split_schema(call.names[2]), call.names[3])
    if call.query.details:
        found = await connector.call(provider.load_partitions, *table, page)
        more = a.next_token([p.name or "" for p in found], page)
        return Result(a.PartitionsAnswer(partitions=found[: page.limit], next_page_token=more))
    names = await connector.call(provider.list_partitions, *table, page)
    return Result(a.NamesAnswer(names=names[: page.limit], next_page_token=a.next_token(names, page)))


@verb(PARTITION, "load", privilege="select_table", answer=a.PartitionAnswer, statuses=_STATUSES)
async def load_partition(lake: Lake, call: Call) -> Result:
    """Load a partition by its name."""
    connector, provider = await _open(lake, call)
    _, _, schema, table, name = call.names
    found = await connector.call(provider.load_partition, split_schema(schema), table, name)
    return Result(a.PartitionAnswer(partition=found))


@verb(PARTITION, "add", privilege="modify_table", answer=a.PartitionsAnswer, body=a.AddPartitions,
      route=("POST", "collection"), statuses=_STATUSES)  # fmt: skip
async def add_partitions(lake: Lake, call: Call) -> Result:
    """Add partitions; a batch that fails in part says what was added, and can be sent again without those."""
    connector, provider = await _open(lake, call)
    schema, table = split_schema(call.names[2]), call.names[3]
    made = await connector.call(provider.add_partitions, schema, table, call.body.partitions)
    return Result(a.PartitionsAnswer(partitions=made))


@verb(PARTITION, "drop", privilege="modify_table", answer=a.DroppedAnswer, query=a.PurgeQuery, statuses=_STATUSES)
async def drop_partition(lake: Lake, call: Call) -> Result:
    """Drop a partition."""
    dropped = await _drop(lake, call, [call.names[4]], call.query.purge)
    return Result(a.DroppedAnswer(dropped=dropped > 0))


@verb(PARTITION, "drop_many", privilege="modify_table", answer=a.DroppedManyAnswer, body=a.DropPartitions,
      route=("POST", f"{PARTITION.collection}/drop"), statuses=_STATUSES)  # fmt: skip
async def drop_partitions(lake: Lake, call: Call) -> Result:
    """Drop partitions by their names."""
    dropped = await _drop(lake, call, call.body.names, call.body.purge)
    return Result(a.DroppedManyAnswer(dropped=dropped))


async def _drop(lake: Lake, call: Call, names: list[str], purge: bool) -> int:
    connector, provider = await _open(lake, call)
    schema, table = split_schema(call.names[2]), call.names[3]
    return await connector.call(provider.drop_partitions, schema, table, names, purge)
