"""The same from JSON. Ids are hexadecimal there, and numbers of 64 bits are texts (OTLP's own rules for JSON)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic_core import from_json

from dashboard.agents.json_value_count import holds_more_values
from dashboard.gateway.wire.decompression import TooLargeError
from dashboard.ingest.conventions.spans import LogEvent, Span, SpanEvent
from dashboard.ingest.wire import bodies
from dashboard.ingest.wire.bodies import BodyError, ParsedBody
from dashboard.ingest.wire.values import MOST_ATTRIBUTES, DeepError, bounded_text, integer, listed, of_json, pairs_of

_ERROR = {2, "STATUS_CODE_ERROR"}
Add = Callable[[ParsedBody, Mapping[str, Any]], None]


def spans_of(body: bytes, own: str = "") -> ParsedBody:
    """The spans of an export, but for those of the installation `own`. Raises `BodyError`, and
    `TooLargeError` for too many values."""
    taken = ParsedBody()
    for resource in listed(_parsed(body, "resourceSpans"), "resourceSpans"):
        taken.group()
        service = _service(resource)
        ours = own != "" and _named(resource, bodies.INSTANCE) == own
        for scope in listed(resource, "scopeSpans"):
            spans = listed(scope, "spans")
            if not taken.group():
                taken.refuse(bodies.TOO_MANY_GROUPS, len(spans))
            elif ours:
                taken.refuse(bodies.OWN, len(spans))
            else:
                _each(taken, spans, partial(_add_span, _object(scope, "scope"), service))
    return taken


def logs_of(body: bytes, own: str = "") -> ParsedBody:  # noqa: ARG001 - telemetry of ours has no logs
    """The log records of an export that name a span. Raises as `spans_of`."""
    taken = ParsedBody()
    for resource in listed(_parsed(body, "resourceLogs"), "resourceLogs"):
        taken.group()
        for scope in listed(resource, "scopeLogs"):
            records = listed(scope, "logRecords")
            if taken.group():
                _each(taken, records, _add_log)
            else:
                taken.refuse(bodies.TOO_MANY_GROUPS, len(records))
    return taken


def _parsed(body: bytes, name: str) -> Mapping[str, Any]:
    if holds_more_values(body, bodies.MOST_VALUES):
        raise TooLargeError(f"The body holds more than {bodies.MOST_VALUES:,} JSON values. Send fewer spans at once.")
    try:
        told = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise BodyError("The body is not JSON.") from error
    if not isinstance(told, dict) or not isinstance(told.get(name, []), list):
        raise BodyError(f"The body is not an export that this address accepts: an object with a list “{name}”.")
    return told


def _each(taken: ParsedBody, entries: list[Any], add: Add) -> None:
    for entry in taken.looked_at(entries):
        try:
            add(taken, entry if isinstance(entry, Mapping) else {})
        except DeepError:
            taken.refuse(bodies.TOO_DEEP)


def _object(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _text(value: Mapping[str, Any], name: str, most: int | None = None) -> str:
    found = value.get(name)
    return bounded_text(found)[:most] if isinstance(found, str) else ""


def _service(resource: Any) -> str:
    return _named(resource, "service.name")


def _named(resource: Mapping[str, Any], name: str) -> str:
    value = _attributes(_object(resource, "resource")).get(name)
    return value if isinstance(value, str) else ""


def _attributes(held: Mapping[str, Any]) -> dict[str, Any]:
    return pairs_of(listed(held, "attributes")[:MOST_ATTRIBUTES])


def _ids(held: Mapping[str, Any]) -> tuple[str, str] | None:
    trace, span_id = held.get("traceId"), held.get("spanId")
    if not bodies.is_trace(trace) or not bodies.is_span(span_id):
        return None
    return str(trace).lower(), str(span_id).lower()


def _add_span(scope: Mapping[str, Any], service: str, taken: ParsedBody, span: Mapping[str, Any]) -> None:
    ids, start = _ids(span), integer(span.get("startTimeUnixNano"))
    if ids is None:
        taken.refuse(bodies.NO_ID)
        return
    if start is None or not bodies.EARLIEST <= start <= bodies.LATEST:
        taken.refuse(bodies.NO_TIME)
        return
    parent, status = span.get("parentSpanId"), _object(span, "status")
    code = status.get("code")
    made = Span(
        trace=ids[0],
        id=ids[1],
        parent=str(parent).lower() if bodies.is_span(parent) else "",
        name=_text(span, "name", 200),
        start=start,
        end=min(max(start, integer(span.get("endTimeUnixNano")) or 0), bodies.LATEST),
        scope=_text(scope, "name", 200),
        version=_text(scope, "version", 50),
        service=service[:200],
        attributes=_attributes(span),
        events=tuple(_event(event) for event in listed(span, "events")[:MOST_ATTRIBUTES]),
        failed=isinstance(code, int | str) and code in _ERROR,
        message=_text(status, "message"),
        dropped=max(0, integer(span.get("droppedAttributesCount")) or 0),
    )
    taken.spans.append(made)


def _event(event: Any) -> SpanEvent:
    held = event if isinstance(event, Mapping) else {}
    return SpanEvent(_text(held, "name"), _attributes(held))


def _add_log(taken: ParsedBody, record: Mapping[str, Any]) -> None:
    ids = _ids(record)
    if ids is None:
        taken.refuse(bodies.NO_SPAN_OF_LOG)
        return
    attributes = _attributes(record)
    name = _text(record, "eventName") or attributes.get("event.name") or ""
    body = of_json(record.get("body"))
    more = {} if body is None or body == {} else {"body": body}
    at = integer(record.get("timeUnixNano")) or integer(record.get("observedTimeUnixNano")) or 0
    taken.logs.append(LogEvent(*ids, str(name), {**attributes, **more}, at))
