"""Destinations that keep what they are sent, read by OpenTelemetry's own messages."""

import asyncio
import gzip
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from dashboard.agents.selectors import project_default
from dashboard.exports.telemetry.exporter import Exporter
from dashboard.exports.telemetry.models import Destination
from dashboard.live.transport import Transport
from tests.dashboard.recording_server import Receiver, receiving

DestinationOf = Callable[..., Destination]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def destination_of(db: None, receiver: Receiver) -> DestinationOf:
    def make(**columns: object) -> Destination:
        asked = {"name": "collector", "endpoint": receiver.address, **columns}
        return Destination.objects.create(project=project_default(), **asked)

    return make


def send() -> None:
    """One look of a worker, and what it began."""

    async def look() -> None:
        async with Transport() as transport:
            exporter = Exporter(transport)
            await exporter.look()
            await exporter.settled()

    asyncio.run(look())


def spans_in(receiver: Receiver) -> list[Any]:
    found = []
    for request in receiver.requests:
        if request.path == "/v1/traces":
            told = ExportTraceServiceRequest.FromString(gzip.decompress(request.body))
            found += [span for one in told.resource_spans for scope in one.scope_spans for span in scope.spans]
    return found


def metrics_in(receiver: Receiver) -> dict[str, Any]:
    """By name, of the last export."""
    bodies = [request.body for request in receiver.requests if request.path == "/v1/metrics"]
    told = ExportMetricsServiceRequest.FromString(gzip.decompress(bodies[-1]))
    return {metric.name: metric for metric in told.resource_metrics[0].scope_metrics[0].metrics}


def attributes(holder: Any) -> dict[str, Any]:
    def value(one: Any) -> Any:
        kind = one.WhichOneof("value")
        return [value(item) for item in one.array_value.values] if kind == "array_value" else getattr(one, kind)

    return {pair.key: value(pair.value) for pair in holder.attributes}
