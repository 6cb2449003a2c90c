"""Counts and durations of operations and of backend calls, kept as plain numbers; rendering is somebody else's job."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Awaitable, Iterator

from headwater.events import Event
from headwater.settings import Settings

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds."""


class Histogram:
    """How often something took how long, by label values."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, ...], list[float]] = {}

    def observe(self, labels: tuple[str, ...], seconds: float) -> None:
        """Count one."""
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = [0.0] * (len(BUCKETS) + 2)
        series[bisect_left(BUCKETS, seconds)] += 1
        series[-1] += seconds

    def series(self) -> Iterator[tuple[tuple[str, ...], list[float], float]]:
        """Label values, the count in each bucket (the last one has no bound), and the sum of seconds."""
        for labels, values in list(self._series.items()):
            yield labels, values[:-1], values[-1]


class Metrics:
    """The listener that counts operations; backend calls are reported to it directly."""

    def __init__(self, settings: Settings) -> None:
        del settings
        self.operations = Histogram()
        self.backend_calls = Histogram()

    def handle(self, event: Event) -> Awaitable[None] | None:
        """Count the end of each operation."""
        if event.phase == "after":
            self.operations.observe((event.kind, str(event.status)), event.duration)
        return None

    async def close(self) -> None:
        """Nothing is left to do."""
