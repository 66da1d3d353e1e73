"""One trace → its turns with their histories."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from agentcore.policy import Policy
from agentcore.values import quickly_made, replace
from dashboard.ingest.assembly.call_dedup import as_one
from dashboard.ingest.assembly.histories import Breaches, BuiltHistory, history_of
from dashboard.ingest.assembly.implied_policy import implied
from dashboard.ingest.assembly.notes import Note, notes_of
from dashboard.ingest.assembly.runs_without_calls import runs_without_calls
from dashboard.ingest.assembly.span_tree import span_tree_of
from dashboard.ingest.assembly.tool_call_spans import with_tool_call_spans
from dashboard.ingest.assembly.tool_run_ids import with_call_ids
from dashboard.ingest.assembly.tools_within import with_tools_within
from dashboard.ingest.assembly.turn_grouping import TurnCalls, joined
from dashboard.ingest.conventions.observations import Loop, ModelCall, Seen, ToolRun

_MILLISECOND = 10**6


@quickly_made
@dataclass(frozen=True, slots=True)
class TraceTurn:
    """A turn of a trace. `place`: of its calls in the trace's; `root`: the trace's first turn, of whose run it is."""

    id: UUID
    history: BuiltHistory
    notes: tuple[Note, ...]
    root: UUID
    follows: UUID | None


def turns_of(
    trace: str, seen: Iterable[Seen], parents: Mapping[str, str], base: Policy, breaches: Breaches, unread: int = 0
) -> list[TraceTurn]:
    """The turns of what was seen of a trace.

    `trace`: the name that tells it from all others; `parents`: the parent of each of its spans that has arrived;
    `unread`: how many of its spans could not be read."""
    told = with_tool_call_spans(seen, parents)
    places = span_tree_of(parents, (one for one in told if isinstance(one, Loop)))
    tools = [one for one in told if isinstance(one, ToolRun)]
    calls = as_one((one for one in told if isinstance(one, ModelCall)), places)
    tools = with_call_ids(tools, calls, places)
    calls = with_tools_within([*calls, *runs_without_calls(calls, places)], tools, places)
    runs = {one.call_id: one for one in tools if one.call_id}
    made: list[TraceTurn] = []
    for history, turn_id in _histories(trace, joined(calls, places, tools), runs, base, breaches):
        root, before = (made[0].id, made[-1].id) if made else (turn_id, None)
        made.append(TraceTurn(turn_id, history, tuple(notes_of(history.turn, unread)), root, before))
    return made


def _histories(
    trace: str, turns: Iterator[TurnCalls], runs: Mapping[str, ToolRun], base: Policy, breaches: Breaches
) -> Iterator[tuple[BuiltHistory, UUID]]:
    """Calls that the machine did not take, for it had ended before them, begin a turn of their own."""
    for turn in turns:
        rest: TurnCalls | None = turn
        while rest is not None:
            turn_id = id_of(trace, rest)
            history = history_of(rest, implied(rest, base), runs, str(turn_id), breaches)
            taken, left = rest.steps[: history.used], rest.steps[history.used :]
            if left:
                part = TurnCalls(taken, rest.loop)
                history = history_of(part, implied(part, base), runs, str(turn_id), breaches)
            yield history, turn_id
            rest = replace(rest, steps=left) if left else None


def id_of(trace: str, turn: TurnCalls) -> UUID:
    """A UUIDv7 of the moment the turn began; the rest is made of its trace and its first span, so that it stays."""
    span = turn.steps[0].call.span
    milliseconds = span.start // _MILLISECOND & (1 << 48) - 1
    digest = int.from_bytes(hashlib.sha256(f"{trace}/{span.id}".encode()).digest()[:10], "big")
    low = digest & (1 << 62) - 1
    return UUID(int=milliseconds << 80 | 7 << 76 | (digest >> 62 & 0xFFF) << 64 | 2 << 62 | low)
