"""What Glue answers when it refuses, in our words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.catalogs.aws import first_line
from headwater.model.errors import (
    AlreadyExistsError,
    BackendBusyError,
    BackendTimeoutError,
    ConflictError,
    ConnectionFailedError,
    ForbiddenError,
    HeadwaterError,
    IllegalArgumentError,
    NoSuchPartitionError,
    NoSuchSchemaError,
    NoSuchTableError,
    NotFoundError,
    PartitionAlreadyExistsError,
    SchemaAlreadyExistsError,
    TableAlreadyExistsError,
)

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

NOT_FOUND = "EntityNotFoundException"
EXISTS = "AlreadyExistsException"
_DENIED = "AccessDeniedException"

_MISSING: dict[str, type[NotFoundError]] = {
    "Schema": NoSuchSchemaError,
    "Table": NoSuchTableError,
    "Partition": NoSuchPartitionError,
}
_TAKEN: dict[str, type[AlreadyExistsError]] = {
    "Schema": SchemaAlreadyExistsError,
    "Table": TableAlreadyExistsError,
    "Partition": PartitionAlreadyExistsError,
}
_REFUSED = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "OptInRequired",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_BUSY = frozenset(
    {
        "FederationSourceRetryableException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "ResourceNotReadyException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_OTHERS: dict[str, type[HeadwaterError]] = {
    "ConcurrentModificationException": ConflictError,
    "InvalidInputException": IllegalArgumentError,
    "InvalidStateException": ConflictError,
    "OperationTimeoutException": BackendTimeoutError,
    "ResourceNumberLimitExceededException": IllegalArgumentError,
    "ValidationException": IllegalArgumentError,
    "VersionMismatchException": ConflictError,
}


class Subject(msgspec.Struct, frozen=True):
    """What a call is about: nothing in particular, or a schema, table or partition."""

    noun: str = ""
    name: str = ""
    """Whole, from the metalake on."""

    def __str__(self) -> str:
        return f"{self.noun} {self.name}"

    @property
    def missing(self) -> NotFoundError:
        """It is not there."""
        return _MISSING[self.noun](f"{self} does not exist")


CATALOG = Subject()


def translated(error: ClientError, subject: Subject, where: str) -> HeadwaterError:
    """Glue's answer as one of our errors; `where` says which Glue it was."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if status in {429, 503}:
        return BackendBusyError(f"{where} is busy at {error.operation_name}")
    return refusal(error.response.get("Error", {}), error.operation_name, subject, where)


def refusal(error: Mapping[str, Any], operation: str, subject: Subject, where: str) -> HeadwaterError:
    """An error's code and message, of a whole call or of one item in it, as one of our errors."""
    code = str(error.get("Code") or error.get("ErrorCode") or "without a code")
    text = first_line(str(error.get("Message") or error.get("ErrorMessage") or "")) or code
    if code in _BUSY:
        return BackendBusyError(f"{where} is busy: {text}")
    if code == NOT_FOUND and subject.noun:
        return subject.missing
    if code == EXISTS and subject.noun:
        return _TAKEN[subject.noun](f"{subject} already exists")
    if code == _DENIED and subject.noun:
        return ForbiddenError(f"{where} denies {operation} on {subject}: {text}")
    if code in _REFUSED or code == _DENIED:
        return ConnectionFailedError(f"{where} refused the credentials: {text} ({code})")
    if code in _OTHERS:
        about = f" ({subject})" if subject.noun else ""
        return _OTHERS[code](f"{where} refused {operation}{about}: {text}")
    return ConnectionFailedError(f"{where} failed at {operation}: {text} ({code})")


def was_tried_before(answer: Mapping[str, Any]) -> bool:
    """Whether a call was made more than once: then an earlier try may be what the answer complains of."""
    return int(answer.get("ResponseMetadata", {}).get("RetryAttempts", 0)) > 0


def may_have_happened(error: HeadwaterError) -> bool:
    """Whether an error may be a complaint of an earlier try of the same call, whose answer was lost."""
    return was_tried_before(getattr(error.__cause__, "response", None) or {})
