"""How long turns were held by or for an operator: part of their duration, counted by no limit."""

from collections.abc import Iterable
from uuid import UUID

from dashboard.turns.models import Record, Turn

Place = tuple[UUID, int]  #: a turn and the number of one of its records


def held_ms_of(turns: Iterable[Turn]) -> dict[UUID, int]:
    """Milliseconds by turn, of those that were held; by one query, and one more where any was."""
    asked = Record.objects.filter(turn_id__in=[turn.id for turn in turns], command__type="hold")
    holds = list(asked.values_list("turn_id", "seq"))
    at = _moments(holds) if holds else {}
    held: dict[UUID, float] = {}
    for turn_id, seq in holds:
        since = at[turn_id, seq]
        held[turn_id] = held.get(turn_id, 0.0) + max(0.0, at.get((turn_id, seq + 1), since) - since)
    return {turn_id: round(1000 * seconds) for turn_id, seconds in held.items()}


def _moments(holds: Iterable[Place]) -> dict[Place, float]:
    """When these records and those after them were, in seconds since their turn started."""
    turns, numbers = ({*each} for each in zip(*holds, strict=True))
    numbers |= {seq + 1 for seq in numbers}
    found = Record.objects.filter(turn_id__in=turns, seq__in=numbers).only("turn_id", "seq", "event", "packed")
    return {(record.turn_id, record.seq): record.event["at"] for record in found}
