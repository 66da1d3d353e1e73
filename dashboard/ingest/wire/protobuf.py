"""Spans and log events from protobuf's messages.

Counts the fields of a protobuf message before it is parsed.

The parser holds the interpreter's lock until it is done, and makes a hundred bytes of two.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
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
from dashboard.ingest.wire.values import MOST_ATTRIBUTES, DeepError, bounded_text, of_protobuf

CHECKED = 256 * 1024  #: bytes; what is smaller is parsed within milliseconds, whatever it holds
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5  #: how a field is written
_MORE = 0x80  #: of a byte of a number: another one follows
_LONGEST = 70  #: bits of a number

#: Of a kind of message: the numbers of its fields that are messages, and the kind of each, by its full name.
Kinds = Mapping[int, str]


def holds_more_fields(body: bytes, kind: Any, most: int) -> bool:
    """Whether a message, given its descriptor, holds more fields than that; an empty message counts as two, as in JSON.

    Raises `BodyError` for what is no protobuf.
    """
    if len(body) <= max(CHECKED, most):  # a field takes two bytes at least, and none of so few can be too many
        return False
    try:
        return _counted(body, _kinds_of(kind), kind.full_name, most) > most
    except IndexError as error:
        raise BodyError("The body is cut off, or is not protobuf.") from error


def _counted(body: bytes, kinds: Mapping[str, Kinds], name: str, most: int) -> int:
    """How many fields there are; of too many, some that are more than `most`."""
    position, end, inner, count = 0, len(body), kinds[name], 0
    outer: list[tuple[int, Kinds]] = []
    while count <= most:
        while position >= end:
            if not outer:
                return count
            end, inner = outer.pop()
        tag, position = _number(body, position)
        count += 1
        if tag & 7 != _LENGTH:
            position = _behind(body, position, tag & 7)
            continue
        size, position = _number(body, position)
        if position + size > end:
            raise IndexError
        found = inner.get(tag >> 3)
        if found is None:
            position += size
        elif not size:
            count += 1
        else:
            outer.append((end, inner))
            end, inner = position + size, kinds[found]
    return count


def _number(body: bytes, position: int) -> tuple[int, int]:
    """The number that begins there, and where it ends."""
    byte = body[position]
    if byte < _MORE:
        return byte, position + 1
    value, shift = byte & 0x7F, 7
    while byte >= _MORE and shift < _LONGEST:
        position += 1
        byte = body[position]
        value |= (byte & 0x7F) << shift
        shift += 7
    return value, position + 1


def _behind(body: bytes, position: int, written: int) -> int:
    """Where a field ends that has no length. OTLP has no groups."""
    if written == _VARINT:
        return _number(body, position)[1]
    if written not in {_EIGHT, _FOUR}:
        raise IndexError
    return position + (8 if written == _EIGHT else 4)


@cache
def _kinds_of(kind: Any) -> Mapping[str, Kinds]:
    """Every kind of message that is in this one, by its full name."""
    found: dict[str, Kinds] = {}
    left = [kind]
    while left:
        message = left.pop()
        if message.full_name not in found:
            inner = [field for field in message.fields if field.message_type is not None]
            found[message.full_name] = {field.number: field.message_type.full_name for field in inner}
            left += [field.message_type for field in inner]
    return found


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
