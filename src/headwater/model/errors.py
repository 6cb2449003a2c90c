"""Every error that Headwater raises on purpose. The server turns one into a body, the client turns the body back.

HeadwaterError
├── IllegalArgumentError              400  a request that can't be right: the message names the field
│   ├── IllegalNameError
│   └── IllegalNamespaceError
├── UnauthorizedError                 401
├── ForbiddenError                    403
├── NotFoundError                     404
│   └── NoSuch{Metalake,Catalog,Schema,Table,Partition,Fileset,LocationName}Error
├── UnsupportedOperationError         405  the catalog can't do that
├── AlreadyExistsError                409
│   └── {Metalake,Catalog,Schema,Table,Partition,Fileset}AlreadyExistsError
├── NonEmptyError                     409
│   └── NonEmpty{Metalake,Catalog,Schema}Error
├── NotInUseError                     409  it, or what it lies in, is disabled
│   └── {Metalake,Catalog}NotInUseError
├── InUseError                        409  disable it first, or force
│   └── {Metalake,Catalog}InUseError
├── ConflictError                     409  somebody else changed it at the same time, more often than we retried
├── BodyTimeoutError                  408
├── BodyTooLargeError                 413
├── ConnectionFailedError             502  the outside catalog can't be reached
├── BackendBusyError                  503  too many requests wait for this catalog
│   └── BackendLockedError            503  somebody else holds it locked
├── StoreUnavailableError             503  Headwater's own store can't be reached or written
├── BackendTimeoutError               504  the outside catalog did not answer in time
└── InternalError                     500  a defect of ours

`code`, `status` and `type` stand on the class; `type` is the name that released Gravitino clients know.

>>> raise_for_body(404, {"code": 1003, "type": "NoSuchTableException", "message": "Table a.b does not exist"})
Traceback (most recent call last):
    ...
headwater.model.errors.NoSuchTableError: Table a.b does not exist
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class HeadwaterError(Exception):
    """The root of all errors raised on purpose."""

    code: ClassVar[int] = 1002
    status: ClassVar[int] = 500
    type: ClassVar[str] = "RuntimeException"
    retry_after: ClassVar[int | None] = None

    def __init__(self, message: str, *, request_id: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.request_id = request_id


class InternalError(HeadwaterError):
    """A defect of ours; the log holds the details under the request's id."""


class IllegalArgumentError(HeadwaterError):
    """The request can't be right. The message names the field and what is allowed."""

    code, status, type = 1001, 400, "IllegalArgumentException"


class IllegalNameError(IllegalArgumentError):
    """A name that may not be given to a new object."""

    type = "IllegalNameIdentifierException"


class IllegalNamespaceError(IllegalArgumentError):
    """A namespace with the wrong number of levels."""

    type = "IllegalNamespaceException"


class UnauthorizedError(HeadwaterError):
    """We don't know who asks."""

    code, status, type = 1011, 401, "UnauthorizedException"


class ForbiddenError(HeadwaterError):
    """We know who asks, and it is not allowed."""

    code, status, type = 1008, 403, "ForbiddenException"


class NotFoundError(HeadwaterError):
    """The thing, or the route, does not exist."""

    code, status, type = 1003, 404, "NotFoundException"


class NoSuchMetalakeError(NotFoundError):
    """No metalake of that name."""

    type = "NoSuchMetalakeException"


class NoSuchCatalogError(NotFoundError):
    """No catalog of that name."""

    type = "NoSuchCatalogException"


class NoSuchSchemaError(NotFoundError):
    """No schema of that name."""

    type = "NoSuchSchemaException"


class NoSuchTableError(NotFoundError):
    """No table of that name."""

    type = "NoSuchTableException"


class NoSuchPartitionError(NotFoundError):
    """No partition of that name."""

    type = "NoSuchPartitionException"


class NoSuchFilesetError(NotFoundError):
    """No fileset of that name."""

    type = "NoSuchFilesetException"


class NoSuchLocationNameError(NotFoundError):
    """The fileset has no location of that name."""

    type = "NoSuchLocationNameException"


class UnsupportedOperationError(HeadwaterError):
    """This catalog can't do that."""

    code, status, type = 1006, 405, "UnsupportedOperationException"


class AlreadyExistsError(HeadwaterError):
    """An object of that name is there already."""

    code, status, type = 1004, 409, "AlreadyExistsException"


