"""A request's body → its spans or log events, and what of it is refused. Pure.

A body that is no OTLP at all raises `BodyError`; of one that is, each span stands for itself.

Also holds responses to OTLP exporters, in the format of the request: success, partial success, or `google.rpc.Status`.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from dashboard.ingest.conventions.spans import LogEvent, Span
from dashboard.ingest.wire.values import MOST_DEPTH

MOST_SPANS = 20_000  #: of one request that are looked at; more are refused, and the exporter is told
MOST_GROUPS = 20_000  #: resources and scopes of one request: each may be a few bytes and hold nothing
MOST_COUNTED = 10 * MOST_GROUPS  #: of these that are counted, to tell the exporter what of them is refused
MOST_VALUES = 2_000_000  #: of a request, in JSON values or protobuf fields; four are an attribute
_TRACE, _SPAN = 32, 16  #: hexadecimal digits of an id
_HEX = re.compile(r"[0-9a-fA-F]+")
EARLIEST = 1_000_000_000 * 10**9  #: nanoseconds; before September 2001 there were no spans
LATEST = 4_000_000_000 * 10**9  #: in 2096


T = TypeVar("T")


class BodyError(ValueError):
    """Why a body is no export, in a sentence."""


@dataclass(slots=True)
class ParsedBody:
    """What a request brought. `refused`: how many spans or log records, by why, in words."""

    spans: list[Span] = field(default_factory=list)
    logs: list[LogEvent] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    groups: int = 0  #: resources and scopes
    looked: int = 0  #: spans and log records that were looked at

    @property
    def count(self) -> int:
        return len(self.spans) + len(self.logs)

    def group(self) -> bool:
        """Count a resource or a scope; whether what it holds is looked at. Raises `BodyError` for far too many."""
        self.groups += 1
        if self.groups > MOST_COUNTED:
            raise BodyError(TOO_MANY_GROUPS)
        return self.groups <= MOST_GROUPS

    def looked_at(self, entries: Sequence[T]) -> Sequence[T]:
        """Those of the spans or log records that are looked at; the others are refused, all at once."""
        taken = entries[: MOST_SPANS - self.looked]
        self.looked += len(taken)
        self.refuse(TOO_MANY, len(entries) - len(taken))
        return taken

    def refuse(self, why: str, number: int = 1) -> None:
        if number:
            self.refused[why] += number

    @property
    def message(self) -> str:
        """Why what was refused was, in sentences."""
        return " ".join(f"{why} ({number:,})" for why, number in self.refused.most_common())


TOO_MANY = f"A request may hold {MOST_SPANS:,} spans or log records."
TOO_MANY_GROUPS = f"A request may hold {MOST_GROUPS:,} resources and scopes. Send fewer at once."
NO_ID = "The trace's id must be 16 bytes, a span's 8, and neither may be zero."
NO_TIME = "It needs a start between 2001 and 2096, in nanoseconds since 1970."
TOO_DEEP = f"An attribute has more than {MOST_DEPTH} lists and maps in one another. Send it as text, or flatter."
OWN = "These spans come from this installation, which already has their turns: its telemetry is sent back to itself."
INSTANCE = "whystop.instance"  #: of a resource: the installation whose telemetry it is
NO_SPAN_OF_LOG = "A log record is accepted only if it names its trace and its span."


def is_id(value: Any, digits: int) -> bool:
    """Whether it is an id in hexadecimal that names something."""
    is_text = isinstance(value, str) and len(value) == digits
    return is_text and value.strip("0") != "" and _HEX.fullmatch(value) is not None


def is_trace(value: Any) -> bool:
    return is_id(value, _TRACE)


def is_span(value: Any) -> bool:
    return is_id(value, _SPAN)


def names_trace(value: bytes) -> bool:
    """Whether the bytes of an id name a trace."""
    return len(value) == _TRACE // 2 and any(value)


def names_span(value: bytes) -> bool:
    return len(value) == _SPAN // 2 and any(value)


PROTOBUF, JSON = "application/x-protobuf", "application/json"
_MOST = 1_000  #: characters of a message
_LENGTH_DELIMITED = b"\x12"  #: field 2, a text: the message of a `Status`
#: By the form of the answer's path: the message, and what it calls the number of those that were refused.
_ANSWERS: dict[str, tuple[Any, str, str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans", "rejectedSpans"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records", "rejectedLogRecords"),
}


def success(signal: str, form: str, *, refused: int, message: str) -> bytes:
    """All of it was taken, or all but so many."""
    made, field, name = _ANSWERS[signal]
    if form == JSON:
        partial = {name: str(refused), "errorMessage": message[:_MOST]}
        return json.dumps({"partialSuccess": partial} if refused else {}).encode()
    answer = made()
    if refused:
        setattr(answer.partial_success, field, refused)
        answer.partial_success.error_message = message[:_MOST]
    content: bytes = answer.SerializeToString()
    return content


def failure(form: str, message: str) -> bytes:
    """Nothing was taken."""
    if form == JSON:
        return json.dumps({"message": message[:_MOST]}).encode()
    text = message[:_MOST].encode()
    return _LENGTH_DELIMITED + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])
