"""What a request costs: our server beside bare handlers that return the same bytes, in the same run."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import lake, load, processes
from benchmarks.report import Section, Table

ROUNDS = 5
SECONDS = 2.0
WARM_UP = 0.5
CONNECTIONS = 16
_NEAR_FULL = 0.9
"""Share of a core from which on a process counts as the bottleneck."""

OURS, FALCON, LITESTAR = "Headwater", "bare Falcon", "bare Litestar"


@dataclass(frozen=True)
class Kind:
    """One kind of request; `path` is where the bare servers have the same answers."""

    name: str
    path: str
    goal: float | None
    cycle: Callable[[int], Sequence[tuple[str, str, bytes]]]
    """Method, path and body of what one connection asks our server, again and again."""

    def for_ours(self) -> list[list[str]]:
        """What each connection sends to our server."""
        return [[load.request_bytes(*r) for r in self.cycle(i)] for i in range(CONNECTIONS)]

    def for_bare(self) -> list[list[str]]:
        """What each connection sends to a bare server: the same methods and bodies."""
        return [[load.request_bytes(m, self.path, b) for m, _, b in self.cycle(i)] for i in range(CONNECTIONS)]


def _get(path: str) -> Callable[[int], Sequence[tuple[str, str, bytes]]]:
    return lambda _: [("GET", path, b"")]


def _create_and_drop(connection: int) -> Sequence[tuple[str, str, bytes]]:
    name = f"passing_{connection:02}"
    return [("POST", lake.LIST, lake.table_body(name)), ("DELETE", f"{lake.LIST}/{name}", b"")]


KINDS = (
    Kind("load metalake", "/metalake", 1.1, _get(lake.METALAKE)),
    Kind("load catalog", "/catalog", 1.05, _get(lake.CATALOG)),
    Kind("load schema", "/schema", 0.8, _get(lake.SCHEMA)),
    Kind("load table", "/table", 0.8, _get(lake.TABLE)),
    Kind("list 1,000 tables", "/tables", 0.5, _get(lake.LIST)),
    Kind("create + drop table", "/passing", None, _create_and_drop),
)


@dataclass(frozen=True)
class Sample:
    """One round on one server."""

    micros: float
    """CPU of the server per request."""
    rate: float
    p50: float
    p99: float
    bad: int
    void: bool
    """The generator was the bottleneck: the rate says nothing about the server."""


def run(folder: Path) -> Section:
    """All servers stay up and take turns, as the kinds of request do: so noise meets all of them alike."""
    if not (folder / "data").exists():
        _seed(folder)
    answers = folder / "answers"
    answers.mkdir()
    costs = Table(
        ("request", "answer", "Headwater", FALCON, LITESTAR, "Falcon / ours", "Litestar / ours", "goal", "verdict")
    )
    rates = Table(("request", "server", "requests/s", "ours / it", "p50 ms", "p99 ms"), texts=2)
    floor: list[float] = []
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(processes.headwater(folder / "data"))
        ours.wait_ready()
        sizes = _keep_answers(ours.port, answers)
        bare = [stack.enter_context(processes.bare(f, answers)) for f in ("falcon", "litestar")]
        for server in bare:
            server.wait_ready()
        measured = _measure([ours, *bare])
    for kind in KINDS:
        samples = measured[kind.name]
        floor += [s.micros for s in samples[LITESTAR] if kind.goal is not None]
        _add_costs(costs, kind, sizes[kind.name], samples)
        _add_rates(rates, kind, samples)
    return Section(
        "requests",
        [
            "CPU of the server per request in microseconds, and how many of ours fit into one of theirs (above 1: ours "
            "is cheaper). The goals are about Litestar.",
            costs,
            f"Requests per second and latencies with {CONNECTIONS} connections:",
            rates,
            f"Bare Litestar's reads lay between {min(floor):.0f} and {max(floor):.0f} us: so noisy it was. "
            f"Load generator: {'wrk' if load.wrk() else 'ours (benchmarks/load.py)'}.",
        ],
    )


def _seed(folder: Path) -> None:
    with processes.headwater(folder / "data") as server:
        server.wait_ready()
        client = lake.Client(server.port)
        lake.make_containers(client, folder)
        lake.make_tables(client)
        client.close()


def _keep_answers(port: int, folder: Path) -> dict[str, int]:
    """The bytes that our server answers, for the bare ones; the size of each kind's largest answer."""
    client = lake.Client(port)
    sizes: dict[str, int] = {}
    for kind in KINDS:
        for method, path, body in kind.cycle(0):
            answer = client.ask(method, path, body or None)
            (folder / f"{method}.{kind.path[1:]}").write_bytes(answer)
            sizes[kind.name] = max(len(answer), sizes.get(kind.name, 0))
    client.close()
    return sizes


