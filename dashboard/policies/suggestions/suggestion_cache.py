"""Suggestions for the turns of a list, remembered in this process by turn and by where its history stood.

To find one reads the turn's history, and a list asks for the same ones again and again.
"""

import time
from uuid import UUID

from agentcore.errors import CoreError
from dashboard.policies.suggestions.limit_usage import TooSlowError, usage_lately, usage_of_none
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.turns.models import Turn
from dashboard.turns.shared_values import UNREADABLE

LATELY = 60.0  #: seconds
MOST_REMEMBERED = 5_000

_suggestions: dict[tuple[UUID, int, bool], tuple[float, Suggestion | None]] = {}


def suggestion_now(turn: Turn, *, alone: bool = False) -> Suggestion | None:
    """The suggestion for a turn, found anew. None also where its history cannot be read: it was changed, or another
    version of the core wrote it; and where to search took too long, which is not remembered. `alone`: by the turn and
    its re-runs; no other turns are searched."""
    try:
        said = suggestion_for(turn, usage=usage_of_none if alone else usage_lately)
    except TooSlowError:
        return None
    except (CoreError, *UNREADABLE):
        said = None
    if len(_suggestions) >= MOST_REMEMBERED:
        _suggestions.clear()
    _suggestions[turn.id, turn.last_seq, alone] = (time.monotonic(), said)
    return said


def suggestion_lately(turn: Turn, *, alone: bool = False) -> Suggestion | None:
    """As `suggestion_now`, at most `LATELY` seconds old."""
    known = remembered(turn, alone=alone)
    return suggestion_now(turn, alone=alone) if known is None else known[0]


def remembered(turn: Turn, *, alone: bool = False) -> tuple[Suggestion | None] | None:
    """What `suggestion_lately` gives without reading anything; None where it has to read."""
    # Taken once: another thread may forget it at any moment.
    known = _suggestions.get((turn.id, turn.last_seq, alone))
    return known[1:] if known is not None and time.monotonic() - known[0] <= LATELY else None


def last_suggestion(turn: Turn) -> Suggestion | None:
    """What was found last, of any age; None where nothing was."""
    return _suggestions.get((turn.id, turn.last_seq, False), (0.0, None))[1]
