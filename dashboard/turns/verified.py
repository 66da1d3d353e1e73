"""Whether an ended turn's history replays true, judged once and then remembered.

In the memory of the process: criteria of one's own are code, and code changes with a restart.
"""

from django.core.cache import cache

from agentcore import VERSION
from agentcore.replay import Recording, verify
from dashboard.turns.models import Record, Turn

KEPT_SECONDS = 24 * 3600


def is_verified(turn: Turn, recording: Recording) -> bool:
    """The answer for a history as long as this one, by this version of the core."""
    known: bool | None = cache.get(_key(turn))
    if known is None:
        known = verify(recording).verified
        cache.set(_key(turn), known, KEPT_SECONDS)
    return known


def cores(turn: Turn) -> str:
    """Which core judged a history and which one verifies it, in a sentence; empty where they are the same."""
    said = Record.objects.filter(turn_id=turn.id).order_by("core_version").values_list("core_version", flat=True)
    judged = [version for version in said.distinct() if version != VERSION]
    return f"Judged by core {', '.join(judged)}, verified by core {VERSION}." if judged else ""


def forget(turn: Turn) -> None:
    """Judge it again next time."""
    cache.delete(_key(turn))


def _key(turn: Turn) -> str:
    return f"verified:{turn.id}:{turn.last_seq}:{VERSION}"
