"""Made traces as an exporter sends them, in protobuf and gzip: with the content of the conversations."""

import gzip
import json
import time
from collections.abc import Iterator
from random import Random
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from dashboard.bench.turn_mix import Mix

EXPORT_SPANS = 512  #: of one request, as OpenTelemetry's batch processors send them
SECOND = 10**9


class Traces:
    """Traces one after another; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._chance, self._mix = Random(seed), Mix(seed)  # noqa: S311 - a benchmark wants the same each time
        self._at = time.time_ns() - 3600 * SECOND

    def call(self, export: Any) -> None:
        """A program's span, and one call of a model in it: a turn of one attempt."""
        trace, root = self._bytes(16), self._bytes(8)
        question = [_said("user", self._mix.text(10, 40))]
        self._span(export, trace, root, b"", "handle-request", 3 * SECOND, {})
        self._chat(export, trace, root, question, _said("assistant", self._mix.text(40, 120)), "stop")

    def agent(self, export: Any) -> None:
        """An agent's loop of two calls with a tool between them: a turn of two attempts."""
        trace, root, loop = self._bytes(16), self._bytes(8), self._bytes(8)
        self._span(export, trace, root, b"", "handle-request", 9 * SECOND, {})
        about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bench"}
        self._span(export, trace, loop, root, "invoke_agent bench", 8 * SECOND, about)
        asked: list[dict[str, Any]] = [_said("user", self._mix.text(10, 40))]
        call = {"type": "tool_call", "id": f"call_{loop.hex()}", "name": "search", "arguments": {"q": "why"}}
        calling = {"role": "assistant", "parts": [call], "finish_reason": "tool_call"}
        self._chat(export, trace, loop, asked, calling, "tool_calls")
        ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": call["id"]}
        self._span(export, trace, self._bytes(8), loop, "execute_tool search", SECOND, ran)
        result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": call["id"], "response": "found"}]}
        answer = _said("assistant", self._mix.text(40, 120))
        self._chat(export, trace, loop, [*asked, calling, result], answer, "stop")

    def _chat(self, export: Any, trace: bytes, parent: bytes, asked: Any, answer: Any, reason: str) -> None:
        about = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4.1-mini",
            "gen_ai.request.max_tokens": 400,
            "gen_ai.response.id": f"chatcmpl-{self._bytes(12).hex()}",
            "gen_ai.response.finish_reasons": f'["{reason}"]',
            "gen_ai.usage.input_tokens": 200,
            "gen_ai.usage.output_tokens": 120,
            "gen_ai.input.messages": json.dumps(asked),
            "gen_ai.output.messages": json.dumps([answer]),
        }
        self._span(export, trace, self._bytes(8), parent, "chat gpt-4.1-mini", 2 * SECOND, about)

    def _span(
        self, export: Any, trace: bytes, span: bytes, parent: bytes, name: str, lasts: int, about: dict[str, Any]
    ) -> None:
        made = export.spans.add(trace_id=trace, span_id=span, parent_span_id=parent, name=name)
        self._at += SECOND // 4
        made.start_time_unix_nano, made.end_time_unix_nano = self._at, self._at + lasts
        if name.startswith("chat"):
            self._at += lasts
        for key, value in about.items():
            pair = made.attributes.add(key=key)
            if isinstance(value, int):
                pair.value.int_value = value
            else:
                pair.value.string_value = value

    def _bytes(self, number: int) -> bytes:
        return self._chance.randbytes(number)


def _said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def exports(kind: str, spans: int, seed: int) -> Iterator[tuple[bytes, int]]:
    """Bodies of at least so many spans together, packed; and how many spans each holds."""
    traces, made = Traces(seed), 0
    while made < spans:
        request = ExportTraceServiceRequest()
        scope = request.resource_spans.add().scope_spans.add()
        scope.scope.name = "bench"
        while len(scope.spans) < EXPORT_SPANS:
            getattr(traces, kind)(scope)
        made += len(scope.spans)
        yield gzip.compress(request.SerializeToString(), 1), len(scope.spans)
