"""pyiceberg's, SQLAlchemy's and the file system's errors in our words."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from headwater.model.errors import (
    BackendLockedError,
    ConflictError,
    ConnectionFailedError,
    HeadwaterError,
    IllegalArgumentError,
    NonEmptySchemaError,
    NoSuchSchemaError,
    NoSuchTableError,
    SchemaAlreadyExistsError,
    TableAlreadyExistsError,
    UnsupportedOperationError,
)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Errors of the libraries leave the block as ours."""
    try:
        yield
    except HeadwaterError:
        raise
    except Exception as e:
        raise _translate(e) from e


def _translate(error: Exception) -> Exception:
    import sqlalchemy.exc as sql
    from pyiceberg import exceptions as ice

    known: dict[type[Exception], type[HeadwaterError]] = {
        ice.NoSuchNamespaceError: NoSuchSchemaError,
        ice.NamespaceAlreadyExistsError: SchemaAlreadyExistsError,
        ice.NamespaceNotEmptyError: NonEmptySchemaError,
        ice.NoSuchTableError: NoSuchTableError,
        ice.TableAlreadyExistsError: TableAlreadyExistsError,
        ice.CommitFailedException: ConflictError,
        ice.ValidationError: IllegalArgumentError,
        ice.ResolveError: IllegalArgumentError,
        sql.DataError: IllegalArgumentError,
    }
    for theirs, ours in known.items():
        if isinstance(error, theirs):
            return ours(_text(error))
    if isinstance(error, sql.DBAPIError | sql.TimeoutError | sqlite3.Error):
        if "locked" in str(error):
            return BackendLockedError("The catalog's database is locked by others")
        return ConnectionFailedError(f"The catalog's database can't be used: {_text(error)}")
    if isinstance(error, OSError):
        return ConnectionFailedError(f"The table's files can't be used: {error.strerror or error}")
    if isinstance(error, NotImplementedError):  # pyiceberg's word for what it can't do
        return UnsupportedOperationError(_text(error))
    if isinstance(error, ValueError):
        return IllegalArgumentError(_text(error))
    return error


def _text(error: Exception) -> str:
    """The first line, without SQLAlchemy's statement and parameters."""
    origin = getattr(error, "orig", None) or error
    return str(origin).strip().split("\n")[0] or type(error).__name__
