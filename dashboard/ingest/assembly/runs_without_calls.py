"""Agents' runs of whose calls the trace has none: some instrumentations of agent frameworks leave the calls to that of
the model's client, which may not be there."""

from collections.abc import Iterable, Iterator

from dashboard.ingest.assembly.span_tree import SpanTree
from dashboard.ingest.conventions.observations import ModelCall
from dashboard.ingest.conventions.span_reader import run_as_call


def runs_without_calls(calls: Iterable[ModelCall], places: SpanTree) -> Iterator[ModelCall]:
    """Each run as one call. An agent with another within is not asked: the inner one tells more.

    A run that names neither a model nor token counts is one where it failed, or where the trace has no other call: an
    agent beside calls may be a person, or a program that decides."""
    calls = list(calls)
    within = [*(span for call in calls for span in call.spans)]
    within += [span for span, loop in places.loops.items() if loop.is_agent]
    filled = {above for span in within for above in places.above(span)}
    for span, loop in sorted(places.loops.items()):
        run = run_as_call(loop) if span not in filled else None
        if run is not None and (run.model or run.usage or loop.failure is not None or not calls):
            yield run
