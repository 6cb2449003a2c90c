"""Glue's answers to entries and back: what differs is changed, all else stays."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.catalogs.metastores.entries import Entry, Field, Storage
from headwater.catalogs.metastores.glue import convert
from headwater.catalogs.metastores.glue.shapes import check_lengths, fitted
from headwater.model.errors import IllegalArgumentError

COLUMNS = [
    {"Name": "a", "Type": "int", "Parameters": {"id": "1"}},
    {"Name": "b", "Type": "string", "Comment": "", "Parameters": {"id": "2"}},
    {"Name": "c", "Type": "string", "Parameters": {"id": "3"}},
]


def ids(*after: Field) -> list[str | None]:
    """Whose parameters the columns have after a change."""
    raw: dict[str, Any] = {"Columns": COLUMNS}
    storage = convert.storage(raw)
    changed = Storage(columns=list(after))
    found = convert.over_storage(raw, storage, changed)["Columns"]
    return [column.get("Parameters", {}).get("id") for column in found]


A, B, C = Field("a", "int"), Field("b", "string", ""), Field("c", "string")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([A, B, C], ["1", "2", "3"]),
        ([C, A, B], ["3", "1", "2"]),
        ([A, Field("x", "string"), C], ["1", "2", "3"]),
        ([Field("x", "int"), Field("y", "string"), C], ["1", "2", "3"]),
        ([Field("x", "int"), B, C, Field("new", "int")], ["1", "2", "3", None]),
        ([A, Field("x", "double"), C], ["1", None, "3"]),
        ([B, C], ["2", "3"]),
        ([A, B, C, Field("new", "int")], ["1", "2", "3", None]),
        ([Field("new", "int"), A, B, C], [None, "1", "2", "3"]),
        ([A, C, Field("x", "string")], ["1", "3", None]),
        ([], []),
    ],
)
def test_parameters_follow_their_column(after: list[Field], expected: list[str | None]) -> None:
    assert ids(*after) == expected


def test_comment_that_is_empty_is_no_missing_one() -> None:
    assert convert.fields(COLUMNS) == [A, B, C]
    raw: dict[str, Any] = {"Columns": COLUMNS}
    before = convert.storage(raw)
    moved = convert.over_storage(raw, before, Storage(columns=[C, B]))["Columns"]
    assert moved == [COLUMNS[2], COLUMNS[1]]
    assert raw == {"Columns": COLUMNS}


def test_new_entry_says_all_and_nothing_more() -> None:
    made = convert.new_entry(Entry("db", "t", Storage(columns=[A, C], location="s3://x"), kind="EXTERNAL_TABLE"))
    assert made == {
        "Name": "t",
        "TableType": "EXTERNAL_TABLE",
        "PartitionKeys": [],
        "Parameters": {},
        "StorageDescriptor": {
            "Columns": [{"Name": "a", "Type": "int"}, {"Name": "c", "Type": "string"}],
            "Location": "s3://x",
            "NumberOfBuckets": -1,
        },
    }


@pytest.fixture(scope="module")
def shape() -> Any:
    """TableInput, in the model that the SDK brings along."""
    from botocore.session import Session

    operation = Session().get_service_model("glue").operation_model("UpdateTable")
    assert operation.input_shape is not None
    return operation.input_shape.members["TableInput"]


def test_only_what_glue_writes_is_left_out(shape: Any) -> None:
    only_glues = {"CreatedBy": "arn", "VersionId": "3", "IsRegisteredWithLakeFormation": True, "DatabaseName": "d"}
    kept = {
        "Name": "t",
        "Retention": 0,
        "Description": "",
        "ViewDefinition": {"IsProtected": True},
        "Parameters": {"": ""},
    }
    stale = {**kept, "ViewDefinition": {"IsProtected": True, "NotOfInput": 1}, "Owner": "", "TargetTable": None}
    assert fitted(shape, {**stale, **only_glues}) == kept


def test_only_new_texts_are_measured(shape: Any) -> None:
    long = {"Name": "t", "Description": "x" * 3000, "Parameters": {"k": "v" * 512_000}}
    check_lengths(shape, long, {**long, "Owner": "me"})
    with pytest.raises(IllegalArgumentError, match=r"^comment: Glue takes at most 2,048 characters, not 3,000$"):
        check_lengths(shape, long, {"Name": "t"})
    with pytest.raises(IllegalArgumentError, match=r"^Parameters: Glue takes at most 255 "):
        check_lengths(shape, {"Parameters": {"k" * 256: "v"}})
    with pytest.raises(IllegalArgumentError, match=r"^Parameters\.k: Glue takes at most 512,000 "):
        check_lengths(shape, {"Parameters": {"k": "v" * 512_001}})
