"""The load generator: keep-alive connections, one request at a time on each, prebuilt bytes, one thread, one epoll.

It runs as a process of its own (`python -m benchmarks.load`, the plan as JSON on standard input, the result as JSON on
standard output), so that its work is not mistaken for the server's, and so that its own CPU time is known. Where wrk is
installed it does the work instead, as long as all connections ask the same.
"""

from __future__ import annotations

import json
import re
import resource
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TypedDict

_BUFFER = 1 << 18
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_DRAIN = 10.0
"""Seconds for what is under way when the time is over."""


class Plan(TypedDict):
    """What to send: each connection repeats its own cycle of requests."""

    port: int
    seconds: float
    cycles: list[list[str]]


class Outcome(TypedDict):
    """What came back within the time."""

    requests: int
    bad: int
    """Answers that were not 200, and connections that broke."""
    seconds: float
    cpu: float
    """CPU seconds that the generator itself took while it ran."""
    p50: float
    """Milliseconds."""
    p99: float


def request_bytes(method: str, path: str, body: bytes = b"") -> str:
    """A whole HTTP/1.1 request."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}\r\n{body.decode('latin-1')}"


def wrk() -> str | None:
    """Where wrk is, if it is installed."""
    return shutil.which("wrk")


def run(port: int, cycles: Sequence[Sequence[str]], seconds: float) -> Outcome:
    """Generate load in a process of its own and wait for it."""
    requests = {request for cycle in cycles for request in cycle}
    if (program := wrk()) is not None and len(requests) == 1 and (only := requests.pop()).startswith("GET "):
        return _run_wrk(program, port, only.split()[1], len(cycles), seconds)
    plan: Plan = {"port": port, "seconds": seconds, "cycles": [list(c) for c in cycles]}
    command = [sys.executable, "-m", "benchmarks.load"]
    done = subprocess.run(command, input=json.dumps(plan), capture_output=True, text=True, timeout=60, check=True)
    outcome: Outcome = json.loads(done.stdout)
    return outcome


def _run_wrk(program: str, port: int, path: str, connections: int, seconds: float) -> Outcome:
    whole = max(1, round(seconds))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "-t1", f"-c{connections}", f"-d{whole}s", "--latency", f"http://127.0.0.1:{port}{path}"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    count, took, unit = _match(r"(\d+) requests in ([\d.]+)(us|ms|s|m)", text)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    lost = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    bad = int(refused.group(1)) if refused else 0
    return {
        "requests": int(count) - bad,
        "bad": bad + (sum(map(int, lost.groups())) if lost else 0),
        "seconds": float(took) * _UNITS[unit],
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "p50": _latency(text, "50%"),
        "p99": _latency(text, "99%"),
    }


_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


def _latency(text: str, share: str) -> float:
    value, unit = _match(rf"{share}\s+([\d.]+)(us|ms|s|m)", text)
    return float(value) * _UNITS[unit] * 1000


def _match(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"wrk said something unexpected: {text!r}")
    return found.groups()


class _Connection:
    __slots__ = ("begun", "cycle", "missing", "next", "received", "socket")

    def __init__(self, port: int, cycle: list[bytes]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.cycle, self.next = cycle, 0
        self.received = b""
        self.missing = 0
        """Bytes of the body still to come; 0 while the head is not complete."""
        self.begun = 0.0

    def send(self) -> None:
        data = self.cycle[self.next]
        self.next = (self.next + 1) % len(self.cycle)
        self.begun = time.perf_counter()
        self.socket.sendall(data)

    def receive(self) -> bytes | None:
        """The status line's code when an answer is complete; empty bytes when the connection is lost."""
        data = self.socket.recv(_BUFFER)
        if not data:
            return b""
        if self.missing:
            self.missing -= len(data)
        else:
            self.received += data
            end = self.received.find(_HEAD_END)
            if end < 0:
                return None
            at = self.received.find(_LENGTH, 0, end)
            length = int(self.received[at + 15 : self.received.find(b"\r", at)]) if at >= 0 else 0
            self.missing = end + 4 + length - len(self.received)
        if self.missing > 0:
            return None
        code, self.received = self.received[9:12], b""
        return code


def _generate(plan: Plan) -> Outcome:
    poll = select.epoll()
    connections: dict[int, _Connection] = {}
    for cycle in plan["cycles"]:
        connection = _Connection(plan["port"], [c.encode("latin-1") for c in cycle])
        connections[connection.socket.fileno()] = connection
        poll.register(connection.socket.fileno(), select.EPOLLIN)
    latencies: list[float] = []
    bad = 0
    begun, cpu = time.perf_counter(), time.process_time()
    end = begun + plan["seconds"]
    for connection in connections.values():
        connection.send()
    last = end + _DRAIN
    while connections and (now := time.perf_counter()) < last:
        for number, _ in poll.poll(last - now):
            connection = connections[number]
            code = connection.receive()
            if code is None:
                continue
            if code == b"200":
                latencies.append(time.perf_counter() - connection.begun)
            else:
                bad += 1
            # A cycle that was begun is ended, so that nothing is left behind.
            if code and (connection.next or time.perf_counter() < end):
                connection.send()
            else:
                poll.unregister(number)
                connections.pop(number).socket.close()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    latencies.sort()
    return {
        "requests": len(latencies),
        "bad": bad,
        "seconds": seconds,
        "cpu": cpu,
        "p50": _at(latencies, 0.5),
        "p99": _at(latencies, 0.99),
    }


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 if ordered else 0.0


if __name__ == "__main__":
    json.dump(_generate(json.load(sys.stdin)), sys.stdout)
