"""Errors that only a client can have; all others are those of `headwater.model.errors`, as the server raised them."""

from __future__ import annotations

from headwater.model.errors import ConnectionFailedError, HeadwaterError


class ServerUnreachableError(ConnectionFailedError):
    """No Headwater answered: nothing listens there, the network or TLS fails, or something else answered."""

    type = "ServerUnreachableException"


class UnexpectedAnswerError(HeadwaterError):
    """The answer came from Headwater, yet this client can't read it: one of the two may be too old."""

    type = "UnexpectedAnswerException"
