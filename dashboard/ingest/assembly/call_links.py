"""Whether a call continues the one before it, and how. Only what the trace shows joins two calls into one turn."""

from enum import StrEnum

from agentcore.messages import ChatResponse, Role
from agentcore.reasons import NormalizedStopReason
from dashboard.ingest.conventions.observations import ModelCall
from dashboard.ingest.conventions.tables import dialect_of

SLACK = 1_000_000  #: nanoseconds


class CallLink(StrEnum):
    """How a call continues the one before it."""

    TOOLS = "tools"  #: with the results of the tools
    REPAIR = "repair"  #: a broken call was asked for again
    CONTINUATION = "continuation"  #: the rest of a cut answer was asked for
    RETRY = "retry"  #: the same again after an error


def call_link_of(before: ModelCall, answer: ChatResponse, after: ModelCall, *, in_loop: bool) -> CallLink | None:
    """How `after` goes on from `before`, whose answer this is; None: it begins a turn of its own."""
    if _is_of_another_model(before, after):
        return None
    if after.span.start + SLACK < before.span.end and not _brings_these(answer, after):
        return None  # a span may end late, but no call brings results of calls that were not made yet
    if before.error is not None:
        return CallLink.RETRY if _asks_the_same(before, after, in_loop=in_loop) else None
    if answer.broken_tool_calls or (answer.tool_calls and answer.stop_reason is NormalizedStopReason.MAX_TOKENS):
        return CallLink.REPAIR if in_loop else None
    if answer.tool_calls:
        return CallLink.TOOLS if _brings_results(answer, after) else None
    is_cut = answer.stop_reason in {NormalizedStopReason.MAX_TOKENS, NormalizedStopReason.PAUSED}
    return CallLink.CONTINUATION if is_cut and _holds_the_text(answer, after) else None


def _is_of_another_model(before: ModelCall, after: ModelCall) -> bool:
    return before.model != after.model or dialect_of(before.provider) != dialect_of(after.provider)


def _asks_the_same(before: ModelCall, after: ModelCall, *, in_loop: bool) -> bool:
    known = before.content.input is not None and after.content.input is not None
    return before.content.input == after.content.input if known else in_loop


def _brings_results(answer: ChatResponse, after: ModelCall) -> bool:
    """Whether its conversation holds what these calls came to; where it is not in the trace, its place must do."""
    sent = after.content.input
    if sent is None:
        return True
    named = {call.id for message in sent for call in message.tool_calls if call.id}
    return (
        _brings_these(answer, after)
        or _sends_back(answer, after)
        or (any(message.role is Role.TOOL for message in sent) and not named)
    )


def _brings_these(answer: ChatResponse, after: ModelCall) -> bool:
    """Whether its conversation names these calls, or their results."""
    asked = {call.id for call in answer.tool_calls if call.id}
    sent = after.content.input or ()
    named = {call.id for message in sent for call in message.tool_calls}
    results = {message.tool_call_id for message in sent if message.role is Role.TOOL}
    return not asked.isdisjoint(named | results)


def _sends_back(answer: ChatResponse, after: ModelCall) -> bool:
    """Whether its conversation holds this answer with other ids, and what its calls came to: Google's Agent Development
    Kit gives the calls of a stream ids of its own, and sends them without."""
    sent = after.content.input or ()
    at = max((place for place, message in enumerate(sent) if message.role is Role.ASSISTANT), default=None)
    if at is None or sent[at].text.strip() != answer.text.strip() or at + 1 == len(sent):
        return False
    asked = [(call.name, call.arguments) for call in answer.tool_calls]
    is_same = asked == [(call.name, call.arguments) for call in sent[at].tool_calls]
    return is_same and all(message.role is Role.TOOL for message in sent[at + 1 :])


def _holds_the_text(answer: ChatResponse, after: ModelCall) -> bool:
    """Whether the cut text is the last that was said by the model in its conversation."""
    said = [message.text for message in after.content.input or () if message.role is Role.ASSISTANT]
    text = answer.text.strip()
    return bool(text and said) and said[-1].strip().endswith(text)
