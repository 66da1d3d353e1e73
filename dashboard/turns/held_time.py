"""How long turns were held by or for an operator: part of their duration, counted by no limit."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from uuid import UUID

from agentcore.replay import Record
from dashboard.turns.models import Turn
from dashboard.turns.record_reader import holds_of, records_of

Place = tuple[UUID, int]  #: a turn and the number of one of its records


def held_ms_of(turns: Iterable[Turn]) -> dict[UUID, int]:
    """Milliseconds by turn, of those that were held; by one query, and one more where any was."""
    holds = holds_of([turn.id for turn in turns])
    at = _moments(holds) if holds else {}
    held: dict[UUID, float] = {}
    for turn_id, seq in holds:
        since = at[turn_id, seq]
        held[turn_id] = held.get(turn_id, 0.0) + max(0.0, at.get((turn_id, seq + 1), since) - since)
    return {turn_id: round(1000 * seconds) for turn_id, seconds in held.items()}


def held_seconds(records: Sequence[Record]) -> float:
    """Of one history, also an imagined one: from each hold to the record after it."""
    pairs = ((one, after) for one, after in pairwise(records) if one.command.get("type") == "hold")
    return sum(max(0.0, after.event.at - one.event.at) for one, after in pairs)


def _moments(holds: Iterable[Place]) -> dict[Place, float]:
    """When these records and those after them were, in seconds since their turn started."""
    turns, numbers = ({*each} for each in zip(*holds, strict=True))
    found = records_of(turns, after=min(numbers) - 1, upto=max(numbers) + 1)
    return {(record.turn_id, record.seq): record.event["at"] for record in found}
