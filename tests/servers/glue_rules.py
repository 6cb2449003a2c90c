"""What AWS Glue does and moto does not, put around moto's own handling of each call (see `aws` for the list).

Every rule works on the JSON of requests and answers, so that moto's data are the only state but column statistics.
"""

import base64
import binascii
import bisect
import functools
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]
# Runs an operation of moto's: its name and parameters to the answer.
Backend = Callable[[str, Json], Json]

ACCOUNT = "123456789012"
LARGEST_PAGE = 100
LARGEST_PARTITION_PAGE = 1000
# The lists that are paged, with the field that holds them and what identifies an item.
PAGED: dict[str, tuple[str, Callable[[Json], Any]]] = {
    "GetDatabases": ("DatabaseList", lambda item: item["Name"]),
    "GetTables": ("TableList", lambda item: item["Name"]),
    "GetTableVersions": ("TableVersions", lambda item: -int(item["VersionId"])),
    "GetPartitions": ("Partitions", lambda item: item["Values"]),
}
# Fields whose values are names of databases, tables or functions.
NAME_FIELDS = {"DatabaseName", "TableName", "Name", "FunctionName"}
COLUMN_FIELDS = {"Columns", "PartitionKeys"}
ATTRIBUTES = {
    "GetTables": {"NAME": "Name", "TABLE_TYPE": "TableType"},
    "GetTable": {"NAME": "Name", "TABLE_TYPE": "TableType"},
    "GetDatabases": {"NAME": "Name", "TARGET_DATABASE": "TargetDatabase"},
}
# What moto answers with an internal error, and an empty Glue with an empty list.
EMPTY_LISTS: dict[str, Json] = {
    "GetUserDefinedFunctions": {"UserDefinedFunctions": []},
    "GetCatalogs": {"CatalogList": []},
}


class GlueError(Exception):
    """An answer with an error's code and message, and the HTTP status."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


class GlueRules:
    """Answers one call after the other; the caller takes care that no two run at once."""

    def __init__(self) -> None:
        # By table or partition, then by column.
        self._statistics: dict[str, dict[str, Json]] = {}
        # What moto answered to a list that came in several pages, until something is written: moto itself answers all
        # of it for each page.
        self._lists: dict[str, Json] = {}
        # A smaller page than AWS's largest, whatever the caller asks for, so that few objects make many pages.
        self.page_size: int | None = None

    def reset(self) -> None:
        self._statistics.clear()
        self._lists.clear()
        self.page_size = None

    def answer(self, operation: str, parameters: Json, backend: Backend) -> Json:
        _validate(operation, parameters)
        if _names_another_catalog(parameters):
            return _answer_of_empty_catalog(operation, parameters)
        parameters = _fold_names(operation, parameters)
        if operation in EMPTY_LISTS:
            return EMPTY_LISTS[operation]
        if not operation.startswith(("Get", "BatchGet")):
            self._lists.clear()
        if "ColumnStatisticsFor" in operation:
            return self._column_statistics(operation, parameters, backend)
        if operation == "UpdateTable":
            return _update_table(parameters, backend)
        wanted = _attributes(operation, parameters)
        asked = _with_moto_versions(parameters)
        if operation in PAGED:
            answer = self._page(operation, parameters, self._sorted_list(operation, asked, backend))
        else:
            answer = _with_version_offset(backend(operation, asked), -1)
        return answer if wanted is None else _keep_attributes(answer, wanted)

    def _sorted_list(self, operation: str, asked: Json, backend: Backend) -> Json:
        """What moto answers, in order; nobody may change it."""
        about = json.dumps([operation, asked], sort_keys=True)
        answer = self._lists.get(about)
        if answer is None:
            field, key = PAGED[operation]
            answer = _with_version_offset(backend(operation, asked), -1)
            answer[field].sort(key=key)
            if len(answer[field]) > (self.page_size or LARGEST_PAGE):
                self._lists[about] = answer
        return answer

    def _page(self, operation: str, parameters: Json, answer: Json) -> Json:
        field, key = PAGED[operation]
        # Partitions may be many, and are asked for by the thousand.
        largest = LARGEST_PARTITION_PAGE if operation == "GetPartitions" else LARGEST_PAGE
        size = min(parameters.get("MaxResults", largest), self.page_size or largest)
        # What a token is good for: the same request.
        about = [operation, *(parameters.get(name) for name in ("DatabaseName", "TableName", "Expression", "Segment"))]
        items = answer[field]
        if "Segment" in parameters:
            segment = parameters["Segment"]
            number, total = segment["SegmentNumber"], segment["TotalSegments"]
            items = [item for item in items if zlib.crc32(json.dumps(key(item)).encode()) % total == number]
        start = 0
        if token := parameters.get("NextToken"):
            start = bisect.bisect_right(items, _read_token(token, about), key=key)
        page = items[start : start + size]
        if parameters.get("ExcludeColumnSchema"):
            page = [_without_columns(item) for item in page]
        paged = {**answer, field: page}
        paged.pop("NextToken", None)
        if len(items) > start + size:
            paged["NextToken"] = _make_token(about, key(page[-1]))
        return paged

    def _column_statistics(self, operation: str, parameters: Json, backend: Backend) -> Json:
        owner = {"DatabaseName": parameters["DatabaseName"]}
        if operation.endswith("Partition"):
            owner |= {"TableName": parameters["TableName"], "PartitionValues": parameters["PartitionValues"]}
            created = backend("GetPartition", owner)["Partition"].get("CreationTime")
        else:
            owner |= {"Name": parameters["TableName"]}
            created = backend("GetTable", owner)["Table"]["CreateTime"]
        # What is dropped and made anew starts without.
        known = self._statistics.setdefault(json.dumps([owner, created]), {})
        if operation.startswith("Update"):
            known.update({item["ColumnName"]: item for item in parameters["ColumnStatisticsList"]})
            return {"Errors": []}
        if operation.startswith("Delete"):
            if known.pop(parameters["ColumnName"], None) is None:
                raise GlueError("EntityNotFoundException", f"Column {parameters['ColumnName']} has no statistics.")
            return {}
        wanted = parameters["ColumnNames"]
        return {"ColumnStatisticsList": [known[name] for name in wanted if name in known], "Errors": []}


@functools.cache
def _model() -> Any:
    import botocore.session  # type: ignore[import-untyped,unused-ignore]

    return botocore.session.Session().get_service_model("glue")


def _validate(operation: str, parameters: Json) -> None:
    """Refuse what breaks the lengths, ranges and enumerations of the service's model, as the service itself does."""
    if operation not in _model().operation_names:
        return
    failures = list(_failures(_model().operation_model(operation).input_shape, parameters, ""))
    if failures:
        errors = "error" if len(failures) == 1 else "errors"
        message = f"{len(failures)} validation {errors} detected: {'; '.join(failures)}"
        raise GlueError("ValidationException", message)


