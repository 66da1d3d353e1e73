"""The suggestions of turns as the API shows them, wherever it shows a turn."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from agentcore.errors import CoreError
from dashboard.policies.suggestions.list_suggestions import suggestions_of
from dashboard.policies.suggestions.need_by_row import may_need_a_limit
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.policies.suggestions.suggestion_json import told
from dashboard.policies.suggestions.suggestion_log import tell_all
from dashboard.turns.models import Turn
from dashboard.turns.shared_values import UNREADABLE

TOGETHER = 50  #: turns whose histories are read at once: a page of the timeline


def suggestions_shown(turns: Collection[Turn]) -> Mapping[UUID, dict[str, Any] | None]:
    """By turn, of those that may need a limit; None where none would have helped, or the history cannot be read."""
    asked = [turn for turn in turns if may_need_a_limit(turn)]
    found = _of_list(asked) if len(asked) > 1 else {turn.id: _alone(turn) for turn in asked}
    tell_all((turn, found.get(turn.id)) for turn in asked)
    return {turn_id: told(said) if said else None for turn_id, said in found.items()}


def known_limit_shown(turn: Turn) -> dict[str, Any] | None:
    """The value that the turn's page names, beside a what-if that does not tell how the turn ends; None without one."""
    said = _alone(turn) if may_need_a_limit(turn) else None
    return told(said) if said is not None and said.sufficient else None


def _of_list(turns: Sequence[Turn]) -> dict[UUID, Suggestion | None]:
    """The histories of `TOGETHER` turns are in memory at once."""
    found = dict[UUID, Suggestion | None]()
    for first in range(0, len(turns), TOGETHER):
        found |= suggestions_of(turns[first : first + TOGETHER])
    return found


def _alone(turn: Turn) -> Suggestion | None:
    """As the turn's page finds it, however long that takes."""
    try:
        return suggestion_for(turn)
    except (CoreError, *UNREADABLE):
        return None
