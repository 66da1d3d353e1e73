"""One answer in the JSON protocol: OpenAI's envelope around a text that is one JSON object."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentcore.messages import CallIssue, ChatResponse, Delta, ReasonSighting, ToolCall
from agentcore.providers.llama.protocol import Reading, ResponseText, read
from agentcore.providers.openai import answer as openai_answer
from agentcore.providers.wire.stop_reasons import normalize
from agentcore.providers.wire.tool_calls import write_json
from agentcore.providers.wire.untrusted_json import string
from agentcore.reasons import NormalizedStopReason as Reason

# Under these the text can end anywhere.
_CUTS = frozenset({Reason.MAX_TOKENS, Reason.CONTEXT_WINDOW_EXCEEDED, Reason.SAFETY_BLOCKED, Reason.CANCELLED})
_KEY_WEIGHT = 50  # as any word for a tool call
_NATIVE_KEYS = frozenset({"stop", "stop_type", "tokens_predicted"})
_PROTOCOL_KEYS = frozenset({"tool_call", "response"})
_OLD_STOPS = ("stopped_eos", "stopped_limit", "stopped_word")


def is_bare(payload: Mapping[str, Any]) -> bool:
    """Whether a body is the protocol's object itself, without an envelope around it."""
    return not _PROTOCOL_KEYS.isdisjoint(payload) and "done" not in payload and "choices" not in payload


def as_chat(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The payload as a body or a chunk of the chat API; unchanged where it is one, or nothing of ours."""
    if is_bare(payload):
        return {"choices": [{"message": {"content": write_json(payload)}}]}
    content = payload.get("content")
    if "choices" in payload or not isinstance(content, str) or _NATIVE_KEYS.isdisjoint(payload):
        return payload
    spoken = {"text": content, "finish_reason": _stop_of(payload)}
    counted = {"prompt_tokens": payload.get("tokens_evaluated"), "completion_tokens": payload.get("tokens_predicted")}
    kept = {key: payload[key] for key in ("model", "truncated") if key in payload}
    return {**kept, "choices": [spoken], "usage": counted if payload.get("stop") else None}


def _stop_of(payload: Mapping[str, Any]) -> str | None:
    """llama.cpp's word for the end; `none` until then."""
    if payload.get("stop") is False:
        return None
    word = string(payload.get("stop_type"))
    return word or next((key.removeprefix("stopped_") for key in _OLD_STOPS if payload.get(key) is True), None)


class Answer:
    """Collects one answer. `max_tokens` is the cap that was asked for, where known: evidence for truncation."""

    noun = "chat completion"
    ended = False  # its closing event is the framing's `[DONE]`

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        self._envelope = openai_answer.Answer(provider, max_tokens)
        self._cap = max_tokens
        self._shown = ResponseText()
        self._bare = False  # the body is the protocol's object itself

    def is_dialect(self, payload: Mapping[str, Any], /) -> bool:
        """Whether an object can be a chunk, an answer or an error of the chat API, or the protocol's own object."""
        return self._envelope.is_dialect(as_chat(payload))

    def take(self, payload: Mapping[str, Any], /, *, whole: bool) -> Delta | None:
        """Adds a chunk, or (`whole`) a complete body; returns what is new of it to show."""
        self._bare = self._bare or is_bare(payload)
        delta = self._envelope.take(as_chat(payload), whole=whole)
        if delta is None:
            return None
        delta = replace(delta, text=self._shown.feed(delta.text))
        return None if delta == Delta() else delta

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:
        """The answer so far, its text read as the protocol has it."""
        response = self._envelope.response(closed=closed, cut_body=cut_body)
        if response.tool_calls or response.broken_tool_calls:
            return response  # the server has read the calls itself
        at_cap = bool(self._cap and response.usage and response.usage.is_at(self._cap))
        broken = response.incomplete_stream or response.error is not None
        reading = read(response.text, cut=broken or at_cap or response.stop_reason in _CUTS)
        if self._bare and not (broken or cut_body):  # it has no place for a word, and it has ended
            response = replace(response, stop_reason=Reason.END_TURN)
        if self._bare and cut_body:  # what was cut has been closed to be read
            reading = reading._replace(calls=[_cut(call) for call in reading.calls])
        return _settled(response, reading, at_cap=at_cap)


def _cut(call: ToolCall) -> ToolCall:
    return replace(call, arguments={}, issue=CallIssue.TRUNCATED, shown_whole=False)


def _settled(response: ChatResponse, reading: Reading, *, at_cap: bool) -> ChatResponse:
    """The response with what its text says, and the reason that this makes of a natural end."""
    seen: list[ReasonSighting] = []
    reason = response.stop_reason
    if reason is Reason.END_TURN and at_cap and reading.unfinished:
        reason = Reason.MAX_TOKENS
        seen.append(ReasonSighting("usage", None, reason, 80))
    elif reason is Reason.END_TURN and reading.calls:
        reason = Reason.TOOL_CALL
        seen.append(ReasonSighting("text", "tool_call", reason, _KEY_WEIGHT))
    silent = not (reading.text.strip() or reading.calls or response.refusal or response.error)
    empty = silent and (reason in (Reason.END_TURN, Reason.MAX_TOKENS) or not response.raw_stop_reason)
    agreed = normalize(response.raw_stop_reason) is reason  # with a word for the call that only the text shows
    dropped = {"empty_output"} | ({"relabelled"} if agreed else set())
    kept = tuple(word for word in response.diagnostics if word not in dropped)
    return replace(
        response,
        text=reading.text,
        tool_calls=tuple(call for call in reading.calls if call.issue is None),
        broken_tool_calls=tuple(call for call in reading.calls if call.issue is not None),
        stop_reason=reason,
        reason_trail=(*response.reason_trail, *seen),
        diagnostics=("empty_output",) * empty + kept,
        echo=None,
    )
