"""How files are read (storage formats) and what kind of table an entry stands for (table formats)."""

from __future__ import annotations

from typing import NamedTuple

from headwater.catalogs.metastores.entries import Entry, Serde, Storage
from headwater.model.errors import IllegalArgumentError


class Classes(NamedTuple):
    """The Java classes that stand for a storage format."""

    input: str
    output: str
    serde: str


_MAPRED = "org.apache.hadoop.mapred"
_IO = "org.apache.hadoop.hive.ql.io"
_SERDE = "org.apache.hadoop.hive.serde2"
_TEXT = (f"{_MAPRED}.TextInputFormat", f"{_IO}.HiveIgnoreKeyTextOutputFormat")

STORAGE: dict[str, Classes] = {
    "TEXTFILE": Classes(*_TEXT, f"{_SERDE}.lazy.LazySimpleSerDe"),
    "SEQUENCEFILE": Classes(
        f"{_MAPRED}.SequenceFileInputFormat", f"{_IO}.HiveSequenceFileOutputFormat", f"{_SERDE}.lazy.LazySimpleSerDe"
    ),
    "RCFILE": Classes(
        f"{_IO}.RCFileInputFormat", f"{_IO}.RCFileOutputFormat", f"{_SERDE}.columnar.LazyBinaryColumnarSerDe"
    ),
    "ORC": Classes(f"{_IO}.orc.OrcInputFormat", f"{_IO}.orc.OrcOutputFormat", f"{_IO}.orc.OrcSerde"),
    "PARQUET": Classes(
        f"{_IO}.parquet.MapredParquetInputFormat",
        f"{_IO}.parquet.MapredParquetOutputFormat",
        f"{_IO}.parquet.serde.ParquetHiveSerDe",
    ),
    "AVRO": Classes(
        f"{_IO}.avro.AvroContainerInputFormat", f"{_IO}.avro.AvroContainerOutputFormat", f"{_SERDE}.avro.AvroSerDe"
    ),
    "JSON": Classes(*_TEXT, "org.apache.hive.hcatalog.data.JsonSerDe"),
    "CSV": Classes(*_TEXT, f"{_SERDE}.OpenCSVSerde"),
    "REGEX": Classes(*_TEXT, f"{_SERDE}.RegexSerDe"),
}

_BY_SERDE = {
    **{c.serde: name for name, c in STORAGE.items() if name not in ("TEXTFILE", "SEQUENCEFILE")},
    f"{_SERDE}.columnar.ColumnarSerDe": "RCFILE",
    f"{_SERDE}.JsonSerDe": "JSON",
    "org.openx.data.jsonserde.JsonSerDe": "JSON",
    "com.amazon.ionhiveserde.IonHiveSerDe": "ION",
}
_BY_INPUT = {c.input: name for name, c in STORAGE.items() if c.input != _TEXT[0]}

# The formats whose own metadata says what the table is; all other tables are Hive's.
ICEBERG, DELTA, HUDI, PAIMON, HIVE = "iceberg", "delta", "hudi", "paimon", "hive"
TABLE_FORMATS = (ICEBERG, DELTA, HUDI, PAIMON)

FILTERS = ("all", HIVE, *TABLE_FORMATS, "parquet", "orc", "csv", "json", "avro")
"""What a filter of tables may name."""

_STORAGE_HANDLERS = {
    "org.apache.iceberg.mr.hive.hiveicebergstoragehandler": ICEBERG,
    "io.delta.hive.deltastoragehandler": DELTA,
    "org.apache.paimon.hive.paimonstoragehandler": PAIMON,
}


def storage_format(storage: Storage) -> str | None:
    """The short name of a table's storage format, if its classes are known ones."""
    by_serde = _BY_SERDE.get(storage.serde.library or "")
    if by_serde is not None:
        return by_serde
    by_input = _BY_INPUT.get(storage.input_format or "")
    if by_input is not None:
        return by_input
    text = STORAGE["TEXTFILE"]
    return "TEXTFILE" if (storage.input_format, storage.serde.library) == (text.input, text.serde) else None


def table_format(entry: Entry) -> str:
    """`iceberg`, `delta`, `hudi` or `paimon` by any of the marks that engines and crawlers leave; else `hive`."""
    for key in ("table_type", "spark.sql.sources.provider", "classification", "table-format"):
        named = (entry.parameter(key) or "").lower()
        if named in TABLE_FORMATS:
            return named
    handler = _STORAGE_HANDLERS.get((entry.parameter("storage_handler") or "").lower())
    if handler is not None:
        return handler
    input_format = (entry.storage.input_format or "").lower()
    if ".hudi." in input_format or input_format.startswith("com.uber.hoodie."):
        return HUDI
    if input_format.startswith("io.delta."):
        return DELTA
    return HIVE


def matches(entry: Entry, wanted: frozenset[str]) -> bool:
    """Whether an entry belongs to one of the kinds that a filter names."""
    if "all" in wanted:
        return True
    found = table_format(entry)
    return found in wanted or (found == HIVE and file_format(entry) in wanted)


def file_format(entry: Entry) -> str | None:
    """What files of a Hive table are, as a filter names it; Spark's own tables say it in a parameter."""
    provider = (entry.parameter("spark.sql.sources.provider") or "").lower()
    if provider and provider != HIVE:
        return provider
    found = storage_format(entry.storage)
    return found.lower() if found else None


def parse_filter(field: str, text: str) -> frozenset[str]:
    """The kinds that a filter names, which form a union."""
    words = frozenset(w.strip().lower() for w in text.split(",") if w.strip())
    unknown = sorted(words - set(FILTERS))
    if unknown or not words:
        what = repr(unknown[0]) if unknown else "nothing"
        raise IllegalArgumentError(f"{field}: {what} is not allowed; allowed are {', '.join(FILTERS)}")
    return words


def classes(field: str, name: str) -> Classes:
    """The classes of a storage format's short name."""
    found = STORAGE.get(name.upper())
    if found is None:
        raise IllegalArgumentError(f"{field}: {name!r} is not allowed; allowed are {', '.join(STORAGE)}")
    return found


def new_serde(name: str | None, library: str, parameters: dict[str, str]) -> Serde:
    """A SerDe; without a format of its own, rows are serialised as Hive does by default."""
    return Serde(library=library, name=name, parameters={"serialization.format": "1", **parameters})
