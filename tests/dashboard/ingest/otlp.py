"""OTLP's bodies as exporters send them, made of recorded ones."""

import base64
import json
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.dashboard.ingest.exports import FOLDER

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}
_IDS = {"traceId", "spanId", "parentSpanId"}


def json_body(name: str) -> bytes:
    return (FOLDER / f"{name}.json").read_bytes()


def protobuf_body(name: str) -> bytes:
    """The same export as protobuf. Protobuf's own JSON has ids in base64."""
    told = _with_base64(json.loads(json_body(name)))
    made: Any = ExportLogsServiceRequest() if "resourceLogs" in told else ExportTraceServiceRequest()
    return bytes(ParseDict(told, made).SerializeToString())


def _with_base64(told: Any) -> Any:
    if isinstance(told, list):
        return [_with_base64(item) for item in told]
    if not isinstance(told, dict):
        return told
    return {
        name: base64.b64encode(bytes.fromhex(value)).decode() if name in _IDS else _with_base64(value)
        for name, value in told.items()
    }