def _failures(shape: Any, value: Any, path: str) -> Iterator[str]:
    def failure(constraint: str) -> str:
        return f"Value '{value}' at '{path}' failed to satisfy constraint: Member must {constraint}"

    if shape.type_name == "structure":
        for name in shape.required_members:
            if name not in value:
                yield f"Value null at '{_below(path, name)}' failed to satisfy constraint: Member must not be null"
        for name, member in shape.members.items():
            if name in value and value[name] is not None:
                yield from _failures(member, value[name], _below(path, name))
        return
    measured = len(value) if isinstance(value, str | list | dict) else value
    what = "value" if measured is value else "length"
    if "max" in shape.metadata and measured > shape.metadata["max"]:
        yield failure(f"have {what} less than or equal to {shape.metadata['max']}")
    if "min" in shape.metadata and measured < shape.metadata["min"]:
        yield failure(f"have {what} greater than or equal to {shape.metadata['min']}")
    if shape.metadata.get("enum") and value not in shape.metadata["enum"]:
        yield failure(f"satisfy enum value set: [{', '.join(shape.metadata['enum'])}]")
    if shape.type_name == "list":
        for index, member in enumerate(value, 1):
            yield from _failures(shape.member, member, f"{path}.{index}.member")


def _below(path: str, name: str) -> str:
    return f"{path}.{name[0].lower()}{name[1:]}".removeprefix(".")


def _names_another_catalog(parameters: Json) -> bool:
    """Whether a call is about the empty catalog beside the account's own. An unknown catalog is an error."""
    catalog = parameters.get("CatalogId", ACCOUNT)
    if catalog == ACCOUNT:
        return False
    if catalog.startswith(f"{ACCOUNT}:") and not catalog.endswith(":"):
        return True
    raise GlueError("EntityNotFoundException", f"Catalog {catalog} not found.")


def _answer_of_empty_catalog(operation: str, parameters: Json) -> Json:
    if operation == "GetDatabases":
        return {"DatabaseList": []}
    if operation in EMPTY_LISTS:
        return EMPTY_LISTS[operation]
    database = parameters.get("DatabaseName", parameters.get("Name", ""))
    raise GlueError("EntityNotFoundException", f"Database {database} not found.")


