"""The metrics of a batch of turns, as deltas: what is added up since the batch before is the receiver's to add up.

gen_ai.client.token.usage, gen_ai.client.operation.duration   of calls, as the conventions name and bound them
whystop.turns, whystop.attempts                               counts, by how turns and attempts ended
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)

from dashboard.exports.telemetry.names import provider_named
from dashboard.exports.telemetry.spans import nanoseconds, pairs, resource, scope
from dashboard.exports.telemetry.turn_data import TelemetryTurn

Key = tuple[tuple[str, Any], ...]  #: attributes
Times = tuple[int, int]  #: nanoseconds: since when, and until when
DELTA = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)


def metrics(
    told: Sequence[TelemetryTurn], *, instance: str, since: datetime, until: datetime
) -> ExportMetricsServiceRequest:
    """An export of what these turns add up to, told as of the time between two batches."""
    times = (nanoseconds(since), nanoseconds(until))
    made = [
        _histogram("gen_ai.client.token.usage", "{token}", _usages(told), TOKENS, times),
        _histogram("gen_ai.client.operation.duration", "s", _durations(told), SECONDS, times),
        _sum("whystop.turns", "{turn}", (_turn(one) for one in told), times),
        _sum("whystop.attempts", "{attempt}", _attempts(told), times),
    ]
    scoped = ScopeMetrics(scope=scope(), metrics=made)
    return ExportMetricsServiceRequest(
        resource_metrics=[ResourceMetrics(resource=resource(instance), scope_metrics=[scoped])]
    )


def _call(row: Any) -> Key:
    return (
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", provider_named(row.provider)),
        ("gen_ai.request.model", row.model),
    )


def _usages(told: Iterable[TelemetryTurn]) -> Iterator[tuple[Key, float]]:
    for row in (call.row for one in told for call in one.calls):
        for kind in ("input", "output"):
            count = (row.usage or {}).get(f"{kind}_tokens")
            if count is not None:
                yield (*_call(row), ("gen_ai.token.type", kind)), count


def _durations(told: Iterable[TelemetryTurn]) -> Iterator[tuple[Key, float]]:
    for row in (call.row for one in told if not one.turn.untimed for call in one.calls):
        if row.duration_ms is not None:
            error = (row.error or {}).get("kind")
            yield (*_call(row), *((("error.type", str(error)),) if error else ())), row.duration_ms / 1000


def _turn(told: TelemetryTurn) -> Key:
    turn = told.turn
    names = ("status", "stop_reason", "terminal_reason", "resource")
    said = ((f"whystop.{name}", getattr(turn, name) or "") for name in names)
    return (("gen_ai.agent.name", turn.agent_name), ("gen_ai.request.model", turn.model), *said)


def _attempts(told: Iterable[TelemetryTurn]) -> Iterator[Key]:
    for row in (call.row for one in told for call in one.calls):
        yield (*_call(row), ("whystop.attempt.kind", row.kind), ("whystop.stop_reason", row.stop_reason or ""))


def _sum(name: str, unit: str, keys: Iterable[Key], times: Times) -> Metric:
    since, until = times
    points = [
        NumberDataPoint(attributes=pairs(dict(key)), as_int=n, start_time_unix_nano=since, time_unix_nano=until)
        for key, n in Counter(keys).items()
    ]
    return Metric(name=name, unit=unit, sum=Sum(data_points=points, aggregation_temporality=DELTA, is_monotonic=True))


def _histogram(
    name: str, unit: str, values: Iterable[tuple[Key, float]], bounds: Sequence[float], times: Times
) -> Metric:
    by_key: dict[Key, list[float]] = defaultdict(list)
    for key, value in values:
        by_key[key].append(value)
    points = [_point(key, found, bounds, times) for key, found in by_key.items()]
    return Metric(name=name, unit=unit, histogram=Histogram(data_points=points, aggregation_temporality=DELTA))


def _point(key: Key, values: Sequence[float], bounds: Sequence[float], times: Times) -> HistogramDataPoint:
    counts = Counter(bisect_left(bounds, value) for value in values)
    return HistogramDataPoint(
        attributes=pairs(dict(key)),
        count=len(values),
        sum=sum(values),
        min=min(values),
        max=max(values),
        explicit_bounds=bounds,
        bucket_counts=[counts[place] for place in range(len(bounds) + 1)],
        start_time_unix_nano=times[0],
        time_unix_nano=times[1],
    )
