"""The tree of a trace's spans, as far as it has arrived."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dashboard.ingest.conventions.observations import Loop

MOST_UP = 200  #: spans above one another; a trace that says more goes in a circle, or is nobody's


@dataclass(frozen=True, slots=True)
class SpanTree:
    """`parents`: the parent of each span that has arrived; `loops`: those that are around calls."""

    parents: Mapping[str, str]
    loops: Mapping[str, Loop] = field(default_factory=dict)

    def above(self, span: str) -> Iterator[str]:
        """The spans above it, nearest first, the last of which may not have arrived."""
        at = self.parents.get(span, "")
        for _ in range(MOST_UP):
            if not at:
                return
            yield at
            at = self.parents.get(at, "")

    def loop_of(self, span: str) -> Loop | None:
        """The agent that it is of; else the outermost chain around it."""
        loops = [self.loops[at] for at in self.above(span) if at in self.loops]
        agent = next((loop for loop in loops if loop.is_agent), None)
        return agent or (loops[-1] if loops else None)


def span_tree_of(parents: Mapping[str, str], loops: Iterable[Loop]) -> SpanTree:
    return SpanTree(parents, {loop.span.id: loop for loop in loops})
