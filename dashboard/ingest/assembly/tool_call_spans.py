"""Tool calls that stand in spans of their own, as AgentOps' and those of Mastra's streams, put into their answers."""

from collections.abc import Iterable, Mapping

from agentcore.values import replace
from dashboard.ingest.assembly.span_tree import SpanTree
from dashboard.ingest.conventions.content.account_merge import merged
from dashboard.ingest.conventions.observations import AskedCall, Content, ModelCall, Seen, ToolCallSpan


def with_tool_call_spans(seen: Iterable[Seen], parents: Mapping[str, str]) -> list[Seen]:
    """What was seen, with each tool call in the answer of the call that its span is within; without that, it is left
    out until the call arrives. Where the call's own span tells more of its calls, they stay as they are."""
    told = list(seen)
    spans = [one for one in told if isinstance(one, ToolCallSpan)]
    if not spans:
        return told
    calls = {one.span.id: one for one in told if isinstance(one, ModelCall)}
    places, asked = SpanTree(parents), dict[str, list[AskedCall]]()
    for one in sorted(spans, key=lambda one: (one.span.start, one.span.id)):
        around = next((at for at in places.above(one.span.id) if at in calls), None)
        if around is not None:
            asked.setdefault(around, []).append(one.call)
    for at, its in asked.items():
        calls[at] = replace(calls[at], content=merged((calls[at].content, Content(calls=tuple(its)))))
    return [calls.get(one.span.id, one) for one in told if not isinstance(one, ToolCallSpan)]
