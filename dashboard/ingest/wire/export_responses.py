"""Responses to OTLP exporters, in the format of the request: success, partial success, or `google.rpc.Status`."""

import json
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

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
