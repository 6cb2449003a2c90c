"""Connections to a Hive Metastore: kept open, looked at before they are used again, made to whichever address answers.

A connection belongs to one user, whom it names to the Metastore as its first call: that can't be changed later.
"""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from hive_metastore.ThriftHiveMetastore import Client
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from headwater.catalogs.base import caller
from headwater.model.errors import ConnectionFailedError

T = TypeVar("T")

Address = tuple[str, int]
UNREACHABLE = (TTransportException, OSError, EOFError)
"""What a broken connection raises."""

_CONNECT = 5.0
"""Seconds after which the next address is tried."""
_BUFFER = 1 << 16
"""Bytes that are read at once: a table of some columns is larger than Thrift's own 4 KiB."""
NOBODY = "headwater"
"""The user in whose name calls are made that no caller asked for."""

logging.getLogger("thrift.transport.TSocket").setLevel(logging.CRITICAL)  # what it says is in our error


class Connection:
    """One open connection."""

    def __init__(self, address: Address, user: str, timeout: float) -> None:
        self.address, self.user = address, user
        self._socket = TSocket(*address)
        self._socket.setTimeout(min(_CONNECT, timeout) * 1000)
        transport = TBufferedTransport(self._socket, _BUFFER)
        self.client: Any = Client(TBinaryProtocolAccelerated(transport))
        transport.open()
        self._socket.setTimeout(timeout * 1000)
        self._transport = transport
        self.used = time.monotonic()
        with suppress(TApplicationException):  # a Metastore that does not know the call has no users either
            self.client.set_ugi(user, [])

    @property
    def is_open(self) -> bool:
        """Whether the other side is still there: nothing may be waiting to be read from it, not even an end."""
        handle: socket.socket | None = self._socket.handle
        if handle is None:
            return False
        try:
            return not select.select([handle], [], [], 0)[0]
        except (OSError, ValueError):
            return False

    def close(self) -> None:
        """Hang up."""
        with suppress(*UNREACHABLE):
            self._transport.close()


class ConnectionPool:
    """Idle connections by user, and where to make new ones."""

    def __init__(self, addresses: Sequence[Address], *, size: int, idle: float, timeout: float) -> None:
        self.addresses = list(addresses)
        self._size, self._idle_for, self._timeout = size, idle, timeout
        self._lock = threading.Lock()
        self._idle: list[Connection] = []

    def run(self, call: Callable[[Any], T], *, again: bool) -> T:
        """`call(client)` on a connection of the caller's.

        With `again` it is made once more, on a new connection, when the first one broke: only for what changes nothing.
        """
        try:
            return self._once(call)
        except UNREACHABLE as e:
            if not again or _timed_out(e):
                hint = "" if again else "the change may have been made"
                raise self._broken(e, hint) from None
        try:
            return self._once(call, fresh=True)
        except UNREACHABLE as e:
            raise self._broken(e) from None

    def close(self) -> None:
        """Hang up on all that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _once(self, call: Callable[[Any], T], *, fresh: bool = False) -> T:
        user = caller.get() or NOBODY
        connection = (None if fresh else self._take(user)) or self._connect(user)
        whole = False
        try:
            result = call(connection.client)
            whole = True
            return result
        except UNREACHABLE:
            raise
        except TException:
            whole = True  # a refusal is an answer like any other
            raise
        finally:
            if whole:
                self._give_back(connection)
            else:
                connection.close()

    def _take(self, user: str) -> Connection | None:
        with self._lock:
            mine = [c for c in self._idle if c.user == user]
            self._idle = [c for c in self._idle if c.user != user]
            while mine:
                connection = mine.pop()
                if time.monotonic() - connection.used < self._idle_for and connection.is_open:
                    self._idle += mine
                    return connection
                connection.close()
        return None

    def _give_back(self, connection: Connection) -> None:
        connection.used = time.monotonic()
        with self._lock:
            self._idle.append(connection)
            oldest = self._idle[: -self._size]
            self._idle = self._idle[-self._size :]
        for one in oldest:
            one.close()

    def _connect(self, user: str) -> Connection:
        failures = []
        for address in tuple(self.addresses):
            try:
                connection = Connection(address, user, self._timeout)
            except UNREACHABLE as e:
                failures.append(f"{address[0]}:{address[1]} ({_reason(e)})")
                continue
            if address != self.addresses[0]:
                # The one that answers comes first from now on: others must not wait for the one that does not.
                self.addresses = [address, *(a for a in self.addresses if a != address)]
            return connection
        raise ConnectionFailedError(f"The Hive Metastore can't be reached: {', '.join(failures)}")

    def _broken(self, error: BaseException, hint: str = "") -> ConnectionFailedError:
        said = f"The Hive Metastore broke off the connection: {_reason(error)}"
        return ConnectionFailedError(f"{said}; {hint}" if hint else said)


def _timed_out(error: BaseException) -> bool:
    return isinstance(error, TimeoutError) or getattr(error, "type", None) == TTransportException.TIMED_OUT


def _reason(error: BaseException) -> str:
    if _timed_out(error):
        return "no answer in time"
    inner = getattr(error, "inner", None) or error.__cause__
    return getattr(inner, "strerror", None) or str(inner or error) or type(error).__name__
