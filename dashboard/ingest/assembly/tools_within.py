"""Tools that ran within the span of a call: it holds a whole loop of requests, as that of Google's client does, which
runs functions by itself."""

from collections.abc import Iterable, Sequence

from agentcore.reasons import NormalizedStopReason
from agentcore.values import replace
from dashboard.ingest.assembly.model_answers import meaning_of
from dashboard.ingest.assembly.span_tree import SpanTree
from dashboard.ingest.conventions.observations import ModelCall, ToolRun


def with_tools_within(calls: Iterable[ModelCall], tools: Sequence[ToolRun], places: SpanTree) -> list[ModelCall]:
    """The calls, each with the names of the tools that ran within its span."""
    whole = list(calls)
    call_of = {span: place for place, call in enumerate(whole) for span in call.spans}
    ran: dict[int, list[str]] = {}
    for tool in sorted(tools, key=lambda tool: (tool.span.start, tool.span.id)):
        around = next((call_of[span] for span in places.above(tool.span.id) if span in call_of), None)
        if around is not None and tool.span.end <= whole[around].span.end:
            ran.setdefault(around, []).append(tool.name)
    return [_with(call, ran[place]) if place in ran else call for place, call in enumerate(whole)]


def _with(call: ModelCall, ran: Sequence[str]) -> ModelCall:
    """What its last request ended with is no call where its word is a natural end: those calls were answered within."""
    is_end = any(meaning_of(word.raw) is NormalizedStopReason.END_TURN for word in call.words[-1:])
    content = replace(call.content, calls=()) if is_end and call.content.calls else call.content
    return replace(call, content=content, ran_within=tuple(ran))
