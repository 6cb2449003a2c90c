"""Glue as a metastore: every call against a Glue that pages, counts versions and refuses as AWS documents it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.catalogs.base import Context
from headwater.catalogs.metastores.base import Metastore
from headwater.catalogs.metastores.entries import (
    EXTERNAL_TABLE,
    MANAGED_TABLE,
    VIRTUAL_VIEW,
    Database,
    Entry,
    Field,
    Listed,
    PartitionEntry,
    Serde,
    SortColumn,
    Storage,
)
from headwater.catalogs.metastores.glue import open_glue
from headwater.model.errors import (
    BackendBusyError,
    BackendTimeoutError,
    ConflictError,
    ConnectionFailedError,
    ForbiddenError,
    HeadwaterError,
    IllegalArgumentError,
    NoSuchSchemaError,
    NoSuchTableError,
    PartitionAlreadyExistsError,
    SchemaAlreadyExistsError,
    TableAlreadyExistsError,
    UnsupportedOperationError,
)
from tests import servers
from tests.servers.aws import AwsServer

Open = Callable[..., Metastore]

ODD: dict[str, Any] = {
    "Name": "odd",
    "Description": "as it was",
    "Owner": "hadoop",
    "LastAccessTime": datetime(2024, 1, 2, tzinfo=UTC),
    "LastAnalyzedTime": datetime(2024, 1, 3, tzinfo=UTC),
    "Retention": 7,
    "StorageDescriptor": {
        "Columns": [
            {"Name": "id", "Type": "bigint", "Comment": "", "Parameters": {"iceberg.field.id": "1"}},
            {"Name": "day", "Type": "string", "Parameters": {"crawler": "yes"}},
            {"Name": "note", "Type": "string", "Comment": "free text"},
        ],
        "Location": "s3://lake/odd",
        "AdditionalLocations": ["s3://lake/odd-2"],
        "InputFormat": "org.example.In",
        "OutputFormat": "org.example.Out",
        "Compressed": True,
        "NumberOfBuckets": 4,
        "SerdeInfo": {"Name": "mine", "SerializationLibrary": "org.example.SerDe", "Parameters": {"field.delim": "|"}},
        "BucketColumns": ["id"],
        "SortColumns": [{"Column": "day", "SortOrder": 0}],
        "Parameters": {"classification": "odd"},
        "SkewedInfo": {
            "SkewedColumnNames": ["day"],
            "SkewedColumnValues": ["2024-01-01"],
            "SkewedColumnValueLocationMaps": {"2024-01-01": "s3://lake/odd/skewed"},
        },
        "StoredAsSubDirectories": True,
        "SchemaReference": {"SchemaId": {"SchemaName": "s", "RegistryName": "r"}, "SchemaVersionNumber": 2},
    },
    "PartitionKeys": [{"Name": "p", "Type": "string", "Comment": "key", "Parameters": {"k": "v"}}],
    "ViewOriginalText": "/* original */",
    "ViewExpandedText": "/* expanded */",
    "TableType": "EXTERNAL_TABLE",
    "Parameters": {"EXTERNAL": "TRUE", "unknown.to.us": "kept"},
    "TargetTable": {"CatalogId": "999999999999", "DatabaseName": "far", "Name": "away", "Region": "eu-west-1"},
}
"""A table with a value in every member that Glue takes from a client, but for those of its own views."""


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with servers.aws() as started:
        yield started


@pytest.fixture(autouse=True)
def _fresh(aws: AwsServer) -> None:
    aws.reset()


@pytest.fixture
def open_(aws: AwsServer, tmp_path: Path) -> Iterator[Open]:
    opened: list[Metastore] = []

    def open_it(timeout: float = 30.0, **properties: str) -> Metastore:
        given = {
            "aws-region": aws.region,
            "aws-glue-endpoint": aws.uri,
            "aws-access-key-id": aws.access_key_id,
            "aws-secret-access-key": aws.secret_access_key,
        } | {k.replace("_", "-"): v for k, v in properties.items()}
        metastore = open_glue(context(tmp_path, given, timeout), separate=True)
        opened.append(metastore)
        return metastore

    yield open_it
    for metastore in opened:
        metastore.close()


def context(scratch: Path, properties: dict[str, str], timeout: float = 30.0) -> Context:
    return Context(
        name="lake.glue",
        properties=properties,
        scratch=scratch,
        timeout=timeout,
        many_processes=False,
        check_local=lambda field, location: None,
        check_removable=lambda field, location: None,
    )


@pytest.fixture
def glue(open_: Open) -> Metastore:
    metastore = open_()
    metastore.create_database(Database("db"))
    return metastore


@pytest.fixture
def raw(aws: AwsServer) -> Any:
    """A plain client, to make things behind our back and to see what Glue really holds."""
    return aws.client("glue")


def got(raw: Any, name: str, database: str = "db") -> dict[str, Any]:
    return dict(raw.get_table(DatabaseName=database, Name=name)["Table"])


def differences(before: Any, after: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """What differs between two answers, by its path."""
    if isinstance(before, dict) and isinstance(after, dict):
        found: dict[str, tuple[Any, Any]] = {}
        for key in sorted(before.keys() | after.keys()):
            found |= differences(before.get(key), after.get(key), f"{path}.{key}".lstrip("."))
        return found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return {
            k: v
            for n, pair in enumerate(zip(before, after, strict=True))
            for k, v in differences(*pair, f"{path}[{n}]").items()
        }
    return {} if before == after else {path: (before, after)}


ALWAYS = {"UpdateTime", "VersionId"}
"""What every update of a table moves."""


def hive_table(name: str = "t", **others: Any) -> Entry:
    storage = Storage(
        columns=[Field("id", "bigint", "number"), Field("name", "string")],
        location=f"s3://lake/db/{name}",
        input_format="org.apache.hadoop.mapred.TextInputFormat",
        output_format="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        serde=Serde("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", None, {"field.delim": ","}),
    )
    keys = [Field("dt", "string"), Field("n", "int", "nth")]
    made = Entry("db", name, storage, keys, {"EXTERNAL": "TRUE"}, EXTERNAL_TABLE)
    return msgspec.structs.replace(made, **others)


# --- databases ---


def test_databases(glue: Metastore, raw: Any) -> None:
    glue.create_database(Database("sales", "all of it", "s3://lake/sales", {"a": "b"}))
    found = glue.database("sales")
    assert (found.name, found.comment, found.location, found.parameters) == (
        "sales", "all of it", "s3://lake/sales", {"a": "b"},
    )  # fmt: skip
    assert found.created is not None
    assert abs(found.created - datetime.now(UTC).timestamp()) < 60
    assert glue.databases() == ["db", "sales"]
    with pytest.raises(SchemaAlreadyExistsError, match=r"Schema lake\.glue\.sales already exists"):
        glue.create_database(Database("sales"))
    with pytest.raises(NoSuchSchemaError, match=r"Schema lake\.glue\.nope does not exist"):
        glue.database("nope")
    glue.drop_database("sales")
    assert glue.databases() == ["db"]
    with pytest.raises(NoSuchSchemaError):
        glue.drop_database("sales")


def test_altered_database_keeps_the_rest(glue: Metastore, raw: Any) -> None:
    permissions = [{"Principal": {"DataLakePrincipalIdentifier": "IAM_ALLOWED_PRINCIPALS"}, "Permissions": ["ALL"]}]
    given = {"Name": "kept", "LocationUri": "s3://lake/kept", "CreateTableDefaultPermissions": permissions}
    raw.create_database(DatabaseInput=given)
    was = raw.get_database(Name="kept")["Database"]
    before = glue.database("kept")
    glue.alter_database(before, msgspec.structs.replace(before, parameters={"x": "1"}, comment="new"))
    now = raw.get_database(Name="kept")["Database"]
    assert set(differences(was, now)) == {"Description", "Parameters"}
    before = glue.database("kept")
    glue.alter_database(before, msgspec.structs.replace(before, parameters={}, comment=None))
    assert "Description" not in raw.get_database(Name="kept")["Database"]
    with pytest.raises(UnsupportedOperationError):
        glue.alter_database(before, msgspec.structs.replace(before, name="other"))
    raw.delete_database(Name="kept")
    with pytest.raises(NoSuchSchemaError):
        glue.alter_database(before, before)


def test_many_databases_come_in_pages(glue: Metastore, aws: AwsServer) -> None:
    for n in range(7):
        glue.create_database(Database(f"d{n}"))
    aws.set_page_size(3)
    aws.forget_calls()
    assert glue.databases() == ["d0", "d1", "d2", "d3", "d4", "d5", "d6", "db"]
    assert aws.operations() == ["GetDatabases"] * 3


# --- tables ---


def test_created_entry_is_read_back(glue: Metastore, raw: Any) -> None:
    storage = hive_table().storage
    storage.buckets, storage.bucket_columns, storage.sort_columns = 8, ["id"], [SortColumn("name", ascending=False)]
    storage.parameters = {"p": "q"}
    made = hive_table(storage=storage, comment="ours", owner="ana", kind=MANAGED_TABLE)
    glue.create(made)
    found = glue.entry("db", "t")
    modelled = {"raw": None, "created": None, "changed": None, "version": None}
    assert msgspec.structs.replace(found, **modelled) == made
    assert found.created is not None
    assert found.version == "0"
    assert found.raw == got(raw, "t")


def test_created_entry_is_explicit_where_engines_stumble(glue: Metastore, raw: Any) -> None:
    glue.create(Entry("db", "bare", kind=EXTERNAL_TABLE))
    found = got(raw, "bare")
    assert (found["PartitionKeys"], found["Parameters"]) == ([], {})
    assert found["StorageDescriptor"]["NumberOfBuckets"] == -1
    assert "Description" not in found


def test_view_without_storage(glue: Metastore, raw: Any) -> None:
    raw.create_table(
        DatabaseName="db", TableInput={"Name": "v", "TableType": VIRTUAL_VIEW, "ViewOriginalText": "/* Presto View */"}
    )
    raw.create_table(DatabaseName="db", TableInput={"Name": "without"})
    found = glue.entry("db", "v")
    assert found.is_view
    assert found.storage == Storage()
    assert found.view_original_text == "/* Presto View */"
    assert glue.entry("db", "without").kind == ""
    assert glue.listed("db") == [Listed("v", VIRTUAL_VIEW), Listed("without", "")]


def test_missing_and_taken(glue: Metastore) -> None:
    glue.create(hive_table())
    with pytest.raises(TableAlreadyExistsError, match=r"Table lake\.glue\.db\.t already exists"):
        glue.create(hive_table())
    with pytest.raises(NoSuchTableError, match=r"Table lake\.glue\.db\.nope does not exist"):
        glue.entry("db", "nope")
    with pytest.raises(NoSuchSchemaError, match=r"Schema lake\.glue\.nope does not exist"):
        glue.entry("nope", "t")
    with pytest.raises(NoSuchSchemaError):
        glue.create(hive_table(database="nope"))
    with pytest.raises(NoSuchSchemaError):
        glue.listed("nope")
    with pytest.raises(NoSuchSchemaError):
        list(glue.entries("nope"))
    before = glue.entry("db", "t")
    glue.drop(before, delete_data=False)
    with pytest.raises(NoSuchTableError):
        glue.drop(before, delete_data=False)
    with pytest.raises(NoSuchTableError):
        glue.replace(before, msgspec.structs.replace(before, comment="late"))


def test_250_tables_come_in_pages(glue: Metastore, raw: Any, aws: AwsServer) -> None:
    for n in range(250):
        kind = VIRTUAL_VIEW if n % 10 == 0 else EXTERNAL_TABLE
        raw.create_table(DatabaseName="db", TableInput={"Name": f"t{n:03}", "TableType": kind})
    aws.forget_calls()
    found = glue.listed("db")
    assert [f.name for f in found] == [f"t{n:03}" for n in range(250)]
    assert sum(f.kind == VIRTUAL_VIEW for f in found) == 25
    assert [c["parameters"].get("AttributesToGet") for c in aws.calls("glue")] == [["NAME", "TABLE_TYPE"]] * 3
    aws.forget_calls()
    assert [e.name for e in glue.entries("db")] == [f"t{n:03}" for n in range(250)]
    assert aws.operations("glue") == ["GetTables"] * 3


# --- changes ---


def _comment(e: Entry) -> None:
    e.comment = "changed"


def _no_comment(e: Entry) -> None:
    e.comment = None


def _set_parameter(e: Entry) -> None:
    e.parameters = {**e.parameters, "new": "1"}


def _remove_parameter(e: Entry) -> None:
    e.parameters = {"EXTERNAL": "TRUE"}


def _add_column(e: Entry) -> None:
    e.storage.columns = [*e.storage.columns, Field("extra", "int", "added")]


def _rename_column(e: Entry) -> None:
    first, day, note = e.storage.columns
    e.storage.columns = [first, Field("date", day.type, day.comment), note]


def _retype_column(e: Entry) -> None:
    first, day, note = e.storage.columns
    e.storage.columns = [Field(first.name, "decimal(38,0)", first.comment), day, note]


def _drop_column(e: Entry) -> None:
    e.storage.columns = e.storage.columns[:2]


def _serde(e: Entry) -> None:
    e.storage.serde = Serde(e.storage.serde.library, e.storage.serde.name, {"field.delim": ";"})


def _storage(e: Entry) -> None:
    e.storage.location, e.storage.buckets, e.storage.sort_columns = "s3://lake/other", 2, [SortColumn("id")]


def _key_comment(e: Entry) -> None:
    e.partition_keys = [Field("p", "string", "other")]


def _owner_and_kind(e: Entry) -> None:
    e.owner, e.kind, e.accessed = "ana", MANAGED_TABLE, 1_700_000_000.0


def _nothing(e: Entry) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        (_nothing, set()),
        (_comment, {"Description"}),
        (_no_comment, {"Description"}),
        (_set_parameter, {"Parameters.new"}),
        (_remove_parameter, {"Parameters.unknown.to.us"}),
        (_add_column, {"StorageDescriptor.Columns"}),
        (_rename_column, {"StorageDescriptor.Columns[1].Name"}),
        (_retype_column, {"StorageDescriptor.Columns[0].Type"}),
        (_drop_column, {"StorageDescriptor.Columns"}),
        (_serde, {"StorageDescriptor.SerdeInfo.Parameters.field.delim"}),
        (
            _storage,
            {
                "StorageDescriptor.Location",
                "StorageDescriptor.NumberOfBuckets",
                "StorageDescriptor.SortColumns[0].Column",
                "StorageDescriptor.SortColumns[0].SortOrder",
            },
        ),
        (_key_comment, {"PartitionKeys[0].Comment"}),
        (_owner_and_kind, {"Owner", "TableType", "LastAccessTime"}),
    ],
)
def test_replace_changes_nothing_else(
    glue: Metastore, raw: Any, change: Callable[[Entry], None], paths: set[str]
) -> None:
    raw.create_table(DatabaseName="db", TableInput=ODD)
    was = got(raw, "odd")
    after = glue.entry("db", "odd")
    change(after)
    glue.replace(glue.entry("db", "odd"), after)
    assert set(differences(was, got(raw, "odd"))) - ALWAYS == paths


def test_column_parameters_stay_with_their_column(glue: Metastore, raw: Any) -> None:
    raw.create_table(DatabaseName="db", TableInput=ODD)
    first, day, note = ODD["StorageDescriptor"]["Columns"]
    for change, expected in (
        (_add_column, [first, day, note, {"Name": "extra", "Type": "int", "Comment": "added"}]),
        (_drop_column, [first, day]),
        (_move_back, [day, first]),
    ):
        after = glue.entry("db", "odd")
        change(after)
        glue.replace(glue.entry("db", "odd"), after)
        assert got(raw, "odd")["StorageDescriptor"]["Columns"] == expected


def _move_back(e: Entry) -> None:
    e.storage.columns = e.storage.columns[::-1]


def test_entry_without_storage_stays_so(glue: Metastore, raw: Any) -> None:
    raw.create_table(
        DatabaseName="db", TableInput={"Name": "bare", "TableType": "EXTERNAL_TABLE", "Parameters": {"a": "1"}}
    )
    was = got(raw, "bare")
    before = glue.entry("db", "bare")
    glue.replace(before, msgspec.structs.replace(before, parameters={"a": "2"}))
    assert set(differences(was, got(raw, "bare"))) - ALWAYS == {"Parameters.a"}


def test_update_from_outside_is_not_overwritten(glue: Metastore, raw: Any, aws: AwsServer) -> None:
    glue.create(hive_table())
    before = glue.entry("db", "t")
    raw.update_table(DatabaseName="db", TableInput={"Name": "t", "Description": "theirs"})
    with pytest.raises(ConflictError):
        glue.replace(before, msgspec.structs.replace(before, comment="ours"))
    assert got(raw, "t")["Description"] == "theirs"
    before = glue.entry("db", "t")
    outside = {"DatabaseName": "db", "TableInput": {"Name": "t", "Description": "just before"}}
    aws.on_next("UpdateTable", {"UpdateTable": outside})
    with pytest.raises(ConflictError):
        glue.replace(before, msgspec.structs.replace(before, comment="ours"))
    assert got(raw, "t")["Description"] == "just before"


def test_rename_is_refused(glue: Metastore) -> None:
    glue.create(hive_table())
    before = glue.entry("db", "t")
    assert not glue.renames
    with pytest.raises(UnsupportedOperationError):
        glue.replace(before, msgspec.structs.replace(before, name="other"))


def test_too_long_a_comment_is_named(glue: Metastore, aws: AwsServer) -> None:
    with pytest.raises(IllegalArgumentError, match=r"comment: Glue takes at most 2,048 characters, not 2,049"):
        glue.create(hive_table(comment="x" * 2049))
    glue.create(hive_table(comment="x" * 2048))
    before, after = glue.entry("db", "t"), glue.entry("db", "t")
    after.storage.columns[1] = Field("name", "string", "y" * 256)
    with pytest.raises(IllegalArgumentError, match=r"StorageDescriptor\.Columns\[1\]\.Comment.* 255 "):
        glue.replace(before, after)
    with pytest.raises(IllegalArgumentError, match=r"comment: Glue takes"):
        glue.create_database(Database("long", "x" * 2049))
    assert aws.operations("glue").count("CreateTable") == 1


# --- what an earlier try did ---


def test_lost_answers_are_no_errors(glue: Metastore, raw: Any, aws: AwsServer) -> None:
    def lose(operation: str) -> None:
        aws.fail(operation, "InternalServiceException", status=500, after=True)

    lose("CreateDatabase")
    glue.create_database(Database("again", "c"))
    lose("CreateTable")
    glue.create(hive_table(owner="ana"))
    before = glue.entry("db", "t")
    lose("UpdateTable")
    glue.replace(before, msgspec.structs.replace(before, comment="once"))
    assert got(raw, "t")["Description"] == "once"
    assert got(raw, "t")["VersionId"] == "1"
    lose("BatchCreatePartition")
    glue.add_partitions(glue.entry("db", "t"), [PartitionEntry(["a", "1"]), PartitionEntry(["b", "2"])])
    assert glue.partition_names(before) == ["dt=a/n=1", "dt=b/n=2"]
    lose("DeleteTable")
    glue.drop(before, delete_data=False)
    lose("DeleteDatabase")
    glue.drop_database("again")
    assert glue.databases() == ["db"]


def test_someone_elses_work_is_not_taken_for_ours(glue: Metastore, raw: Any, aws: AwsServer) -> None:
    aws.fail("CreateTable", "InternalServiceException", status=500)
    aws.on_next("CreateTable", {"CreateTable": {"DatabaseName": "db", "TableInput": {"Name": "t"}}})
    with pytest.raises(TableAlreadyExistsError):
        glue.create(hive_table())
    raw.delete_table(DatabaseName="db", Name="t")
    glue.create(hive_table())
    before = glue.entry("db", "t")
    aws.fail("UpdateTable", "InternalServiceException", status=500)
    aws.on_next("UpdateTable", {"UpdateTable": {"DatabaseName": "db", "TableInput": {"Name": "t"}}})
    with pytest.raises(ConflictError):
        glue.replace(before, msgspec.structs.replace(before, comment="ours"))


def test_what_can_not_be_known_is_said(glue: Metastore, aws: AwsServer) -> None:
    glue.create(hive_table())
    before = glue.entry("db", "t")
    aws.fail("UpdateTable", "InternalServiceException", status=500)
    for _ in range(2):
        aws.on_next("UpdateTable", {"UpdateTable": {"DatabaseName": "db", "TableInput": {"Name": "t"}}})
    with pytest.raises(BackendTimeoutError, match="it is not known whether the change was made"):
        glue.replace(before, msgspec.structs.replace(before, comment="ours"))


# --- partitions ---


def test_250_partitions(glue: Metastore, raw: Any, aws: AwsServer) -> None:
    glue.create(hive_table())
    entry = glue.entry("db", "t")
    made = [PartitionEntry(["a/b", f"{n:03}"]) for n in range(250)]
    aws.forget_calls()
    glue.add_partitions(entry, made)
    assert [len(c["parameters"]["PartitionInputList"]) for c in aws.calls("glue")] == [100, 100, 50]
    names = [f"dt=a%2Fb/n={n:03}" for n in range(250)]
    assert glue.partition_names(entry) == names
    aws.set_page_size(60)
    aws.forget_calls()
    assert [p.values for p in glue.partitions(entry)] == [p.values for p in made]
    assert aws.operations("glue") == ["GetPartitions"] * 5
    aws.forget_calls()
    wanted = [["a/b", "007"], ["nope", "1"], *(p.values for p in made[100:])]
    assert sorted(p.values[1] for p in glue.partitions(entry, wanted)) == ["007", *(f"{n:03}" for n in range(100, 250))]
    assert aws.operations("glue") == ["BatchGetPartition"]
    aws.forget_calls()
    assert glue.drop_partitions(entry, [p.values for p in made[:60]], delete_data=False) == 60
    assert [len(c["parameters"]["PartitionsToDelete"]) for c in aws.calls("glue")] == [25, 25, 10]
    assert glue.drop_partitions(entry, [p.values for p in made[50:70]], delete_data=True) == 10
    assert glue.partition_names(entry) == names[70:]


def test_partition_without_storage_is_as_the_table(glue: Metastore, raw: Any) -> None:
    raw.create_table(DatabaseName="db", TableInput=ODD)
    entry = glue.entry("db", "odd")
    [added] = glue.add_partitions(entry, [PartitionEntry(["x=y"], parameters={"a": "1"})])
    found = raw.get_partition(DatabaseName="db", TableName="odd", PartitionValues=["x=y"])["Partition"]
    expected = {**ODD["StorageDescriptor"], "Location": "s3://lake/odd/p=x%3Dy"}
    assert found["StorageDescriptor"] == expected
    ours = glue.partition(entry, ["x=y"])
    assert ours is not None
    assert (ours.values, ours.parameters, ours.raw) == (["x=y"], {"a": "1"}, found)
    assert ours.created is not None
    assert ours.storage is not None
    assert ours.storage.location == "s3://lake/odd/p=x%3Dy"
    assert (added.values, added.parameters, added.storage) == (ours.values, ours.parameters, ours.storage)
    assert glue.partition(entry, ["nope"]) is None


def test_partition_with_storage_of_its_own(glue: Metastore, raw: Any) -> None:
    raw.create_table(DatabaseName="db", TableInput=ODD)
    entry = glue.entry("db", "odd")
    own = glue.entry("db", "odd").storage
    own.location, own.input_format = "s3://elsewhere/1", "org.example.Other"
    [added] = glue.add_partitions(entry, [PartitionEntry(["1"], own)])
    assert added.storage == own
    found = raw.get_partition(DatabaseName="db", TableName="odd", PartitionValues=["1"])["Partition"]
    changed = {"Location": "s3://elsewhere/1", "InputFormat": "org.example.Other"}
    assert found["StorageDescriptor"] == {**ODD["StorageDescriptor"], **changed}


def test_existing_partitions_are_named_and_the_rest_is_added(glue: Metastore) -> None:
    glue.create(hive_table())
    entry = glue.entry("db", "t")
    glue.add_partitions(entry, [PartitionEntry(["b", "150"])])
    many = [PartitionEntry(["b", f"{n}"]) for n in range(250)]
    with pytest.raises(PartitionAlreadyExistsError) as e:
        glue.add_partitions(entry, many)
    existing, added = e.value.message.split("; added: ")
    assert existing == "Table lake.glue.db.t has these already: dt=b/n=150"
    assert added.startswith("dt=b/n=0, dt=b/n=1, ")
    assert added.endswith(" and 149 more, in the order of the request")
    assert len(glue.partition_names(entry)) == 250
    with pytest.raises(PartitionAlreadyExistsError, match="none was added"):
        glue.add_partitions(entry, many)


def test_failed_batch_names_what_was_added_before(glue: Metastore, aws: AwsServer) -> None:
    glue.create(hive_table())
    entry = glue.entry("db", "t")
    many = [PartitionEntry(["b", f"{n:03}"]) for n in range(150)]
    missing = {"DatabaseName": "db", "TableName": "t", "PartitionInput": {"Values": ["b", "zzz"]}}
    glue.add_partitions(entry, [])
    aws.on_next("BatchCreatePartition", {"CreatePartition": missing})
    aws.forget_calls()
    glue.add_partitions(entry, many[:100])
    aws.throttle("BatchCreatePartition", 3)
    with pytest.raises(BackendBusyError, match="none was added"):
        glue.add_partitions(entry, many[100:])
    glue.drop_partitions(entry, [p.values for p in many], delete_data=False)

    aws.fail("BatchCreatePartition", delay=0)  # the first call goes through
    aws.throttle("BatchCreatePartition", 3)
    with pytest.raises(BackendBusyError, match=r"added: dt=b/n=000, .*, dt=b/n=099$"):
        glue.add_partitions(entry, many)
    assert len(glue.partition_names(entry)) == 101
    with pytest.raises(PartitionAlreadyExistsError):
        glue.add_partitions(entry, many)
    assert len(glue.partition_names(entry)) == 151


def test_partitions_of_a_missing_table(glue: Metastore) -> None:
    entry = hive_table("gone")
    with pytest.raises(NoSuchTableError):
        glue.partition_names(entry)
    with pytest.raises(NoSuchTableError):
        glue.add_partitions(entry, [PartitionEntry(["a", "1"])])
    with pytest.raises(NoSuchTableError):
        glue.drop_partitions(entry, [["a", "1"]], delete_data=False)


# --- refusals ---


def test_throttling_is_retried_then_503(glue: Metastore, aws: AwsServer) -> None:
    aws.throttle("GetDatabase", 2)
    aws.forget_calls()
    assert glue.database("db").name == "db"
    assert aws.operations() == ["GetDatabase"] * 3
    aws.throttle("GetTables", 3)
    with pytest.raises(BackendBusyError) as e:
        glue.listed("db")
    assert (e.value.status, e.value.retry_after) == (503, 2)
    assert glue.listed("db") == []


def test_catalog_id_is_on_every_call(open_: Open, glue: Metastore, aws: AwsServer) -> None:
    own = open_(aws_glue_catalog_id=aws.account)
    aws.forget_calls()
    own.probe()
    own.create(hive_table())
    entry = own.entry("db", "t")
    own.replace(entry, msgspec.structs.replace(entry, comment="x"))
    own.add_partitions(entry, [PartitionEntry(["a", "1"])])
    assert own.partition(entry, ["a", "1"]) is not None
    assert own.partition_names(entry) == ["dt=a/n=1"]
    assert len(list(own.partitions(entry, [["a", "1"]]))) == 1
    own.drop_partitions(entry, [["a", "1"]], delete_data=False)
    own.drop(entry, delete_data=False)
    calls = aws.calls("glue")
    assert len(calls) > 8
    assert {c["parameters"].get("CatalogId") for c in calls} == {aws.account}
    assert open_(aws_glue_catalog_id=f"{aws.account}:s3tablescatalog/bucket").databases() == []
    with pytest.raises(ConnectionFailedError, match="999999999999"):
        open_(aws_glue_catalog_id="999999999999").probe()
    with pytest.raises(ConnectionFailedError, match="999999999999"):
        open_(aws_glue_catalog_id="999999999999").databases()
    with pytest.raises(NoSuchSchemaError):
        open_(aws_glue_catalog_id="999999999999").database("db")


@pytest.mark.parametrize(
    ("code", "status", "expected", "text"),
    [
        ("AccessDeniedException", 400, ConnectionFailedError, "refused the credentials: Injected"),
        ("UnrecognizedClientException", 400, ConnectionFailedError, "refused the credentials"),
        ("InvalidSignatureException", 400, ConnectionFailedError, "refused the credentials"),
        ("ExpiredTokenException", 400, ConnectionFailedError, "refused the credentials"),
        ("InternalServiceException", 500, ConnectionFailedError, "failed at GetDatabases"),
        ("GlueEncryptionException", 400, ConnectionFailedError, "GlueEncryptionException"),
        ("SomethingNew", 400, ConnectionFailedError, "SomethingNew"),
        ("OperationTimeoutException", 400, BackendTimeoutError, "Injected"),
        ("InvalidInputException", 400, IllegalArgumentError, "Injected"),
        ("ServiceUnavailable", 503, BackendBusyError, "busy"),
    ],
)
def test_refusals(
    open_: Open, aws: AwsServer, code: str, status: int, expected: type[HeadwaterError], text: str
) -> None:
    aws.fail("GetDatabases", code, status=status, times=3)
    with pytest.raises(expected, match=text) as e:
        open_().probe()
    assert aws.secret_access_key not in e.value.message.split()


def test_denied_object_is_forbidden(glue: Metastore, aws: AwsServer) -> None:
    glue.create(hive_table())
    denied = "Insufficient Lake Formation permission(s): Required Describe on t"
    aws.fail("GetTable", "AccessDeniedException", message=denied)
    with pytest.raises(ForbiddenError, match=r"Table lake\.glue\.db\.t: Insufficient Lake Formation"):
        glue.entry("db", "t")
    aws.fail("GetTables", "AccessDeniedException")
    with pytest.raises(ForbiddenError, match=r"Schema lake\.glue\.db"):
        glue.listed("db")
    aws.fail("GetDatabase", "AccessDeniedException")
    with pytest.raises(NoSuchTableError):
        glue.entry("db", "nope")


def test_what_stands_below_a_message_is_not_told(open_: Open, aws: AwsServer) -> None:
    told = "The signature does not match.\n\nx-amz-security-token:SECRET"
    aws.fail("GetDatabases", "InvalidSignatureException", message=told)
    with pytest.raises(ConnectionFailedError) as e:
        open_().probe()
    assert "SECRET" not in e.value.message


def test_unreachable_endpoint(open_: Open) -> None:
    port = servers.free_port()
    with pytest.raises(ConnectionFailedError, match=rf"us-east-1 \(http://127\.0\.0\.1:{port}\) can't be reached"):
        open_(aws_glue_endpoint=f"http://127.0.0.1:{port}").probe()


def test_hanging_endpoint_is_given_up_within_the_time(open_: Open) -> None:
    with servers.hanging() as silent:
        started = datetime.now(UTC)
        with pytest.raises(BackendTimeoutError, match="did not answer in time"):
            open_(timeout=6.0, aws_glue_endpoint=f"http://127.0.0.1:{silent.port}").probe()
        assert (datetime.now(UTC) - started).total_seconds() < 6


def test_something_else_at_the_endpoint(open_: Open, aws: AwsServer) -> None:
    with pytest.raises(ConnectionFailedError):
        open_(aws_glue_endpoint=f"{aws.uri}/health/").probe()


def test_close_is_not_the_end(glue: Metastore) -> None:
    assert glue.databases() == ["db"]
    glue.close()
    glue.close()
    assert glue.databases() == ["db"]
