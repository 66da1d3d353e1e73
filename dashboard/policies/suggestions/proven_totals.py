"""The least value of a total under which every call of a finished re-run would have been the same.

To find it takes about ten what-ifs, and lists ask for the same turns again and again. What a finished history shows
does not change, so it is kept in this process.
"""

from uuid import UUID

from agentcore.replay import Certainty
from dashboard.replay.sweep_service import run_of
from dashboard.turns.models import UNFINISHED, Turn

MOST_KEPT = 5_000

_found: dict[tuple[UUID, int, str, int, int], int] = {}


def least_total(turn: Turn, limit: str, *, fails: int, completes: int) -> int:
    """The smallest value above `fails`, which is too little, and at most `completes`, which the re-run was given.

    Raises `ValidationError` and `TooMuchWork` as the sweep does; then nothing is kept.
    """
    key = (turn.id, turn.last_seq, limit, fails, completes)
    known = _found.get(key)  # taken once: another thread may forget it at any moment
    if known is not None:
        return known
    run = run_of(turn=turn, name=limit, overrides={})
    found = run.between(fails, completes, lambda at: at.completed and at.certainty is Certainty.RECORDED)
    if len(_found) >= MOST_KEPT:
        _found.clear()
    if turn.status not in UNFINISHED:
        _found[key] = found
    return found
