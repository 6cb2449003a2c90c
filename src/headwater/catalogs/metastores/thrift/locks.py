"""The Metastore's exclusive lock of a table, as Hive and Iceberg's own writers take it, and no trace of it later."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from hive_metastore import ttypes

from headwater.catalogs.base import caller
from headwater.catalogs.metastores.thrift.pool import NOBODY
from headwater.model.errors import BackendLockedError, HeadwaterError

log = structlog.get_logger(__name__)

Call = Callable[..., Any]


@contextmanager
def exclusive(call: Call, label: str, database: str, name: str, patience: float) -> Iterator[None]:
    """Hold the lock for the length of a block. `call(method, argument)` calls the Metastore, `label` names the table.
    `patience` says for how many seconds others may keep it locked.

    A lock that is left behind stops everybody for minutes, or for good. So each one bears a mark of its own, by which
    it is found and removed even when the answer that would have told its id never came.
    """
    mark = f"headwater-{secrets.token_hex(8)}"
    lock_id: int | None = None
    try:
        answer = call("lock", _request(mark, database, name))
        lock_id = int(answer.lockid)
        _wait(call, label, answer, patience)
        yield
    finally:
        _remove(call, mark, lock_id, database, name)


def _request(mark: str, database: str, name: str) -> Any:
    component = ttypes.LockComponent(
        type=ttypes.LockType.EXCLUSIVE,
        level=ttypes.LockLevel.TABLE,
        dbname=database,
        tablename=name,
        operationType=ttypes.DataOperationType.NO_TXN,
        isTransactional=False,
    )
    user = caller.get() or NOBODY
    return ttypes.LockRequest(component=[component], user=user, hostname=socket.gethostname(), agentInfo=mark)


def _wait(call: Call, label: str, answer: Any, patience: float) -> None:
    begun, pause = time.monotonic(), 0.02
    while answer.state == ttypes.LockState.WAITING:
        if time.monotonic() - begun > patience:
            raise BackendLockedError(f"Table {label} is locked by somebody else")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)
        answer = call("check_lock", ttypes.CheckLockRequest(lockid=answer.lockid))
    if answer.state != ttypes.LockState.ACQUIRED:
        raise BackendLockedError(f"Table {label} could not be locked")


def _remove(call: Call, mark: str, lock_id: int | None, database: str, name: str) -> None:
    try:
        if lock_id is None:
            _remove_marked(call, mark, database, name)
        else:
            call("unlock", ttypes.UnlockRequest(lockid=lock_id))
    except HeadwaterError as first:
        try:
            _remove_marked(call, mark, database, name)
        except HeadwaterError:
            log.warning("a lock may be left in the Hive Metastore", table=f"{database}.{name}", reason=first.message)


def _remove_marked(call: Call, mark: str, database: str, name: str) -> None:
    found = call("show_locks", ttypes.ShowLocksRequest(dbname=database, tablename=name))
    for one in found.locks or []:
        if one.agentInfo == mark:
            call("unlock", ttypes.UnlockRequest(lockid=one.lockid))
