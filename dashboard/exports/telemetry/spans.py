"""A turn → a trace of its own: a span of the agent, in it one of each call of the model and of each tool that ran.

The ids are made of the turn's, so that a turn that is sent twice is the same spans.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from agentcore import VERSION
from agentcore.messages import Message, Role
from agentcore.reasons import TurnStatus
from dashboard.exports.telemetry.names import INSTANCE, SCOPE, SERVICE, provider_named
from dashboard.exports.telemetry.turn_data import Call, TelemetryTurn, ToolRun
from dashboard.platform.fields import storable_text

Attributes = Mapping[str, Any]
#: Columns of a turn that are told as they are.
OUR_OWN = (
    "status", "stop_reason", "model_stop_reason", "terminal_reason", "resource", "tokens_estimated", "attempts",
    "continuations", "tool_repairs", "envelope_retries", "lint", "tags",
)  # fmt: skip
FAILED = frozenset({TurnStatus.FAILED, TurnStatus.ABORTED, TurnStatus.INTERRUPTED})


def traces(told: Iterable[TelemetryTurn], *, instance: str, content: bool) -> ExportTraceServiceRequest:
    """An export of these turns. `content`: with their texts."""
    spans = [span for one in told for span in _spans(one, content=content)]
    scoped = ScopeSpans(scope=scope(), spans=spans)
    return ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=resource(instance), scope_spans=[scoped])])


def resource(instance: str) -> Resource:
    """Who sends."""
    return Resource(attributes=pairs({"service.name": SERVICE, "service.version": VERSION, INSTANCE: instance}))


def scope() -> InstrumentationScope:
    return InstrumentationScope(name=SCOPE, version=VERSION)


def pairs(attributes: Attributes) -> list[KeyValue]:
    """Without those that have no value."""
    return [KeyValue(key=name, value=_value(value)) for name, value in attributes.items() if value not in (None, "")]


def nanoseconds(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000) * 1_000


def _value(value: Any) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, list | tuple):
        return AnyValue(array_value=ArrayValue(values=[_value(one) for one in value]))
    return AnyValue(string_value=storable_text(str(value)))


def _spans(told: TelemetryTurn, *, content: bool) -> Iterator[Span]:
    turn = told.turn
    start = turn.started_at or turn.created_at
    error = (turn.error_code or turn.terminal_reason or turn.status) if turn.status in FAILED else ""
    agent = _turn(told, content=content) | {"error.type": error}
    ended = turn.finished_at or start
    yield _span(told, "turn", f"invoke_agent {turn.agent_name}", start, ended, agent, error, root=True)
    for call in told.calls:
        yield _call(told, call, content=content)
    for run in told.tools:
        yield _tool(told, run, content=content)


def _span(
    told: TelemetryTurn,
    part: str,
    name: str,
    start: datetime,
    end: datetime,
    attributes: Attributes,
    error: str,
    *,
    root: bool = False,
) -> Span:
    return Span(
        trace_id=told.turn.id.bytes,
        span_id=_span_id(told, part),
        parent_span_id=b"" if root else _span_id(told, "turn"),
        name=storable_text(name),
        kind=Span.SPAN_KIND_CLIENT if part.startswith("call") else Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=nanoseconds(start),
        end_time_unix_nano=nanoseconds(max(start, end)),
        attributes=pairs(attributes),
        status=Status(code=Status.STATUS_CODE_ERROR, message=storable_text(error)) if error else Status(),
    )


def _span_id(told: TelemetryTurn, part: str) -> bytes:
    return hashlib.blake2b(told.turn.id.bytes + part.encode(errors="surrogatepass"), digest_size=8).digest()


def _turn(told: TelemetryTurn, *, content: bool) -> dict[str, Any]:
    turn = told.turn
    texts = {
        "gen_ai.input.messages": _messages([Message(Role.USER, turn.input_text)]),
        "gen_ai.output.messages": _output(turn.output_text, (), turn.stop_reason),
    }
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": provider_named(turn.provider),
        "gen_ai.agent.name": turn.agent_name,
        "gen_ai.conversation.id": str(turn.conversation_id or turn.run),
        "gen_ai.request.model": turn.model,
        "gen_ai.response.finish_reasons": [turn.stop_reason] if turn.stop_reason else None,
        "gen_ai.usage.input_tokens": turn.input_tokens,
        "gen_ai.usage.output_tokens": turn.output_tokens,
        "whystop.turn.id": str(turn.id),
        "whystop.run.id": str(turn.run),
        **{f"whystop.{name}": getattr(turn, name) for name in OUR_OWN},
        **(texts if content else {}),
    }


def _call(told: TelemetryTurn, call: Call, *, content: bool) -> Span:
    row = call.row
    address, usage = urlsplit(row.request_url), row.usage or {}
    word = row.raw_stop_reason or row.stop_reason
    error = str((row.error or {}).get("kind") or (row.error or {}).get("type") or "")
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider_named(row.provider),
        "gen_ai.request.model": row.model,
        "gen_ai.request.max_tokens": row.max_tokens,
        "gen_ai.response.finish_reasons": [word] if word else None,
        "gen_ai.usage.input_tokens": usage.get("input_tokens"),
        "gen_ai.usage.output_tokens": usage.get("output_tokens"),
        "gen_ai.usage.reasoning.output_tokens": usage.get("reasoning_tokens"),
        "gen_ai.usage.cache_read.input_tokens": usage.get("cached_tokens"),
        "gen_ai.response.time_to_first_chunk": None if row.first_token_ms is None else row.first_token_ms / 1000,
        "server.address": address.hostname,
        "server.port": address.port,
        "http.response.status_code": row.status_code,
        "error.type": error,
        "whystop.turn.id": str(told.turn.id),
        "whystop.attempt.index": row.index,
        "whystop.attempt.kind": row.kind,
        "whystop.stop_reason": row.stop_reason,
        "whystop.raw_stop_reason": row.raw_stop_reason,
        **(_texts(call) if content else {}),
    }
    end = row.started_at + timedelta(milliseconds=row.duration_ms or 0)
    return _span(told, f"call {row.index}", f"chat {row.model}", row.started_at, end, attributes, error)


def _texts(call: Call) -> Attributes:
    asked, row = call.asked, call.row
    system = [{"type": "text", "content": asked.system}] if asked.system else None
    return {
        "gen_ai.system_instructions": system and json.dumps(system),
        "gen_ai.input.messages": None if asked.messages is None else _messages(asked.messages),
        "gen_ai.output.messages": _output(row.text or "", row.tool_calls, row.raw_stop_reason or row.stop_reason),
    }


def _tool(told: TelemetryTurn, run: ToolRun, *, content: bool) -> Span:
    texts = {"gen_ai.tool.call.arguments": run.arguments, "gen_ai.tool.call.result": run.result}
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": run.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": run.id,
        "error.type": run.error,
        "whystop.turn.id": str(told.turn.id),
        **(texts if content else {}),
    }
    return _span(told, f"tool {run.id}", f"execute_tool {run.name}", run.start, run.end, attributes, run.error)


def _messages(messages: Sequence[Message]) -> str:
    return json.dumps([_message(message) for message in messages])


def _message(message: Message) -> dict[str, Any]:
    if message.role is Role.TOOL:
        result = {"type": "tool_call_response", "id": message.tool_call_id, "response": message.text}
        return {"role": "tool", "parts": [result]}
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    return {"role": message.role.value, "parts": _parts(message.text, calls)}


def _output(text: str, calls: Iterable[Mapping[str, Any]], reason: str | None) -> str:
    return json.dumps([{"role": "assistant", "parts": _parts(text, calls), "finish_reason": reason or ""}])


def _parts(text: str, calls: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    said = [{"type": "text", "content": text}] if text else []
    names = ("id", "name", "arguments")
    return [*said, *({"type": "tool_call", **{name: call.get(name) for name in names}} for call in calls)]
