"""The table of what callers are told: each end of a turn as an OpenAI `finish_reason` or an error. Pure.

| the model stopped                              | the client is told                                    |
|------------------------------------------------|-------------------------------------------------------|
| `end_turn`                                     | `stop`                                                |
| `tool_call`, with whole calls                  | `tool_calls`; `function_call` if `functions` was sent |
| `max_tokens`, `context_window_exceeded`        | `length`                                              |
| for a reason we do not know, or gave none      | `length`                                              |
| anything that interrupts an answer, with text  | `length`                                              |
| `safety_blocked`                               | `content_filter`, the content withheld                |
| any of these but the first two, without a word | an error                                              |

`paused` is none of them: it is resumed, in both modes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from agentcore.commands import Finish
from agentcore.errors import ProviderError
from agentcore.messages import ChatResponse, ToolCall
from agentcore.policy import RecoveryPath
from agentcore.reasons import NormalizedStopReason as Reason
from agentcore.reasons import TurnStatus
from agentcore.snapshot import Snapshot
from agentcore.values import quickly_made, replace
from agentcore.verdict import verdict
from dashboard.gateway.wire.faults import INVALID, Fault
from dashboard.gateway.wire.signatures import beside_calls

STOP, LENGTH, TOOL_CALLS, FUNCTION_CALL, FILTERED = "stop", "length", "tool_calls", "function_call", "content_filter"
#: The client's own retries would be turned away again, or paid for again: we have tried what may be tried.
_NO_RETRY = (("x-should-retry", "false"),)
_UPSTREAM = "upstream_error"
_EMPTY_AT_CAP = (
    "Could not finish the message because max_tokens or model output limit was reached. "
    "Please try again with higher max_tokens."
)


@quickly_made
@dataclass(frozen=True, slots=True)
class FinishedAnswer:
    """What the client is told: the text (None where there is none), the refusal's words, calls, and why it ended."""

    finish_reason: str
    text: str | None = None
    refusal: str | None = None
    calls: tuple[ToolCall, ...] = ()
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  #: their other fields, by their ids


#: What is left of an answer after such an error, where nothing had arrived.
_CUT_BY_ERROR = ChatResponse(stop_reason=Reason.MAX_TOKENS)


def finished_answer(snapshot: Snapshot, *, observed: bool = False, legacy: bool = False) -> FinishedAnswer | Fault:
    """What the client of a turn that has ended is told.

    `observed`: the turn was only watched, so the model's last answer is told as it is. `legacy`: by `function_call`.
    """
    assert snapshot.end is not None, "asked once the turn has ended"
    ended = (
        _as_answered(snapshot, snapshot.end)
        if observed and _has_answered(snapshot)
        else _as_judged(snapshot, snapshot.end)
    )
    if isinstance(ended, Fault) or not ended.calls:
        return ended
    if legacy:
        return FinishedAnswer(FUNCTION_CALL, ended.text, ended.refusal, ended.calls[:1])
    return replace(ended, beside=beside_calls(ended.calls, snapshot.response))


def _has_answered(snapshot: Snapshot) -> bool:
    """Whether the model answered: an error that says an answer was cut is none, where nothing of it came."""
    response = snapshot.response
    return response is not None and (response.raw_stop_reason is not None or response != _CUT_BY_ERROR)


def _as_answered(snapshot: Snapshot, end: Finish) -> FinishedAnswer | Fault:
    """The model's last answer, with what came before it in this turn (a pause)."""
    response = snapshot.response
    assert response is not None, "there is an answer to tell"
    broken = (call for call in response.broken_tool_calls if call.name)
    calls = (*(end.calls or response.tool_calls), *broken)
    text = snapshot.output_text or response.text
    if _blocked(snapshot):
        return FinishedAnswer(FILTERED, None, response.refusal)
    if response.stop_reason in (Reason.MAX_TOKENS, Reason.CONTEXT_WINDOW_EXCEEDED):
        return FinishedAnswer(LENGTH, text, None, calls)
    if calls and response.stop_reason is Reason.TOOL_CALL:
        return FinishedAnswer(TOOL_CALLS, text or None, None, calls)
    if response.stop_reason is Reason.END_TURN:
        return FinishedAnswer(STOP, text)
    return _as_judged(snapshot, end)


def _as_judged(snapshot: Snapshot, end: Finish) -> FinishedAnswer | Fault:
    """What the machine made of it."""
    if end.calls:
        return FinishedAnswer(TOOL_CALLS, end.output_text or None, None, end.calls)
    unknown = snapshot.response is not None and snapshot.response.stop_reason is Reason.UNKNOWN
    if end.status is TurnStatus.COMPLETED:
        return FinishedAnswer(LENGTH if unknown else STOP, _envelope(snapshot, end) or end.output_text)
    if end.terminal_reason == "empty_output" and snapshot.response and not unknown:
        return FinishedAnswer(STOP, "")  # by the provider's own word; without one, nothing at all was said
    if _blocked(snapshot):
        return FinishedAnswer(FILTERED, None, snapshot.response.refusal if snapshot.response else None)
    text = _text(snapshot, end)
    return FinishedAnswer(LENGTH, text) if text.strip() else _fault(snapshot, end)


