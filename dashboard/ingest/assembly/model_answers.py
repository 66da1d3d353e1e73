"""Converts a traced call into the answer event given to the machine. What the trace lacks is marked, never made up."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentcore.messages import CallIssue, ChatResponse, ReasonSighting, ToolCall
from agentcore.providers.wire.stop_reasons import normalize
from agentcore.providers.wire.tool_calls import read_arguments
from agentcore.reasons import MALFORMED_CALL_WORDS, NormalizedStopReason
from agentcore.values import replace
from dashboard.ingest.conventions.observations import AskedCall, ModelCall, StopReasonSighting
from dashboard.ingest.conventions.tables import dialect_of

NO_TEXT = "[The answer's text was not recorded.]"
UNNAMED = "not_in_the_trace"  #: the tool of a call of which the trace holds only that there was one

_END, _CALL = NormalizedStopReason.END_TURN, NormalizedStopReason.TOOL_CALL
_CUT = frozenset({NormalizedStopReason.MAX_TOKENS, NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED})
_UNKNOWN = NormalizedStopReason.UNKNOWN
AUTOGEN_CALLS = "function_calls"  #: AutoGen's word for any answer with tool calls, also where it was cut
UNFINISHED = "incomplete"  #: the status of an answer of the Responses API, which LiteLLM writes without the reason
_PRIORITY = 10  #: of a word, as of one in an answer's final object


@dataclass(frozen=True, slots=True)
class AnswerReason:
    """Why an answer ended, and the word that says so; None where no word is told."""

    normalized: NormalizedStopReason
    raw: str | None


def meaning_of(word: str) -> NormalizedStopReason:
    """What a word means. The AI SDK writes hyphens where others write underscores; AutoGen has a word of its own."""
    return _CALL if word == AUTOGEN_CALLS else normalize(word.replace("-", "_"))


def reason_of(call: ModelCall) -> AnswerReason:
    """The first word that means something, else the first word; calls beside a natural end are what it ended for.
    A refusal is one without any word too."""
    chosen: StopReasonSighting | None = next(
        (word for word in call.words if meaning_of(word.raw) is not _UNKNOWN), None
    )
    chosen = chosen or next(iter(call.words), None)
    found = _UNKNOWN if chosen is None else meaning_of(chosen.raw)
    if call.content.refusal and (found is _END or chosen is None):
        found = NormalizedStopReason.SAFETY_BLOCKED
    if found is _END and call.content.calls:
        found = _CALL
    return AnswerReason(found, None if chosen is None else chosen.raw)


def answer_of(call: ModelCall) -> ChatResponse:
    """The answer. Text that is not in the trace has a sentence in its place, where the machine would else take the
    answer for empty; and a tool call without a name has one."""
    if call.exchange is not None and call.exchange.answer is not None:
        return call.exchange.answer
    reason, content = reason_of(call), call.content
    calls = tuple(_calls(call, reason))
    silent = reason.normalized in {_END, _UNKNOWN} and call.error is None
    text = content.text or ""
    is_told = content.answered or used_nothing(call, reason.normalized)
    if (not is_told and silent) or lacks_its_end(call, reason.normalized) or lost_with_its_reason(call):
        text = NO_TEXT
    is_empty = is_told and silent and not (text.strip() or calls or content.refusal)
    return ChatResponse(
        text=text,
        tool_calls=tuple(one for one in calls if one.issue is None),
        broken_tool_calls=tuple(one for one in calls if one.issue is not None),
        usage=call.usage,
        reasoning_content=content.reasoning,
        stop_reason=reason.normalized,
        raw_stop_reason=reason.raw,
        reason_trail=tuple(ReasonSighting(w.source, w.raw, meaning_of(w.raw), _PRIORITY) for w in call.words),
        refusal=content.refusal,
        diagnostics=("empty_output",) if is_empty else (),
        provider=dialect_of(call.provider),
        model=call.model,
        response_id=call.response_id or None,
    )


def lacks_its_end(call: ModelCall, reason: NormalizedStopReason) -> bool:
    """Whether an answer was cut, and the trace holds nothing of it: neither its content, nor, where there is some, any
    text, thought or call. Instrumentations lose cut tool calls so."""
    content = call.content
    if reason not in _CUT or call.error is not None:
        return False
    is_blank = not (content.text or content.calls or content.reasoning)
    return not content.answered or (is_blank and bool(content.tools or call.usage is None or used_unseen(call)))


def used_nothing(call: ModelCall, reason: NormalizedStopReason) -> bool:
    """Whether an answer came to its natural end without any token: it is empty, and the AI SDK writes no text then.
    Where the input has no tokens either, nothing was counted."""
    usage = call.usage
    return reason is _END and usage is not None and usage.input_tokens > 0 and usage.output_tokens == 0


def lost_with_its_reason(call: ModelCall) -> bool:
    """Whether the trace has neither an answer nor a stop reason, but tokens that the answer used: it was not empty.
    Without such tokens the answer is as empty as it is shown."""
    return is_blank_without_reason(call) and used_unseen(call) > 0


def is_blank_without_reason(call: ModelCall) -> bool:
    """Whether nothing but the place of an answer is in the trace: no text, no tool call, no refusal and no reason."""
    content = call.content
    is_blank = content.answered and not ((content.text or "").strip() or content.calls or content.refusal)
    return is_blank and not call.words and call.error is None


def used_unseen(call: ModelCall) -> int:
    """Output tokens beside those of thoughts, which are counted where nobody sees them."""
    return 0 if call.usage is None else max(0, call.usage.output_tokens - call.usage.reasoning_tokens)


def _calls(call: ModelCall, reason: AnswerReason) -> Iterator[ToolCall]:
    asked = call.content.calls
    if reason.normalized is _CALL and not asked:
        is_bad = any(word.raw.casefold() in MALFORMED_CALL_WORDS for word in call.words)
        issue = CallIssue.MALFORMED if is_bad else None
        yield ToolCall(f"call_{call.span.id}", UNNAMED, issue=issue, shown_whole=not is_bad)
        return
    at_cap = call.usage is not None and call.max_tokens is not None and call.usage.is_at(call.max_tokens)
    is_cut = reason.normalized in _CUT
    at_cap = at_cap or reason.raw == UNFINISHED
    for place, one in enumerate(asked or ()):
        named = one if one.id else replace(one, id=f"call_{call.span.id}_{place}")  # some dialects give calls no ids
        yield _call(named, is_cut=is_cut, at_cap=at_cap, is_last=place == len(asked or ()) - 1)


def _call(asked: AskedCall, *, is_cut: bool, at_cap: bool, is_last: bool) -> ToolCall:
    """`at_cap`: the answer used all its tokens, or is said to be unfinished; which shows that arguments without an end
    were cut, and no more."""
    arguments, issue = read_arguments(asked.raw, cut=is_cut)
    if issue is CallIssue.MALFORMED and at_cap and is_last:
        _, issue = read_arguments(asked.raw, cut=True)
    if is_cut and is_last and asked.may_hide_a_cut and not arguments:
        issue = CallIssue.TRUNCATED  # an empty object in place of what was cut
    shown = issue is None and not (asked.is_object and is_last)
    given = {} if issue is not None else arguments
    return ToolCall(asked.id, asked.name, given, asked.raw, issue, shown_whole=shown)
