"""One answer of Ollama's own API, gathered from its lines or its whole body by the same rules."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentcore.messages import CallIssue, ChatResponse, Delta, TokenUsage, ToolCall
from agentcore.providers.wire.error_objects import error_inside, find_error
from agentcore.providers.wire.response_assembly import Evidence, Parts, echoable, has_cut_call, without_word_for_calls
from agentcore.providers.wire.stop_reasons import normalize
from agentcore.providers.wire.tool_calls import CallCollector
from agentcore.providers.wire.untrusted_json import count, mapping, sequence, string
from agentcore.reasons import NormalizedStopReason


class Answer:
    """Collects one answer of `/api/chat` or `/api/generate`. `max_tokens`: the cap that was asked for, where known."""

    noun = "Ollama answer"

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        self._evidence = Evidence(provider, max_tokens)
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls = CallCollector()
        self.ended = self._call_is_last = False

    def is_dialect(self, payload: Mapping[str, Any], /) -> bool:
        """Whether an object can be a line, an answer or an error of this dialect."""
        says = isinstance(payload.get("message"), dict) or isinstance(payload.get("response"), str)
        return (says and "choices" not in payload) or "done" in payload or find_error(payload) is not None

    def take(self, payload: Mapping[str, Any], /, *, whole: bool) -> Delta | None:  # noqa: ARG002
        """Adds a line, which a whole body is too; returns what is new of it to show."""
        evidence = self._evidence
        evidence.model = evidence.model or string(payload.get("model"))
        self.ended |= payload.get("done") is True
        error = find_error(payload)
        if error is not None:
            evidence.take_error(error_inside(error))
        raw = payload.get("done_reason")
        if isinstance(raw, str):
            evidence.reasons.label("done_reason", string(raw), normalize(raw))
        taken, given = count(payload.get("prompt_eval_count")), count(payload.get("eval_count"))
        if taken is not None or given is not None:
            evidence.usage = TokenUsage(taken or 0, given or 0)
        message = mapping(payload.get("message"))
        return self._take_message(message or {"content": payload.get("response"), "thinking": payload.get("thinking")})

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:  # noqa: ARG002
        """The answer so far. Its end is the line that says `done`, however the bytes end."""
        evidence = self._evidence
        broke_off = evidence.broke_off(closed=self.ended, cut_body=cut_body)
        calls = [call for call, _ in self._calls.read(cut=broke_off or evidence.at_cap or evidence.reasons.saw_cut)]
        if cut_body and calls and self._call_is_last:
            calls[-1] = replace(calls[-1], arguments={}, issue=CallIssue.TRUNCATED, shown_whole=False)
        if evidence.at_cap and (broke_off or has_cut_call(calls)):
            evidence.reasons.sign("usage", NormalizedStopReason.MAX_TOKENS)
        parts = Parts("".join(self._texts), "".join(self._thoughts), "", calls)
        response = without_word_for_calls(evidence.settle(parts, broke_off=broke_off))
        return replace(response, echo=echoable(response, self._echo(parts)))

    def _take_message(self, message: Mapping[str, Any]) -> Delta | None:
        text, thought = string(message.get("content")), string(message.get("thinking"))
        for kept, new in ((self._texts, text), (self._thoughts, thought)):
            if new:
                kept.append(new)
        news = [self._calls.take_whole(mapping(entry)) for entry in sequence(message.get("tool_calls"))]
        name, arguments = ("".join(parts) for parts in zip(*news, strict=True)) if news else ("", "")
        self._call_is_last = bool(name) or (self._call_is_last and not text)
        return Delta(text, thought, name, arguments) if text or thought or name or arguments else None

    def _echo(self, parts: Parts) -> dict[str, Any] | None:
        """Models that think between calls want their thoughts back with them."""
        if not (parts.calls and parts.reasoning):
            return None
        calls = [encode_call(call) for call in parts.calls]
        return {"role": "assistant", "content": parts.text, "thinking": parts.reasoning, "tool_calls": calls}


def encode_call(call: ToolCall) -> dict[str, Any]:
    """A whole call as the history of a request holds it."""
    arguments = {"input": call.raw} if call.custom else dict(call.arguments)
    return {"id": call.id, "function": {"name": call.name, "arguments": arguments}}