def _envelope(snapshot: Snapshot, end: Finish) -> str:
    """A structured answer that was found inside other words, without those; empty where the text is the answer."""
    found = snapshot.reading.payload if snapshot.reading else None
    aside = found is not None and found.path is not RecoveryPath.DIRECT and end.envelope is not None
    return json.dumps(end.envelope, ensure_ascii=False) if aside else ""


def _blocked(snapshot: Snapshot) -> bool:
    """Whether the provider blocked or refused, in an answer or by an error."""
    response, failure = snapshot.response, snapshot.failure
    error = failure.provider if failure else response.error if response else None
    by_error = error is not None and error.stop_reason is Reason.SAFETY_BLOCKED
    return by_error or (failure is None and response is not None and response.stop_reason is Reason.SAFETY_BLOCKED)


def _text(snapshot: Snapshot, end: Finish) -> str:
    """The answer as far as it came; of a structured one that was cut, its last try."""
    if end.error_code == "envelope_truncation_unrecoverable" and snapshot.response is not None:
        return snapshot.response.text
    return "" if end.error_code == "envelope_invalid" else end.output_text


def _fault(snapshot: Snapshot, end: Finish) -> Fault:
    """Why there is no answer."""
    failure, response = snapshot.failure, snapshot.response
    error = failure.provider if failure else response.error if response else None
    if error is not None:
        return fault_of(error)
    if end.terminal_reason == "context_window_exceeded":
        return Fault(400, end.notice, code="context_length_exceeded", param="messages", headers=_NO_RETRY)
    if end.terminal_reason in ("tool_repair_failed", "broken_tool_call"):
        return _upstream("The model's tool call was broken, so it is not handed out.", "tool_repair_failed")
    if snapshot.model_stop_reason == Reason.MAX_TOKENS and end.error_code is None:
        return Fault(400, _EMPTY_AT_CAP, code="max_tokens_reached", param="max_tokens", headers=_NO_RETRY)
    message = end.error_message or end.notice or f"The turn ended without an answer: {end.terminal_reason}."
    return _upstream(message, end.error_code or end.terminal_reason)


def _upstream(message: str, code: str, status: int = 502) -> Fault:
    return Fault(status, message, _UPSTREAM, code, headers=_NO_RETRY)


#: Kinds of a provider's errors that are told with another status than the provider's own.
_STATUS: Mapping[str, int] = {
    "auth": 502,  # our key is not the client's
    "quota": 429,
    "rate_limit": 429,
    "overloaded": 503,
    "unavailable": 503,
    "timeout": 504,
    "context_length": 400,
    "too_large": 413,
    "invalid_request": 400,
    "not_found": 404,
    "max_tokens": 400,
}
_CODES: Mapping[str, str] = {
    "auth": "upstream_auth",
    "quota": "insufficient_quota",
    "rate_limit": "rate_limit_exceeded",
    "context_length": "context_length_exceeded",
    "not_found": "model_not_found",
}
#: What is said of our own keys, and where they may not go, is for who runs the gateway; the turn keeps it.
_INSTEAD: Mapping[str, str] = {
    "auth": "The provider did not accept the gateway's own key; the turn has its message.",
    "redirect": "The provider's address has moved; the turn has where to.",
}
_TYPES: Mapping[int, str] = {400: INVALID, 404: INVALID, 413: INVALID, 422: INVALID, 429: "rate_limit_error"}


def fault_of(error: ProviderError) -> Fault:
    """A provider's error as the client is told it: whose fault it is decides the status."""
    status = _STATUS.get(error.kind, 422 if error.status == 422 else 502)
    code = _CODES.get(error.kind) or error.code or error.kind
    message = _INSTEAD.get(error.kind, error.message)
    kind = code if code == "insufficient_quota" else _TYPES.get(status, _UPSTREAM)
    return Fault(status, message, kind, code, headers=_retry_headers(error))


def verdict_told(snapshot: Snapshot) -> str:
    """The verdict as a client may read it."""
    kind = snapshot.failure.provider.kind if snapshot.failure and snapshot.failure.provider else ""
    return f"Failed: {_INSTEAD[kind]}" if kind in _INSTEAD else verdict(snapshot)


def _retry_headers(error: ProviderError) -> tuple[tuple[str, str], ...]:
    """When the provider says to come back; where nothing can heal, not to try."""
    if error.retry_after is not None:
        return (("retry-after", str(ceil(max(0.0, error.retry_after)))),)
    return () if error.retryable else _NO_RETRY


def source_of(response: ChatResponse | None) -> str:
    """Where the reason stood that decided: the weightiest sighting; without one, the machine itself."""
    trail = response.reason_trail if response else ()
    return max(trail, key=lambda sighting: sighting.priority).source if trail else "machine"
