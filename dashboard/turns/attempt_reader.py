"""Reads the attempts of one turn, from what was read ahead for a list where it was."""

from collections.abc import Collection
from uuid import UUID

from dashboard.turns.models import Attempt
from dashboard.turns.read_ahead import read_ahead

#: Large columns that nobody asks of the attempts of many turns.
UNREAD = ("raw", "raw_text", "response_headers")


def attempts_read(turn_id: UUID, *columns: str) -> list[Attempt]:
    """All attempts of a turn, in order. `columns`: what is asked of them."""
    known = read_ahead().attempts.get(turn_id)
    if known is not None:
        return known
    return list(Attempt.objects.filter(turn_id=turn_id).order_by("index").only("turn_id", "index", *columns))


def first_attempt(turn_id: UUID, *columns: str) -> Attempt | None:
    """The first call of a turn; None before it is made. `columns`: what is asked of it."""
    known = read_ahead().attempts.get(turn_id)
    if known is not None:
        return known[0] if known else None
    return Attempt.objects.filter(turn_id=turn_id).order_by("index").only("turn_id", "index", *columns).first()


def attempts_of_all(turns: Collection[UUID]) -> dict[UUID, list[Attempt]]:
    """Those of each of these turns, in order, by one statement."""
    found: dict[UUID, list[Attempt]] = {turn_id: [] for turn_id in turns}
    for attempt in (
        Attempt.objects.filter(turn_id__in=found).order_by("turn_id", "index").defer(*UNREAD) if found else ()
    ):
        found[attempt.turn_id].append(attempt)
    return found
