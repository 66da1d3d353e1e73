"""One answer of the Responses API, gathered from its events or its whole body by the same rules."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentcore.messages import ChatResponse, Delta, TokenUsage, ToolCall
from agentcore.providers.openai_responses.items import (
    Item,
    client_calls,
    is_function,
    is_unfinished,
    read_parts,
    was_cut,
)
from agentcore.providers.openai_responses.stream import OutputCollector
from agentcore.providers.wire.error_objects import ErrorObject, error_inside, find_error
from agentcore.providers.wire.response_assembly import Evidence, echoable, has_cut_call, without_word_for_calls
from agentcore.providers.wire.stop_reasons import normalize
from agentcore.providers.wire.untrusted_json import count, mapping, string
from agentcore.reasons import NormalizedStopReason

_TERMINALS = frozenset({"completed", "incomplete", "failed", "cancelled"})
_VAGUE_ENDS = frozenset({"", "completed"})
# What some servers say over an answer that was cut, whatever happened.
_NATURAL = frozenset({NormalizedStopReason.END_TURN, NormalizedStopReason.TOOL_CALL})


class ResponsesAnswer:
    """Collects one answer. `max_tokens` is the cap that was asked for, where known: evidence for truncation."""

    noun = "answer of the Responses API"

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        self._evidence = Evidence(provider, max_tokens)
        self._output = OutputCollector()
        self.ended = False
        self._incomplete = False

    def is_dialect(self, payload: Mapping[str, Any]) -> bool:
        """Whether an object can be an event, an answer or an error of this dialect."""
        kind = string(payload.get("type"))
        return (
            payload.get("object") == "response"
            or kind.startswith("response.")
            or kind == "error"
            or (isinstance(payload.get("output"), list) and "status" in payload)
            or find_error(payload) is not None
        )

    def take(self, payload: Mapping[str, Any], *, whole: bool) -> Delta | None:
        """Adds an event, or a complete body; returns what is new of it to show."""
        kind = string(payload.get("type"))
        if kind.startswith("response."):
            return self._take_event(kind.removeprefix("response."), payload)
        if kind == "error" and find_error(payload) is None:
            self._take_error(payload)
        elif whole or "output" in payload:
            return self._take_response(payload, "")
        elif (error := find_error(payload)) is not None:
            self._take_error(error)
        return None

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:
        """The answer so far. `closed`: its end was seen; `cut_body`: it is one JSON body that ends too early."""
        evidence, items = self._evidence, self._output.items()
        if not items:
            evidence.miss("output items")
        broke_off = evidence.broke_off(closed=closed or self.ended, cut_body=cut_body)
        winner = evidence.reasons.winner()
        natural = winner is not None and winner.normalized in _NATURAL
        vague = winner is None or winner.normalized is NormalizedStopReason.UNKNOWN
        cut = broke_off or evidence.at_cap or evidence.reasons.saw_cut or self._incomplete
        parts = read_parts(items, cut=cut)
        if natural and was_cut(items):
            evidence.reasons.sign("output.status", NormalizedStopReason.MAX_TOKENS)
        if (natural or vague) and evidence.at_cap and not _ends_whole(parts.calls):
            evidence.reasons.sign("usage", NormalizedStopReason.MAX_TOKENS)
        response = without_word_for_calls(evidence.settle(parts, broke_off=broke_off))
        return replace(response, echo=echoable(response, _echo(items, response)))

    def _take_event(self, kind: str, event: Mapping[str, Any]) -> Delta | None:
        if "response" in event:
            ends = kind in _TERMINALS
            self.ended = self.ended or ends
            return self._take_response(mapping(event.get("response")), kind if ends else None)
        return self._output.take(event)

    def _take_response(self, payload: Mapping[str, Any], event: str | None) -> Delta | None:
        """A whole response object. `event`: the word of a stream's last event, "" for a body; None: more will come."""
        evidence = self._evidence
        evidence.response_id = evidence.response_id or string(payload.get("id"))
        evidence.model = evidence.model or string(payload.get("model"))
        evidence.usage = _usage(mapping(payload.get("usage"))) or evidence.usage
        evidence.cap = evidence.cap or count(payload.get("max_output_tokens"))
        if event is None:
            return None
        self._take_status(payload, event)
        return self._output.finish(payload.get("output"))

    def _take_status(self, payload: Mapping[str, Any], event: str) -> None:
        reasons, status = self._evidence.reasons, payload.get("status")
        # A last event that says less than "completed" is not outdone by a status that some gateways always write.
        label = string(status) if isinstance(status, str) and event in _VAGUE_ENDS else event
        if label or isinstance(status, str):
            reasons.label("status", label, normalize(label))
        detail = mapping(payload.get("incomplete_details")).get("reason")
        if isinstance(detail, str):
            reasons.label("incomplete_details.reason", string(detail), normalize(detail))
        self._incomplete = label.strip().lower() == "incomplete" or isinstance(detail, str)
        error = find_error(payload)
        if error is not None or label.strip().lower() == "failed":
            self._take_error(error or {}, label or "error")

    def _take_error(self, error: ErrorObject, word: str = "error") -> None:
        self._evidence.take_error(error_inside(error), word)


def _ends_whole(calls: list[ToolCall]) -> bool:
    """Whether the answer ends in calls that were written to their end."""
    return bool(calls) and not has_cut_call(calls)


def _usage(usage: Mapping[str, Any]) -> TokenUsage | None:
    taken, given = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if taken is None and given is None:
        return None
    spent = mapping(usage.get("output_tokens_details"))
    reasoning = None if spent.get("reported") is False else count(spent.get("reasoning_tokens"))
    cached = count(mapping(usage.get("input_tokens_details")).get("cached_tokens"))
    return TokenUsage(taken or 0, given or 0, reasoning or 0, cached or 0, no_reasoning=reasoning == 0 or None)


def _echo(items: list[Item], response: ChatResponse) -> list[Item] | None:
    """The items as they are to come back; None where text and calls suffice.

    Thoughts that led to nothing stay out: the API refuses a reasoning item without the item that followed it.
    """
    kept = [item for item in items if item.get("type") != "reasoning" or not is_unfinished(item)]
    while kept and kept[-1].get("type") == "reasoning":
        kept.pop()
    plain = all(is_function(item) or (item.get("type") == "message" and not item.get("phase")) for item in kept)
    if not kept or (plain and not _has_extras(kept)):
        return None
    ids = iter(response.tool_calls)
    waiting = {id(item) for item in client_calls(kept)}
    return [_identified(item, next(ids, None)) if id(item) in waiting else item for item in kept]


def _has_extras(items: list[Item]) -> bool:
    """Whether a call carries more than its name and arguments, such as the namespace it was found in."""
    return any(item.get("namespace") for item in items)


def _identified(item: Item, call: ToolCall | None) -> Item:
    if call is None or item.get("call_id") or not is_function(item):
        return item
    return {**item, "call_id": call.id}
