"""Writes around a running turn: start, cancel, hold, release, approve, breakpoints.

Its history is written by its driver alone.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from agentcore import serial
from agentcore.reasons import StopReason, TurnStatus
from agentcore.snapshot import Snapshot
from dashboard.agents.breakpoints import breakpoints_clean, require_room
from dashboard.live.approval_expiry import approvals_expire
from dashboard.live.jobs import defer_drive
from dashboard.live.models import Signal
from dashboard.live.operator_control import TurnConflict, turn_cancel, turn_control
from dashboard.live.operator_view import breakpoints_of
from dashboard.live.signal_inbox import signals_settle
from dashboard.live.turn_overrides import OVERRIDES, overrides_clean
from dashboard.live.turn_startup import MAX_INPUT_CHARS, settings_of, setup_of, turn_queue, turn_start
from dashboard.platform.fields import storable_text
from dashboard.turns.history import position_of, snapshot_at
from dashboard.turns.models import UNFINISHED, Turn

__all__ = [
    "MAX_INPUT_CHARS",
    "OVERRIDES",
    "TurnConflict",
    "approvals_expire",
    "breakpoint_add",
    "breakpoint_drop",
    "breakpoints_clear",
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
BREAKPOINT_GONE = "This breakpoint no longer exists. Reload the page."


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


@transaction.atomic
def breakpoint_add(*, turn: Turn, by: str, given: Mapping[str, Any]) -> None:
    """One breakpoint more. Raises `ValidationError` where it could never match or there are too many, and
    `TurnConflict`.

    The driver is told all breakpoints that are to count, in place of those there are. So this, and dropping one, change
    what was asked for last, whether the driver has seen that yet or not, under the lock of the turn's row: no change
    undoes another unseen.
    """
    added = breakpoints_clean([given], tools=turn.agent.tools if turn.agent else ())
    known = _counting(turn)
    require_room(len(known) + len(added))
    _count(turn, by, [*known, *added])


@transaction.atomic
def breakpoint_drop(*, turn: Turn, by: str, number: int, seen: int | None) -> None:
    """One breakpoint less: `number`, from 0, among those that record `seen` left.

    Raises `TurnConflict` where it has gone.
    """
    known = _counting(turn)
    shown = known if seen is None else _kept(turn, snapshot_at(turn, seen))
    if not 0 <= number < len(shown) or shown[number] not in known:
        raise TurnConflict(BREAKPOINT_GONE)
    place = known.index(shown[number])
    _count(turn, by, [*known[:place], *known[place + 1 :]])


def breakpoints_clear(*, turn: Turn, by: str) -> None:
    """No breakpoint any more."""
    _count(turn, by, [])


def _count(turn: Turn, by: str, breakpoints: list[dict[str, Any]]) -> None:
    turn_control(turn=turn, by=by, action="change", breakpoints=breakpoints)


def _counting(turn: Turn) -> list[dict[str, Any]]:
    """Those asked for last, which its driver has not seen yet, else those that its last record left. Locks the turn."""
    now = Turn.objects.select_for_update().get(id=turn.id)
    waiting = Signal.objects.filter(turn_id=turn.id, handled_at=None, payload__has_key="breakpoints")
    asked = waiting.order_by("-id").first()
    return _kept(now, position_of(now).snapshot) if asked is None else list(asked.payload["breakpoints"])


def _kept(turn: Turn, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Those of a snapshot, as histories keep them."""
    return [serial.to_json(stop) for stop in breakpoints_of(turn, snapshot)]
