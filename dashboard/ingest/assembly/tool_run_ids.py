"""The ids of calls for tools that ran without one: smolagents' spans of tools have a name and arguments alone."""

from collections import Counter
from collections.abc import Iterable, Sequence

from agentcore.values import replace
from dashboard.ingest.assembly.call_links import SLACK
from dashboard.ingest.assembly.span_tree import SpanTree
from dashboard.ingest.conventions.attributes import read_json
from dashboard.ingest.conventions.observations import ModelCall, ToolRun


def with_call_ids(tools: Sequence[ToolRun], calls: Iterable[ModelCall], places: SpanTree) -> list[ToolRun]:
    """The tools, each with the id of the call that it ran for, where that is certain: in the last answer of its loop
    before it ran, the only call of that tool, or the only one with its arguments."""
    if all(run.call_id for run in tools):
        return list(tools)
    by_loop: dict[str, list[ModelCall]] = {}
    for call in calls:
        by_loop.setdefault(_loop_of(call.span.id, places), []).append(call)
    found = [run.call_id or _id_of(run, by_loop.get(_loop_of(run.span.id, places), ())) for run in tools]
    times = Counter(found)
    return [replace(run, call_id=known) if times[known] == 1 else run for run, known in zip(tools, found, strict=True)]


def _loop_of(span: str, places: SpanTree) -> str:
    loop = places.loop_of(span)
    return loop.span.id if loop is not None else ""


def _id_of(run: ToolRun, calls: Sequence[ModelCall]) -> str:
    before = [call for call in calls if call.span.end <= run.span.start + SLACK]
    last = max(before, key=lambda call: call.span.end, default=None)
    asked = [one for one in (last.content.calls or () if last else ()) if one.name == run.name]
    same = [one for one in asked if len(asked) == 1 or read_json(one.raw) == run.arguments]
    return same[0].id if len(same) == 1 else ""
