"""From the parts of one answer and the sightings of its reason to a `ChatResponse`, the same for every dialect."""

import json
from typing import Any, NamedTuple

from agentcore.argument_validation import optional
from agentcore.errors import ProviderError
from agentcore.messages import CallIssue, ChatResponse, TokenUsage, ToolCall
from agentcore.providers.wire.error_kinds import BROKE_OFF, no_answer
from agentcore.providers.wire.reason_tracker import ReasonTracker, SettledReason
from agentcore.reasons import NormalizedStopReason
from agentcore.values import replace

_UNKNOWN = NormalizedStopReason.UNKNOWN
# Under these an answer should hold something.
_EXPECT_OUTPUT = frozenset({NormalizedStopReason.END_TURN, NormalizedStopReason.MAX_TOKENS})
# Under these nothing says why there is no answer where one belongs.
_SILENT = frozenset({NormalizedStopReason.END_TURN, NormalizedStopReason.UNKNOWN})


class Parts(NamedTuple):
    """What an answer consists of, read to its end. `calls`: the client-side ones, whole and broken, in order."""

    text: str
    reasoning: str
    refusal: str
    calls: list[ToolCall]


class Evidence:
    """What one answer says of itself beside its parts: reasons, an error, its usage, its names.

    `cap` is the output limit that was asked for, where known: evidence for truncation.
    """

    def __init__(self, provider: str, cap: int | None) -> None:
        optional(cap, int, "max_tokens")
        self.provider = provider
        self.cap = cap
        self.reasons = ReasonTracker()
        self.usage: TokenUsage | None = None
        self.error: ProviderError | None = None
        self.model = self.response_id = ""
        self._empty: ProviderError | None = None

    @property
    def at_cap(self) -> bool:
        """Whether the answer used all the tokens it was given."""
        return bool(self.cap and self.usage and self.usage.is_at(self.cap))

    @property
    def under_cap(self) -> bool:
        """Whether tokens were left when the answer ended."""
        return bool(self.cap and self.usage and self.usage.output_tokens < self.cap)

    def miss(self, what: str) -> None:
        """Nothing that could be the answer came, not even an empty one; `what` should have. That is an error, unless
        something else tells why."""
        self._empty = no_answer(what)

    def take_error(self, found: ProviderError, word: str = "error") -> None:
        """Adds an error of the answer; the first one tells most. `word`: what the answer calls it."""
        self.error = self.error or found
        raw = (found.code if found.stop_reason else None) or word
        self.reasons.error("error", raw, found.stop_reason or _UNKNOWN)

    def broke_off(self, *, closed: bool, cut_body: bool) -> bool:
        """Whether the answer ends before its end; a cut body is then a sighting too."""
        if cut_body:
            self.reasons.break_off("body")
        return cut_body or not (closed or self.reasons.has_word or self.error)

    def settle(self, parts: Parts, *, broke_off: bool) -> ChatResponse:
        """The response, without what only a dialect knows (its echo, its resume token)."""
        if parts.refusal:
            self.reasons.sign("refusal", NormalizedStopReason.SAFETY_BLOCKED)
        reason = self.reasons.settle(has_calls=bool(parts.calls))
        # Any other word, a cut's or an unknown one, tells why nothing came.
        unexplained = reason.stop_reason is NormalizedStopReason.END_TURN or not reason.raw
        missing = self._empty if unexplained and not broke_off and reason.stop_reason in _SILENT else None
        error = self.error or missing or (BROKE_OFF if broke_off and reason.stop_reason is _UNKNOWN else None)
        says_something = bool(parts.text.strip() or parts.calls or parts.refusal)
        silent = not (says_something or error) and _expects_output(reason)
        return ChatResponse(
            text=parts.text,
            tool_calls=tuple([call for call in parts.calls if call.issue is None]),
            broken_tool_calls=tuple([call for call in parts.calls if call.issue is not None]),
            usage=self.usage,
            reasoning_content=parts.reasoning,
            stop_reason=_UNKNOWN if missing else reason.stop_reason,
            raw_stop_reason=reason.raw,
            reason_trail=self.reasons.trail,
            refusal=parts.refusal or None,
            diagnostics=("empty_output",) * silent + ("relabelled",) * reason.relabelled,
            provider=self.provider,
            model=self.model,
            response_id=self.response_id or None,
            incomplete_stream=broke_off,
            error=error,
        )


def has_cut_call(calls: list[ToolCall]) -> bool:
    """Whether a call among them was cut short."""
    return any(call.issue is CallIssue.TRUNCATED for call in calls)


def with_malformed_call(calls: list[ToolCall], said: str = "") -> list[ToolCall]:
    """The calls of an answer whose provider says that one was written badly, without saying which.

    Where none of them is broken the last one is taken to be it; one that was not passed on has no name, and `said` (the
    provider's words about it) as its raw text.
    """
    if any(call.issue for call in calls):
        return calls
    last = calls[-1] if calls else ToolCall("call_0", "", raw=said)
    return [*calls[:-1], ToolCall(last.id, last.name, {}, last.raw, CallIssue.MALFORMED, shown_whole=False)]


def without_word_for_calls(response: ChatResponse) -> ChatResponse:
    """For dialects that have no word for a tool call: that calls turn a natural end into one overrides no label."""
    if response.stop_reason is not NormalizedStopReason.TOOL_CALL:
        return response
    return replace(response, diagnostics=tuple(word for word in response.diagnostics if word != "relabelled"))


def _expects_output(reason: SettledReason) -> bool:
    """Whether silence is worth a word: the answer ended as one that says something, or without a reason at all."""
    return reason.stop_reason in _EXPECT_OUTPUT or not reason.raw


def echoable(response: ChatResponse, echo: Any) -> Any:
    """The echo, unless the answer is one that is never sent back: cut off, or with a call that must not run; and unless
    it is no JSON as others read it, for which the answer is told anew in the dialect's plain form."""
    if echo is None or response.broken_tool_calls or response.incomplete_stream:
        return None
    return echo if is_plain_json(echo) else None


def is_plain_json(value: Any) -> bool:
    """Whether it is JSON as others read it too: no lone surrogates, no infinities, no bottomless nesting."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return True
