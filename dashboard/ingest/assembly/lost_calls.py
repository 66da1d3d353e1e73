"""Tool calls, or their ids, that an answer's own span lacks, and the next request or the tools' own spans hold: some
instrumentations lose them, or record no content."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from agentcore.messages import Message, Role
from agentcore.reasons import NormalizedStopReason
from dashboard.ingest.assembly.call_links import SLACK
from dashboard.ingest.assembly.model_answers import meaning_of
from dashboard.ingest.conventions.observations import AskedCall, ModelCall, ToolRun

_ENDS = frozenset({NormalizedStopReason.END_TURN, NormalizedStopReason.TOOL_CALL})
_CUT = frozenset({NormalizedStopReason.MAX_TOKENS, NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED})


def with_calls_from(call: ModelCall, after: ModelCall) -> ModelCall:
    """`call` with the tool calls that `after` sends back as its answer, where the trace has none of them itself."""
    is_told = call.error is not None or call.exchange is not None
    message = None if is_told else _answer_in(call, after)
    if message is not None and call.content.calls:
        return _with_ids(call, message)
    if message is None or any(meaning_of(word.raw) in _CUT for word in call.words):
        return call
    told = call.content
    text = message.text if told.text is None else told.text
    asked = tuple(AskedCall(one.id, one.name, one.raw, is_object=True) for one in message.tool_calls)
    return replace(call, content=replace(told, text=text, calls=asked), calls_from_next=True)


def with_calls_run(call: ModelCall, after: ModelCall, ran: Sequence[ToolRun]) -> ModelCall:
    """`call` with the tools that its loop ran before it called the model again, where nothing of its answer is told.

    What the model asked for is then known by name alone. A loop that runs a tool was asked to: some providers' word for
    that is the one for a natural end. `ran`: by when they began."""
    content = call.content
    is_told = call.error is not None or call.exchange is not None or content.answered or not call.words
    if is_told or any(meaning_of(word.raw) not in _ENDS for word in call.words):
        return call
    first = bisect_left(ran, call.span.end - SLACK, key=_began)
    begun = ran[first : bisect_right(ran, after.span.start + SLACK, key=_began)]
    between = [one for one in begun if one.span.end <= after.span.start + SLACK]
    if not between:
        return call
    asked = tuple(AskedCall(one.call_id, one.name, "", is_object=True) for one in between)
    return replace(call, content=replace(content, calls=asked), calls_from_tools=True)


def _began(run: ToolRun) -> int:
    return run.span.start


def _with_ids(call: ModelCall, message: Message) -> ModelCall:
    """LiteLLM tells calls without their ids, by which their results are found."""
    asked, sent = call.content.calls or (), message.tool_calls
    if any(one.id for one in asked) or [one.name for one in asked] != [one.name for one in sent]:
        return call
    named = tuple(replace(one, id=same.id) for one, same in zip(asked, sent, strict=True))
    return replace(call, content=replace(call.content, calls=named))


def _answer_in(call: ModelCall, after: ModelCall) -> Message | None:
    """The message after the whole of this call's conversation, if it has the same text, tool calls, and results."""
    asked, sent = call.content.input, after.content.input
    if call.model != after.model or not asked or not sent or len(sent) < len(asked) + 2 or sent[: len(asked)] != asked:
        return None
    message, result = sent[len(asked)], sent[len(asked) + 1]
    if not message.tool_calls or message.role is not Role.ASSISTANT or result.role is not Role.TOOL:
        return None
    is_same = call.content.text is None or call.content.text.strip() == message.text.strip()
    return message if is_same else None
