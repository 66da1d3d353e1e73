"""The verdict of a stored turn, as this version of the core says it.

The row keeps the sentence of the version that wrote it, and is sealed with it. What an earlier version claimed may be
more than the recording shows, so it is said anew where it is told.
"""

from django.core.cache import cache

from agentcore import VERSION
from agentcore.errors import CoreError
from agentcore.verdict import verdict
from dashboard.platform.fields import storable_text
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn
from dashboard.turns.shared_values import UNREADABLE

KEPT_SECONDS = 24 * 3600


def verdict_now(turn: Turn) -> str:
    """The sentence of an ended turn; empty while it runs."""
    stored: str = turn.verdict
    if not stored or turn.core_version == VERSION:
        return stored
    key = f"verdict:{turn.id}:{turn.last_seq}:{VERSION}"
    said: str | None = cache.get(key)
    if said is None:
        said = _said_anew(turn)
        cache.set(key, said, KEPT_SECONDS)
    return said


def _said_anew(turn: Turn) -> str:
    """The stored sentence stays where the history does not say how the turn ended: it was given up, or is not sound."""
    stored: str = turn.verdict
    try:
        snapshot = position_of(turn).snapshot
    except (CoreError, *UNREADABLE):
        return stored
    return storable_text(verdict(snapshot)) or stored
