"""Cleans up after a process that died without doing so itself, whatever killed it.

The owner of the servers starts one guard (this file, run as a program) that holds the reading end of a pipe. Through it
the owner says which processes and folders are its own; when the owner is gone, by SIGKILL too, the pipe ends and the
guard stops and deletes what is left. So no signal handler is needed in the test process. Standard library only: the
guard starts in a few milliseconds.
"""

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

GRACE_SECONDS = 5.0


def watch_process(group: int, abandon_signal: signal.Signals) -> None:
    """Should the owner die, send this process group the signal, and SIGKILL if that does not end it."""
    _tell("process", group, int(abandon_signal))


def forget_process(group: int) -> None:
    _tell("process-gone", group)


def watch_folder(folder: Path) -> None:
    """Should the owner die, delete the folder."""
    _tell("folder", str(folder))


def forget_folder(folder: Path) -> None:
    _tell("folder-gone", str(folder))


def signal_group(group: int, number: signal.Signals) -> None:
    # Gone already is what the caller wants; a group of zombies only may not be signalled on some systems.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


_lock = threading.Lock()
_pipe: int | None = None
_owner: int | None = None


def _tell(*words: str | int) -> None:
    global _pipe, _owner
    with _lock:
        if _pipe is None or _owner != os.getpid():
            # A forked child needs a guard of its own: the parent's waits until both are gone.
            _pipe, _owner = _start_guard(), os.getpid()
        # Without a guard the owner still cleans up when it ends in good order.
        with contextlib.suppress(BrokenPipeError):
            os.write(_pipe, json.dumps(words).encode() + b"\n")


def _start_guard() -> int:
    reading, writing = os.pipe()
    try:
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", __file__],
            dict(os.environ),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reading, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            # Out of the reach of what a terminal or a supervisor sends to the owner's group.
            setsid=True,
        )
    finally:
        os.close(reading)
    return writing


def _main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # The owner's working folder must be removable while the guard lives.
    os.chdir("/")
    processes: dict[int, signal.Signals] = {}
    folders: set[str] = set()
    for line in sys.stdin:
        match json.loads(line):
            case ["process", int(group), int(abandon_signal)]:
                processes[group] = signal.Signals(abandon_signal)
            case ["process-gone", int(group)]:
                processes.pop(group, None)
            case ["folder", str(folder)]:
                folders.add(folder)
            case ["folder-gone", str(folder)]:
                folders.discard(folder)
    for group, number in processes.items():
        signal_group(group, number)
    deadline = time.monotonic() + GRACE_SECONDS
    while any(map(_group_exists, processes)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for group in processes:
        signal_group(group, signal.SIGKILL)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    _main()
