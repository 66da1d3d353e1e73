"""Which of two accounts of one episode is kept: the fuller one, in whatever order and by whatever process they come.

A session may stand in several files: a copy from before it went on, or one that another session was resumed from.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.conventions.observations import ModelCall
from dashboard.ingest.logs.values import Episode, digest_of

#: To raise where readers find more in the same lines: what they read then replaces what was read before.
READERS = 1

#: Numbers and texts, compared from the left; empty: of an episode that is only ever told in one way.
Extent = tuple[Any, ...]


def extent_of(episode: Episode, turns: Sequence[TraceTurn] = ()) -> Extent:
    """How much is told: calls, until when, how much they say, whether the turn before is there; else always the same
    one of two. `turns`: what the episode came to."""
    if episode.is_settled:
        return ()
    calls = [one for one in episode.seen if isinstance(one, ModelCall)]
    first = turns[0] if turns else None
    follows, root = (str(first.follows or ""), str(first.root)) if first is not None else ("", "")
    until = max((call.span.end for call in calls), default=0)
    told = READERS, len(calls), until, sum(map(_said, calls)), int(bool(follows))
    return *told, digest_of(repr(episode.seen)), root, follows


def _said(call: ModelCall) -> int:
    """Characters, and facts that a call may lack while it is under way."""
    content = call.content
    told = len(content.text or "") + len(content.reasoning) + sum(len(asked.raw) for asked in content.calls or ())
    return told + len(call.words) + (call.usage is not None)


def by_trace(portion: Iterable[Episode]) -> dict[UUID, Episode]:
    """The fullest account of each episode."""
    found: dict[UUID, Episode] = {}
    for one in portion:
        trace = UUID(one.key)
        if trace not in found or extent_of(one) > extent_of(found[trace]):
            found[trace] = one
    return found


def fuller(extents: Mapping[UUID, Extent], known: Mapping[UUID, Extent]) -> set[UUID]:
    """Those of which more is told now than is known."""
    return {trace for trace, extent in extents.items() if extent >= known.get(trace, ())}
