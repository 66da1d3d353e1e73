"""Spans and log events from protobuf's messages."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from dashboard.gateway.wire.decompression import TooLargeError
from dashboard.ingest.conventions.spans import LogEvent, Span, SpanEvent
from dashboard.ingest.wire import bodies
from dashboard.ingest.wire.bodies import BodyError, ParsedBody
from dashboard.ingest.wire.field_count import holds_more_fields
from dashboard.ingest.wire.values import MOST_ATTRIBUTES, DeepError, bounded_text, of_protobuf

Add = Callable[[ParsedBody, Any], None]


def spans_of(body: bytes, own: str = "") -> ParsedBody:
    """The spans of an export, but for those of the installation `own`. Raises `BodyError`, and
    `TooLargeError` for too many fields."""
    taken = ParsedBody()
    for resource in _parsed(ExportTraceServiceRequest(), body).resource_spans:
        taken.group()
        service = _service(resource.resource)
        ours = own != "" and _named(resource.resource, bodies.INSTANCE) == own
        for scope in resource.scope_spans:
            if not taken.group():
                taken.refuse(bodies.TOO_MANY_GROUPS, len(scope.spans))
            elif ours:
                taken.refuse(bodies.OWN, len(scope.spans))
            else:
                _each(taken, scope.spans, partial(_add_span, scope.scope, service))
    return taken


def logs_of(body: bytes, own: str = "") -> ParsedBody:  # noqa: ARG001 - telemetry of ours has no logs
    """The log records of an export that name a span. Raises as `spans_of`."""
    taken = ParsedBody()
    for resource in _parsed(ExportLogsServiceRequest(), body).resource_logs:
        taken.group()
        for scope in resource.scope_logs:
            if taken.group():
                _each(taken, scope.log_records, _add_log)
            else:
                taken.refuse(bodies.TOO_MANY_GROUPS, len(scope.log_records))
    return taken


def _parsed(message: Any, body: bytes) -> Any:
    if holds_more_fields(body, message.DESCRIPTOR, bodies.MOST_VALUES):
        raise TooLargeError(f"The body holds more than {bodies.MOST_VALUES:,} fields. Send fewer spans at once.")
    try:
        message.ParseFromString(body)
    except (DecodeError, RecursionError) as error:
        raise BodyError("The body is not an export that this address accepts, in protobuf.") from error
    return message


def _each(taken: ParsedBody, entries: Sequence[Any], add: Add) -> None:
    for entry in taken.looked_at(entries):
        try:
            add(taken, entry)
        except DeepError:
            taken.refuse(bodies.TOO_DEEP)


def _service(resource: Any) -> str:
    return _named(resource, "service.name")


def _named(resource: Any, name: str) -> str:
    return next((pair.value.string_value for pair in resource.attributes if pair.key == name), "")


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: of_protobuf(pair.value) for pair in islice(pairs, MOST_ATTRIBUTES)}


def _add_span(scope: Any, service: str, taken: ParsedBody, span: Any) -> None:
    trace, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
    if not (bodies.names_trace(trace) and bodies.names_span(span_id)):
        taken.refuse(bodies.NO_ID)
        return
    if not bodies.EARLIEST <= span.start_time_unix_nano <= bodies.LATEST:
        taken.refuse(bodies.NO_TIME)
        return
    made = Span(
        trace=trace.hex(),
        id=span_id.hex(),
        parent=parent.hex() if bodies.names_span(parent) else "",
        name=span.name[:200],
        start=span.start_time_unix_nano,
        end=min(max(span.start_time_unix_nano, span.end_time_unix_nano), bodies.LATEST),
        scope=scope.name[:200],
        version=scope.version[:50],
        service=service[:200],
        attributes=_attributes(span.attributes),
        events=tuple(SpanEvent(event.name, _attributes(event.attributes)) for event in span.events[:MOST_ATTRIBUTES]),
        failed=span.status.code == Status.STATUS_CODE_ERROR,
        message=bounded_text(span.status.message),
        dropped=span.dropped_attributes_count,
    )
    taken.spans.append(made)


def _add_log(taken: ParsedBody, record: Any) -> None:
    trace, span_id = record.trace_id, record.span_id
    if not (bodies.names_trace(trace) and bodies.names_span(span_id)):
        taken.refuse(bodies.NO_SPAN_OF_LOG)
        return
    attributes = _attributes(record.attributes)
    name = record.event_name or attributes.get("event.name") or ""
    body = of_protobuf(record.body)
    more = {} if body is None or body == {} else {"body": body}
    at = record.time_unix_nano or record.observed_time_unix_nano
    taken.logs.append(LogEvent(trace.hex(), span_id.hex(), str(name), {**attributes, **more}, at))
