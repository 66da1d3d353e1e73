"""Who refused the tool call that ended a turn. The row of such a turn names a tool error; only its history says more.

A refused call becomes an error result, and the error policy may stop the turn because of it. The stored values stay as
they are: `error_type` is `tool`, as after a tool that failed.
"""

from collections.abc import Iterable
from uuid import UUID

from django.core.cache import cache

from agentcore import VERSION
from agentcore.errors import CoreError, ErrorType
from agentcore.events import APPROVAL_TIME_LIMIT
from agentcore.reasons import StopReason
from agentcore.resource import refusal_that_ended
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn
from dashboard.turns.record_reader import acts_of
from dashboard.turns.shared_values import UNREADABLE

KEPT_SECONDS = 24 * 3600


def refused_by(turn: Turn) -> str:
    """The person who refused the call whose error ended the turn; empty for any other turn."""
    if not ended_by_a_tool(turn):
        return ""
    key = f"refused:{turn.id}:{turn.last_seq}:{VERSION}"
    found: str | None = cache.get(key)
    if found is None:
        found = _in_history(turn) if acted_on([turn.id]) else ""
        cache.set(key, found, KEPT_SECONDS)
    return found


def acted_on(turn_ids: Iterable[UUID]) -> set[UUID]:
    """Those of these turns on which a person acted, whatever they did. What it was, only the history tells."""
    return set(acts_of([*turn_ids]).values_list("turn_id", flat=True))


def ended_by_a_tool(turn: Turn) -> bool:
    """Whether the row of a turn names a tool error as what ended it."""
    return turn.error_type == ErrorType.TOOL and turn.stop_reason == StopReason.ERROR and not turn.resource


def _in_history(turn: Turn) -> str:
    try:
        failure = refusal_that_ended(position_of(turn).snapshot)
    except (CoreError, *UNREADABLE):
        return ""
    return "" if failure is None or failure.refused_by == APPROVAL_TIME_LIMIT else failure.refused_by
