"""Turns in the order of the limit that would have sufficed: by its key, then by its value."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from agentcore.reasons import NormalizedStopReason, TurnStatus
from dashboard.policies.suggestions.remembered_suggestions import suggestion_lately
from dashboard.turns.models import Turn


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
    said = suggestion_lately(turn)
    return f"{said.limit} {said.value:020.3f}" if said and said.known else None
