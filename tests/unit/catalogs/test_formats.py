"""Which format a table is of, by all the marks that engines, crawlers and syncs leave."""

from __future__ import annotations

import pytest

from headwater.catalogs.metastores import formats
from headwater.catalogs.metastores.entries import Entry, Serde, Storage
from headwater.model.errors import IllegalArgumentError

HUDI = "org.apache.hudi.hadoop"


def entry(parameters: dict[str, str] | None = None, **storage: str) -> Entry:
    serde = Serde(storage.pop("serde", None))
    return Entry("db", "t", storage=Storage(serde=serde, **storage), parameters=parameters or {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (entry({"table_type": "ICEBERG"}), "iceberg"),  # Spark, Trino, Flink, pyiceberg, Athena
        (entry({"table_type": "iceberg"}), "iceberg"),  # older Athena
        (entry({"storage_handler": "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"}), "iceberg"),  # Hive
        (entry({"spark.sql.sources.provider": "delta"}), "delta"),  # Spark
        (entry({"spark.sql.sources.provider": "DELTA"}), "delta"),  # Trino
        (entry({"classification": "delta"}), "delta"),  # crawlers
        (entry({"table_type": "DELTA"}), "delta"),  # syncs
        (entry({"storage_handler": "io.delta.hive.DeltaStorageHandler"}), "delta"),  # Hive
        (entry({"spark.sql.sources.provider": "hudi"}), "hudi"),  # Spark
        (entry({"classification": "hudi"}), "hudi"),  # crawlers
        (entry(input_format=f"{HUDI}.HoodieParquetInputFormat"), "hudi"),  # Hive sync, copy on write
        (entry(input_format=f"{HUDI}.realtime.HoodieParquetRealtimeInputFormat"), "hudi"),  # merge on read
        (entry(input_format="com.uber.hoodie.hadoop.HoodieInputFormat"), "hudi"),  # years ago
        (entry({"table_type": "PAIMON"}), "paimon"),
        (entry({"storage_handler": "org.apache.paimon.hive.PaimonStorageHandler"}), "paimon"),
        (entry({"classification": "parquet", "table_type": "EXTERNAL"}), "hive"),
        (entry({"spark.sql.sources.provider": "parquet"}), "hive"),
        (entry(), "hive"),
    ],
)
def test_table_format(found: Entry, expected: str) -> None:
    assert formats.table_format(found) == expected
    assert formats.matches(found, frozenset({expected}))
    assert not formats.matches(found, frozenset(formats.TABLE_FORMATS) - {expected})


@pytest.mark.parametrize("name", formats.STORAGE)
def test_storage_formats_are_told_by_their_classes(name: str) -> None:
    classes = formats.STORAGE[name]
    found = entry(input_format=classes.input, output_format=classes.output, serde=classes.serde)
    assert formats.storage_format(found.storage) == name
    assert formats.table_format(found) == "hive"


def test_parts_of_hive() -> None:
    orc = formats.STORAGE["ORC"]
    table = entry(input_format=orc.input, serde=orc.serde)
    spark = entry({"spark.sql.sources.provider": "csv"}, input_format=orc.input, serde=orc.serde)
    assert formats.matches(table, formats.parse_filter("f", "ORC, iceberg"))
    assert not formats.matches(table, formats.parse_filter("f", "parquet,delta"))
    assert formats.matches(spark, frozenset({"csv"})) and not formats.matches(spark, frozenset({"orc"}))


@pytest.mark.parametrize("text", ["", " , ", "icebreg", "hive;orc"])
def test_a_filter_that_names_nothing(text: str) -> None:
    with pytest.raises(IllegalArgumentError, match=r"^f: .*allowed are all, hive"):
        formats.parse_filter("f", text)
