"""The suggestions that this process told lately, by turn.

New answers of the agent change a likely value within seconds, also between the request that was told it and the re-run
that tries it: that re-run tests what was told. Another web process does not know it.
"""

import time
from collections import deque
from uuid import UUID

from dashboard.policies.suggestions.suggestion import Number, Suggestion

LATELY = 3600.0  #: seconds
OF_A_TURN = 16
MOST_TURNS = 5_000

_told: dict[UUID, deque[tuple[float, Suggestion]]] = {}


def remember(turn_id: UUID, said: Suggestion) -> None:
    """A value to begin with claims nothing, and is not kept."""
    if not said.known:
        return
    if turn_id not in _told and len(_told) >= MOST_TURNS:
        _told.clear()
    held = _told.setdefault(turn_id, deque(maxlen=OF_A_TURN))
    if held and held[0][1] == said:
        held.popleft()
    held.appendleft((time.monotonic(), said))


def forget_in_vain(turn_id: UUID, limit: str, tried: Number) -> None:
    """Forget values of the limit that a re-run has shown to be too small."""
    kept = [one for one in tuple(_told.get(turn_id, ())) if one[1].limit != limit or one[1].value > tried]
    if turn_id in _told:
        _told[turn_id] = deque(kept, maxlen=OF_A_TURN)


def told_lately(turn_id: UUID) -> tuple[Suggestion, ...]:
    """The newest first."""
    since = time.monotonic() - LATELY
    return tuple(said for at, said in tuple(_told.get(turn_id, ())) if at >= since)
