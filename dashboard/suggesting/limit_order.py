"""Turns in the order of the limit that would have sufficed: by its key, then by its value."""

import time
from collections.abc import Iterable, Mapping
from uuid import UUID

from agentcore.errors import CoreError
from agentcore.reasons import NormalizedStopReason, TurnStatus
from dashboard.suggesting.limit_usage import usage_lately
from dashboard.suggesting.selectors import suggestion_for
from dashboard.turns.models import Turn
from dashboard.turns.shared_values import UNREADABLE

REMEMBERED = 60.0  #: seconds: a list that is kept up to date asks for the same turns again and again
MOST_REMEMBERED = 5_000

_remembered: dict[tuple[UUID, int], tuple[float, str | None]] = {}


def may_need_a_limit(turn: Turn) -> bool:
    """By its row alone: it was continued, or ended before it was complete, and no refusal ended it."""
    if turn.status == TurnStatus.COMPLETED:
        return turn.continuations > 0
    ended_short = turn.status in (TurnStatus.PARTIAL, TurnStatus.FAILED, TurnStatus.ABORTED)
    return ended_short and turn.terminal_reason != NormalizedStopReason.SAFETY_BLOCKED


def limit_orders(turns: Iterable[Turn]) -> Mapping[UUID, str | None]:
    """By turn; None where no limit is missing, or none is known. The history of each turn is read."""
    return {turn.id: _order(turn) if may_need_a_limit(turn) else None for turn in turns}


def _order(turn: Turn) -> str | None:
    key, now = (turn.id, turn.last_seq), time.monotonic()
    known = _remembered.get(key)
    if known is None or now - known[0] > REMEMBERED:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        known = _remembered[key] = (now, _found(turn))
    return known[1]


def _found(turn: Turn) -> str | None:
    try:
        said = suggestion_for(turn, usage=usage_lately)
    except (CoreError, *UNREADABLE):  # its history was changed, or another version of the core wrote it
        return None
    return f"{said.limit} {said.value:020.3f}" if said and said.known else None