def _fold_names(operation: str, parameters: Json) -> Json:
    """The parameters with the names of databases, tables and columns in lower case."""
    # Of other services' things under the same roof: crawlers, jobs, connections.
    if not any(kind in operation for kind in ("Database", "Table", "Partition", "Function")):
        return parameters
    folded = {
        key: value.lower() if key in NAME_FIELDS and isinstance(value, str) else value
        for key, value in parameters.items()
    }
    for field in ("DatabaseInput", "TableInput", "FunctionInput"):
        if field in folded:
            given: Json = parameters[field]
            name = {key: value.lower() for key, value in given.items() if key in NAME_FIELDS}
            folded[field] = {**_fold_columns(given), **name}
    for field in ("PartitionInput", "PartitionInputList", "Entries"):
        if field in folded:
            folded[field] = _fold_columns(folded[field])
    if "TablesToDelete" in folded:
        folded["TablesToDelete"] = [name.lower() for name in folded["TablesToDelete"]]
    return folded


def _fold_columns(value: Any) -> Any:
    if isinstance(value, list):
        return [_fold_columns(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: [{**column, "Name": column["Name"].lower()} for column in item]
        if key in COLUMN_FIELDS and item
        else _fold_columns(item)
        for key, item in value.items()
    }


def _update_table(parameters: Json, backend: Backend) -> Json:
    named = {"DatabaseName": parameters["DatabaseName"], "Name": _updated_table(parameters)}
    before = backend("GetTable", named)["Table"]["VersionId"]
    expected = parameters.pop("VersionId", None)
    if expected is not None and expected != str(int(before) - 1):
        raise GlueError("ConcurrentModificationException", "Update table failed due to concurrent modifications.")
    skip_archive = parameters.pop("SkipArchive", False)
    answer = backend("UpdateTable", parameters)
    if skip_archive:
        table = {"DatabaseName": named["DatabaseName"], "TableName": named["Name"]}
        backend("DeleteTableVersion", {**table, "VersionId": before})
    return answer


def _updated_table(parameters: Json) -> str:
    """The table of an UpdateTable, which names it in its input, in a field of its own, or both."""
    name = parameters.get("TableInput", {}).get("Name") or parameters.get("Name")
    if name is None:
        raise GlueError("InvalidInputException", "A table name is required.")
    return str(name)


def _with_moto_versions(parameters: Json) -> Json:
    """The parameters with the numbers of table versions as moto counts them: from 1 on."""
    changed = dict(parameters)
    for name in set(PAGED_OR_WANTED_HERE) & set(changed):
        del changed[name]
    if "VersionId" in changed:
        changed["VersionId"] = _shifted(changed["VersionId"], 1)
    if "VersionIds" in changed:
        changed["VersionIds"] = [_shifted(version, 1) for version in changed["VersionIds"]]
    return changed


# Parameters that moto does not honour and this module does.
PAGED_OR_WANTED_HERE = ("MaxResults", "NextToken", "AttributesToGet", "ExcludeColumnSchema", "Segment")


def _with_version_offset(value: Any, offset: int) -> Any:
    if isinstance(value, list):
        return [_with_version_offset(item, offset) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _shifted(item, offset)
        if key == "VersionId" and isinstance(item, str)
        else item
        if key == "Parameters"
        else _with_version_offset(item, offset)
        for key, item in value.items()
    }


def _shifted(version: str, offset: int) -> str:
    try:
        return str(int(version) + offset)
    except ValueError:
        raise GlueError("InvalidInputException", f"{version} is no version.") from None


def _attributes(operation: str, parameters: Json) -> list[str] | None:
    """The fields of an answer's items that a caller asked for; nothing stands for all."""
    asked = parameters.get("AttributesToGet")
    if operation not in ATTRIBUTES or asked is None:
        return None
    if "NAME" not in asked:
        raise GlueError("InvalidInputException", "AttributesToGet must include NAME.")
    if set(asked) - set(ATTRIBUTES[operation]):
        return None
    return [ATTRIBUTES[operation][attribute] for attribute in asked]


def _keep_attributes(answer: Json, wanted: list[str]) -> Json:
    def kept(item: Json) -> Json:
        return {name: value for name, value in item.items() if name in wanted}

    lists = {name: [kept(item) for item in answer[name]] for name in ("TableList", "DatabaseList") if name in answer}
    return {**answer, **lists, **({"Table": kept(answer["Table"])} if "Table" in answer else {})}


def _without_columns(item: Json) -> Json:
    if "StorageDescriptor" not in item:
        return item
    described = {name: value for name, value in item["StorageDescriptor"].items() if name != "Columns"}
    return {**item, "StorageDescriptor": described}


def _make_token(about: list[Any], last: Any) -> str:
    return base64.urlsafe_b64encode(zlib.compress(json.dumps([about, last]).encode())).decode()


def _read_token(token: str, about: list[Any]) -> Any:
    try:
        written, last = json.loads(zlib.decompress(base64.urlsafe_b64decode(token)))
    except (ValueError, binascii.Error, zlib.error):
        written, last = None, None
    if written != about:
        raise GlueError("InvalidInputException", "The token is not one of this request's.")
    return last
