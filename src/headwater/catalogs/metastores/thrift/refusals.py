"""What a Hive Metastore's refusals mean."""

from __future__ import annotations

import re
from typing import Any

from hive_metastore import ttypes
from thrift.Thrift import TException

from headwater.model.errors import ConnectionFailedError, IllegalArgumentError


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """An answer of the Metastore's that says no. The generated exceptions themselves can't be raised through `with`."""

    def __init__(self, raw: Any) -> None:
        self.message = _readable(str(raw.message))
        super().__init__(self.message)


class NoSuchObject(Refused):
    """It is not there."""


class AlreadyExists(Refused):
    """It is there already."""


class InvalidObject(Refused):
    """It can't be what it is asked to be."""


class InvalidOperation(Refused):
    """That can't be done to it."""


class Meta(Refused):
    """Whatever else the Metastore has to say."""


_CLASSES: dict[type[TException], type[Refused]] = {
    ttypes.NoSuchObjectException: NoSuchObject,
    ttypes.AlreadyExistsException: AlreadyExists,
    ttypes.InvalidObjectException: InvalidObject,
    ttypes.InvalidOperationException: InvalidOperation,
    ttypes.MetaException: Meta,
}

_TOLD_APART: dict[str, tuple[type[Refused], ...]] = {
    "get_database": (NoSuchObject,),
    "create_database": (AlreadyExists,),
    "alter_database": (NoSuchObject,),
    "drop_database": (NoSuchObject, InvalidOperation),
    "get_table_req": (NoSuchObject,),
    "get_table": (NoSuchObject,),
    "create_table": (AlreadyExists, NoSuchObject, InvalidObject),
    "alter_table_with_environment_context": (InvalidOperation, Meta),
    "drop_table": (NoSuchObject,),
    "get_partition": (NoSuchObject,),
    "add_partitions_req": (AlreadyExists, NoSuchObject, InvalidObject, Meta),
    "drop_partition": (NoSuchObject,),
}
"""The refusals of each call that mean something to whoever makes it; any other is an error as it is."""


def refusal(method: str, error: TException) -> Exception | None:
    """The error that a refusal of a call is to whoever made it; None if it is no refusal."""
    cls = _CLASSES.get(type(error))
    if cls is None:
        return None
    refused = cls(error)
    if isinstance(refused, _TOLD_APART.get(method, ())):
        return refused
    said = f"The Hive Metastore refuses {method}: {refused.message}"
    asks = method.startswith(("get_", "show_", "lock", "check_", "unlock"))
    wrong_input = isinstance(refused, InvalidObject | InvalidOperation) or (isinstance(refused, Meta) and not asks)
    return IllegalArgumentError(said) if wrong_input else ConnectionFailedError(said)


def _readable(message: str) -> str:
    """The first line; where it is the statement that the Metastore's own database refused, what that means."""
    first = message.strip().split("\n")[0]
    if _STATEMENT.search(first):
        return "its database can't keep a text of that length, or something else of it"
    return first


_STATEMENT = re.compile(r"\b(INSERT INTO|UPDATE|Insert of object|Put request failed)\b")
