"""Writes around a running turn: start, cancel, hold, release, approve. Its history is written by its driver alone."""

from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from agentcore.reasons import StopReason, TurnStatus
from dashboard.live.approval_expiry import approvals_expire
from dashboard.live.jobs import defer_drive
from dashboard.live.operator_control import TurnConflict, turn_cancel, turn_control
from dashboard.live.signal_inbox import signals_settle
from dashboard.live.turn_overrides import OVERRIDES, overrides_clean
from dashboard.live.turn_startup import MAX_INPUT_CHARS, settings_of, setup_of, turn_queue, turn_start
from dashboard.platform.fields import storable_text
from dashboard.turns.models import UNFINISHED, Turn

__all__ = [
    "MAX_INPUT_CHARS",
    "OVERRIDES",
    "TurnConflict",
    "approvals_expire",
    "orphans_requeue",
    "overrides_clean",
    "settings_of",
    "setup_of",
    "turn_cancel",
    "turn_control",
    "turn_give_up",
    "turn_queue",
    "turn_start",
]

ORPHAN_SECONDS = 5


@transaction.atomic
def turn_give_up(*, turn_id: UUID, why: str) -> None:
    """Mark a turn that cannot go on. Its history stays as it is, and what had been said is kept."""
    unfinished = Turn.objects.filter(id=turn_id, status__in=UNFINISHED)
    given_up = unfinished.update(
        status=TurnStatus.INTERRUPTED.value,
        stop_reason=StopReason.ERROR.value,
        terminal_reason="interrupted",
        error_code="interrupted",
        error_message=storable_text(why),
        notice="This turn was interrupted and could not continue; the text so far is kept.",
        verdict=f"Interrupted: {storable_text(why)}",
    )
    if given_up:
        signals_settle(turn_id, timezone.now())


def orphans_requeue() -> int:
    """Queue turns that should be running and have no job at all. Returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(ORPHANS, [f"{ORPHAN_SECONDS} seconds"])
        orphans = [row[0] for row in cursor.fetchall()]
    for turn_id in orphans:
        defer_drive(turn_id)
    return len(orphans)


#: Turns queued or running for a while, whose job is neither waiting nor being done; who waits in line has none, nor has
#: one that a process runs itself.
ORPHANS = """
    SELECT turn.id FROM turns_turn turn
     WHERE turn.status IN ('queued', 'running')
       AND turn.created_at < now() - %s::interval
       AND NOT EXISTS (
             SELECT 1 FROM procrastinate_jobs job
              WHERE job.lock = turn.id::text AND job.status IN ('todo', 'doing'))
       AND NOT EXISTS (SELECT 1 FROM live_ownedturn owned WHERE owned.turn_id = turn.id)
       AND NOT EXISTS (
             SELECT 1 FROM turns_turn before
              WHERE before.conversation_id = turn.conversation_id AND before.position < turn.position
                AND before.status IN ('queued', 'running', 'held'))
     LIMIT 100
"""
