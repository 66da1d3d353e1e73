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
    beside: dict[str, list[int]] = {}
    for place, call in enumerate(whole):
        if call.holds_steps:
            beside.setdefault(call.span.parent, []).append(place)
    ran: dict[int, list[ToolRun]] = {}
    for tool in sorted(tools, key=lambda tool: (tool.span.start, tool.span.id)):
        around = [call_of[span] for span in places.above(tool.span.id) if span in call_of][:1]
        around += [place for place in beside.get(tool.span.parent, ()) if whole[place].span.start <= tool.span.start]
        if around and tool.span.end <= whole[around[0]].span.end:
            ran.setdefault(around[0], []).append(tool)
    return [_with(call, ran[place]) if place in ran else call for place, call in enumerate(whole)]


def _with(call: ModelCall, ran: Sequence[ToolRun]) -> ModelCall:
    """What its last request ended with is no call where its word is a natural end: those calls were answered within.

    Where it is another word, and the tools are those of its answer, its one request had been answered before."""
    meant = [meaning_of(word.raw) for word in call.words[-1:]]
    asked = {one.id for one in call.content.calls or ()}
    is_end = meant == [NormalizedStopReason.END_TURN]
    if not is_end and all(tool.call_id in asked for tool in ran):
        return call
    content = replace(call.content, calls=()) if is_end and call.content.calls else call.content
    return replace(call, content=content, ran_within=tuple(tool.name for tool in ran))
