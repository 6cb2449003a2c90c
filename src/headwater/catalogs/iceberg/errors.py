"""pyiceberg's, SQLAlchemy's and the file system's errors in our words."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping

from headwater.catalogs.base import Context, SchemaName
from headwater.model.errors import (
    BackendBusyError,
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
from headwater.model.names import join_schema


def no_such_schema(context: Context, schema: SchemaName) -> NoSuchSchemaError:
    """The error for a schema that is not there."""
    return NoSuchSchemaError(f"Schema {context.name}.{join_schema(schema)} does not exist")


def no_such_table(context: Context, schema: SchemaName, name: str) -> NoSuchTableError:
    """The error for a table that is not there."""
    return NoSuchTableError(f"Table {context.name}.{join_schema(schema)}.{name} does not exist")


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
    for theirs, ours in _known().items():
        if isinstance(error, theirs):
            return ours(_text(error))
    return _of_server(error) or _of_database(error) or _other(error)


def _known() -> Mapping[type[Exception], type[HeadwaterError]]:
    import sqlalchemy.exc as sql
    from pyiceberg import exceptions as ice

    return {
        ice.NoSuchNamespaceError: NoSuchSchemaError,
        ice.NamespaceAlreadyExistsError: SchemaAlreadyExistsError,
        ice.NamespaceNotEmptyError: NonEmptySchemaError,
        ice.NoSuchTableError: NoSuchTableError,
        ice.TableAlreadyExistsError: TableAlreadyExistsError,
        ice.ViewAlreadyExistsError: TableAlreadyExistsError,
        ice.CommitFailedException: ConflictError,
        ice.ValidationError: IllegalArgumentError,
        ice.ResolveError: IllegalArgumentError,
        ice.BadRequestError: IllegalArgumentError,
        ice.ServiceUnavailableError: BackendBusyError,
        ice.TooManyRequestsError: BackendBusyError,
        sql.DataError: IllegalArgumentError,
    }


def _of_server(error: Exception) -> HeadwaterError | None:
    """What went wrong between us and an Iceberg REST server."""
    from pydantic import ValidationError
    from pyiceberg import exceptions as ice
    from requests import RequestException

    if isinstance(error, ice.UnauthorizedError | ice.AuthorizationExpiredError | ice.OAuthError | ice.ForbiddenError):
        return ConnectionFailedError(f"The catalog's server refuses the credentials: {_text(error)}")
    if isinstance(error, ice.RESTError):
        return ConnectionFailedError(f"The catalog's server answered with an error: {_text(error)}")
    if isinstance(error, RequestException):
        return ConnectionFailedError(f"The catalog's server can't be reached: {_text(error)}")
    if isinstance(error, ValidationError) and error.title.endswith("Response"):
        return ConnectionFailedError(f"The catalog's server gave an answer that is no Iceberg {error.title}")
    return None


def _of_database(error: Exception) -> HeadwaterError | None:
    import sqlalchemy.exc as sql

    if not isinstance(error, sql.DBAPIError | sql.TimeoutError | sqlite3.Error):
        return None
    if "locked" in str(error):
        return BackendLockedError("The catalog's database is locked by others")
    return ConnectionFailedError(f"The catalog's database can't be used: {_text(error)}")


def _other(error: Exception) -> Exception:
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
    return str(origin).strip().split("\n")[0][:500] or type(error).__name__
