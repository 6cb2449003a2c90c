"""The collected numbers in Prometheus' text format; its library is imported when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.core.lake import Lake
from headwater.events.metrics import BUCKETS, Histogram
from headwater.store.session import Session
from headwater.version import __version__


def render(lake: Lake) -> bytes:
    """All metrics of this process."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric

    def family(name: str, text: str, labels: tuple[str, ...], histogram: Histogram) -> HistogramMetricFamily:
        metric = HistogramMetricFamily(name, text, labels=labels)
        for values, counts, total in histogram.series():
            so_far = 0.0
            buckets = []
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                so_far += count
                buckets.append((bound, so_far))
            metric.add_metric(values, buckets=buckets, sum_value=total)
        return metric

    class Collector:
        def collect(self) -> Iterator[Metric]:
            yield InfoMetricFamily("headwater", "The server.", {"version": __version__})
            yield family(
                "headwater_operation_duration_seconds", "Operations by kind and HTTP status.",
                ("operation", "status"), lake.metrics.operations,
            )  # fmt: skip
            yield family(
                "headwater_backend_call_duration_seconds", "Calls to outside catalogs.",
                ("catalog", "provider", "operation", "outcome"), lake.metrics.backend_calls,
            )  # fmt: skip
            statements = CounterMetricFamily("headwater_store_statements", "Statements run on the store.")
            statements.add_metric((), Session.statements)
            yield statements

    registry = CollectorRegistry()
    registry.register(Collector())
    return generate_latest(registry)
