"""One answer of Cohere, gathered from its events or its whole body by the same rules."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentcore.messages import ChatResponse, Delta, TokenUsage, ToolCall
from agentcore.providers.cohere.stop_reasons import normalize
from agentcore.providers.wire.error_objects import ErrorObject, error_inside
from agentcore.providers.wire.error_objects import find_error as find_nested_error
from agentcore.providers.wire.response_assembly import Evidence, Parts, echoable, has_cut_call, is_plain_json
from agentcore.providers.wire.tool_calls import CallCollector, encode_call
from agentcore.providers.wire.untrusted_json import count, mapping, sequence, string
from agentcore.reasons import NormalizedStopReason

_EVENTS = ("message-", "content-", "tool-", "citation-", "debug")
# What a whole body holds, so that one that was cut before its reason is told from other vendors' messages.
_BODY_KEYS = frozenset({"id", "finish_reason", "message", "usage", "logprobs"})


def find_error(payload: Mapping[str, Any]) -> ErrorObject | None:
    """The error of a payload: mostly flat, `{id, message, error_type?}`."""
    flat = bool(string(payload.get("message")).strip())
    error = payload if flat else find_nested_error(payload)
    return None if error is None else {"code": error.get("error_type"), **error}


class CohereAnswer:
    """Collects one answer. `max_tokens` is the cap that was asked for, where known: evidence for truncation."""

    noun = "answer of Cohere's chat API"

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        self._evidence = Evidence(provider, max_tokens)
        self._content: dict[tuple[int, str], list[str]] = {}  # the pieces of each part, by index and type
        self._plan: list[str] = []
        self._calls = CallCollector()
        self._billed: Mapping[str, Any] = {}
        self.ended = False

    def is_dialect(self, payload: Mapping[str, Any]) -> bool:
        """Whether an object can be an event, an answer or an error of this dialect."""
        return string(payload.get("type")).startswith(_EVENTS) or _is_body(payload) or find_error(payload) is not None

    def take(self, payload: Mapping[str, Any], *, whole: bool) -> Delta | None:
        """Adds an event, or a complete body; returns what is new of it to show."""
        kind = string(payload.get("type"))
        if whole or not kind.startswith(_EVENTS):
            return self._take_body(payload)
        delta = mapping(payload.get("delta"))
        self._evidence.response_id = self._evidence.response_id or string(payload.get("id"))
        if kind == "message-end":
            self.ended = True
            self._take_end(delta)
            return None
        return self._take_piece(kind, mapping(delta.get("message")), count(payload.get("index")) or 0)

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:
        """The answer so far. `closed`: its end was seen; `cut_body`: it is one JSON body that ends too early."""
        evidence = self._evidence
        broke_off = evidence.broke_off(closed=closed or self.ended, cut_body=cut_body)
        read = self._calls.read(cut=broke_off or evidence.at_cap or evidence.reasons.saw_cut)
        calls = [call for call, _ in read]
        if evidence.at_cap and (broke_off or has_cut_call(calls)):
            evidence.reasons.sign("usage", NormalizedStopReason.MAX_TOKENS)
        thoughts = [text for text in (self._said("thinking"), "".join(self._plan)) if text]
        parts = Parts(self._said("text"), "\n\n".join(thoughts), "", calls)
        response = evidence.settle(parts, broke_off=broke_off)
        billed = {"billed_units": dict(self._billed)} if self._billed and is_plain_json(self._billed) else None
        return replace(response, quota_metadata=billed, echo=echoable(response, self._echo(calls)))

    def _take_body(self, body: Mapping[str, Any]) -> Delta | None:
        self._evidence.response_id = self._evidence.response_id or string(body.get("id"))
        self._take_end(body)
        message = mapping(body.get("message"))
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else sequence(content)
        for index, part in enumerate(parts):
            self._take_content(mapping(part), index)
        self._plan.append(string(message.get("tool_plan")))
        for call in sequence(message.get("tool_calls")):
            self._calls.take_whole(mapping(call))
        return None

    def _take_end(self, end: Mapping[str, Any]) -> None:
        """The reason, the usage and the error, as they stand in a body and in the last event."""
        reason, usage = end.get("finish_reason"), mapping(end.get("usage"))
        if isinstance(reason, str):
            self._evidence.reasons.label("finish_reason", string(reason), normalize(reason))
        self._evidence.usage = _usage(usage) or self._evidence.usage
        self._billed = mapping(usage.get("billed_units")) or self._billed
        error = find_error(end)
        if error is not None:
            self._evidence.take_error(error_inside(error))

    def _take_piece(self, kind: str, message: Mapping[str, Any], index: int) -> Delta | None:
        """What an event in the middle adds: text, thoughts, the plan before the calls, a piece of a call."""
        if kind.startswith("content-"):
            return self._take_content(mapping(message.get("content")), index)
        if kind == "tool-plan-delta":
            plan = string(message.get("tool_plan"))
            self._plan.append(plan)
            return Delta(reasoning=plan) if plan else None
        calls = message.get("tool_calls")
        call = mapping(next(iter(calls), None) if isinstance(calls, list) else calls)
        if not kind.startswith("tool-call-") or not call:
            return None
        name, arguments = self._calls.take_piece({**call, "index": index})
        return Delta(tool_name=name, tool_arguments=arguments) if name or arguments else None

    def _take_content(self, part: Mapping[str, Any], index: int) -> Delta | None:
        for kind in ("text", "thinking"):
            text = string(part.get(kind))
            if text:
                self._content.setdefault((index, kind), []).append(text)
                return Delta(text) if kind == "text" else Delta(reasoning=text)
        return None

    def _said(self, kind: str) -> str:
        return "".join(piece for (_, seen), pieces in self._content.items() if seen == kind for piece in pieces)

    def _echo(self, calls: list[ToolCall]) -> dict[str, Any] | None:
        """The message with the plan or the thoughts that led to its calls; None where text and calls suffice."""
        plan, thought = "".join(self._plan), self._said("thinking")
        if not calls or not (plan or thought):
            return None
        message: dict[str, Any] = {"role": "assistant"}
        if plan:
            message["tool_plan"] = plan
        if self._content:
            parts = [{"type": kind, kind: "".join(pieces)} for (_, kind), pieces in self._content.items()]
            message["content"] = parts
        return {**message, "tool_calls": [encode_call(call) for call in calls]}


def _is_body(payload: Mapping[str, Any]) -> bool:
    """Whether this is a whole answer, or as much of one as tells it from another vendor's."""
    if "finish_reason" in payload and isinstance(payload.get("message"), dict):
        return True
    is_assistant = mapping(payload.get("message")).get("role") == "assistant"
    return payload.keys() <= _BODY_KEYS and (is_assistant or isinstance(payload.get("finish_reason"), str))


def _usage(usage: Mapping[str, Any]) -> TokenUsage | None:
    """All tokens, as the cap and the context window count them; the billed ones leave out what was cached."""
    for counted in (mapping(usage.get("tokens")), mapping(usage.get("billed_units"))):
        taken, given = count(counted.get("input_tokens")), count(counted.get("output_tokens"))
        if taken is not None or given is not None:
            return TokenUsage(taken or 0, given or 0, 0, count(usage.get("cached_tokens")) or 0)
    return None