class MetalakeAlreadyExistsError(AlreadyExistsError):
    """A metalake of that name is there already."""

    type = "MetalakeAlreadyExistsException"


class CatalogAlreadyExistsError(AlreadyExistsError):
    """A catalog of that name is there already."""

    type = "CatalogAlreadyExistsException"


class SchemaAlreadyExistsError(AlreadyExistsError):
    """A schema of that name is there already."""

    type = "SchemaAlreadyExistsException"


class TableAlreadyExistsError(AlreadyExistsError):
    """A table (or view) of that name is there already."""

    type = "TableAlreadyExistsException"


class PartitionAlreadyExistsError(AlreadyExistsError):
    """A partition of these values exists."""

    type = "PartitionAlreadyExistsException"


class FilesetAlreadyExistsError(AlreadyExistsError):
    """A fileset of that name is there already."""

    type = "FilesetAlreadyExistsException"


class NonEmptyError(HeadwaterError):
    """The object still holds others."""

    code, status, type = 1005, 409, "NonEmptyException"


class NonEmptyMetalakeError(NonEmptyError):
    """The metalake still has catalogs."""

    type = "NonEmptyMetalakeException"


class NonEmptyCatalogError(NonEmptyError):
    """The catalog still has schemas."""

    type = "NonEmptyCatalogException"


class NonEmptySchemaError(NonEmptyError):
    """The schema still has tables, filesets or schemas below it."""

    type = "NonEmptySchemaException"


class NotInUseError(HeadwaterError):
    """The object, or one above it, is disabled."""

    code, status, type = 1009, 409, "NotInUseException"


class MetalakeNotInUseError(NotInUseError):
    """The metalake is disabled."""

    type = "MetalakeNotInUseException"


class CatalogNotInUseError(NotInUseError):
    """The catalog is disabled."""

    type = "CatalogNotInUseException"


class InUseError(HeadwaterError):
    """The object is enabled: disable it before it is dropped, or force."""

    code, status, type = 1010, 409, "InUseException"


class MetalakeInUseError(InUseError):
    """The metalake is enabled."""

    type = "MetalakeInUseException"


class CatalogInUseError(InUseError):
    """The catalog is enabled."""

    type = "CatalogInUseException"


class ConflictError(HeadwaterError):
    """Somebody else changed the same object at the same time, more often than the server retried."""

    code, status, type = 1012, 409, "OptimisticLockException"


class BodyTimeoutError(HeadwaterError):
    """The request's body did not come in time."""

    code, status, type = 1001, 408, "BodyTimeoutException"


class BodyTooLargeError(HeadwaterError):
    """The request's body is larger than the server takes."""

    code, status, type = 1001, 413, "BodyTooLargeException"


class ConnectionFailedError(HeadwaterError):
    """The outside catalog can't be reached."""

    code, status, type = 1007, 502, "ConnectionFailedException"


class BackendBusyError(HeadwaterError):
    """Too many requests wait for this catalog's backend."""

    code, status, type = 1007, 503, "BackendBusyException"
    retry_after = 2


class BackendLockedError(BackendBusyError):
    """The outside catalog is locked by somebody else for now."""


class StoreUnavailableError(HeadwaterError):
    """Headwater's own store can't be reached or can't be written."""

    code, status, type = 1002, 503, "StoreUnavailableException"
    retry_after = 2


class BackendTimeoutError(HeadwaterError):
    """The outside catalog did not answer in time."""

    code, status, type = 1007, 504, "BackendTimeoutException"


def _all(root: type[HeadwaterError]) -> list[type[HeadwaterError]]:
    return [root, *(c for sub in root.__subclasses__() for c in _all(sub))]


def error_classes() -> Mapping[str, type[HeadwaterError]]:
    """Every error class by its wire `type`."""
    known: dict[str, type[HeadwaterError]] = {InternalError.type: InternalError}
    for cls in _all(HeadwaterError):
        known.setdefault(cls.type, cls)
    return known


def raise_for_body(status: int, body: Mapping[str, Any], request_id: str | None = None) -> None:
    """Raise the error that the server raised; `type` names the class, else `code`, else the status."""
    known = error_classes()
    cls = known.get(str(body.get("type")))
    if cls is None:
        code = body.get("code")
        cls = next((c for c in known.values() if c.status == status and c.code == code), InternalError)
    raise cls(str(body.get("message") or f"HTTP {status}"), request_id=request_id)