def _measure(servers: Sequence[processes.Process]) -> dict[str, dict[str, list[Sample]]]:
    """By kind of request, then by server."""
    samples: dict[str, dict[str, list[Sample]]] = {kind.name: {s.name: [] for s in servers} for kind in KINDS}
    for round_ in range(ROUNDS + 1):
        for kind in KINDS:
            for server in servers:
                sample = _sample(kind, server, SECONDS if round_ else WARM_UP)
                if round_:
                    samples[kind.name][server.name].append(sample)
    return samples


def _sample(kind: Kind, server: processes.Process, seconds: float) -> Sample:
    cycles = kind.for_ours() if server.name == OURS else kind.for_bare()
    before = server.cpu()
    outcome = load.run(server.port, cycles, seconds)
    used = server.cpu() - before
    if not outcome["requests"]:
        raise RuntimeError(f"{server.name} answered no {kind.name}")
    share, generator = used / outcome["seconds"], outcome["cpu"] / outcome["seconds"]
    return Sample(
        used / outcome["requests"] * 1e6,
        outcome["requests"] / outcome["seconds"],
        outcome["p50"],
        outcome["p99"],
        outcome["bad"],
        generator >= _NEAR_FULL > share,
    )


def _add_costs(table: Table, kind: Kind, size: int, samples: dict[str, list[Sample]]) -> None:
    falcon, litestar = (_ratio(samples, name) for name in (FALCON, LITESTAR))
    goal, verdict = "", ""
    if kind.goal is not None:
        short = kind.goal - round(litestar, 2)
        goal, verdict = f"{kind.goal:g}", "reached" if short <= 0 else f"missed by {short:.2f}"
    micros = [f"{statistics.median(s.micros for s in samples[name]):.0f}" for name in (OURS, FALCON, LITESTAR)]
    answer = f"{size / 1000:.1f} kB"
    table.add(kind.name, answer, *micros, _two(falcon), _two(litestar), goal, verdict)


def _ratio(samples: dict[str, list[Sample]], other: str) -> float:
    """Their CPU by ours, round by round."""
    return statistics.median(b.micros / a.micros for a, b in zip(samples[OURS], samples[other], strict=True))


def _add_rates(table: Table, kind: Kind, samples: dict[str, list[Sample]]) -> None:
    ours_void = _is_void(samples[OURS])
    for name, rounds in samples.items():
        void = _is_void(rounds)
        ratio = statistics.median(a.rate / b.rate for a, b in zip(samples[OURS], rounds, strict=True))
        rate = "void" if void else f"{statistics.median(s.rate for s in rounds):,.0f}"
        if bad := sum(s.bad for s in rounds):
            rate += f" ({bad} failed)"
        compared = "" if name == OURS else "void" if void or ours_void else _two(ratio)
        p50, p99 = (statistics.median(column) for column in zip(*((s.p50, s.p99) for s in rounds), strict=True))
        table.add(kind.name if name == OURS else "", name, rate, compared, f"{p50:.2f}", f"{p99:.2f}")


def _is_void(rounds: Sequence[Sample]) -> bool:
    return sum(s.void for s in rounds) * 2 > len(rounds)


def _two(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"
