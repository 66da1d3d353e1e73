"""Approvals nobody gave in time: what is to happen then is asked for in the name of the time limit."""

import structlog
from django.db import connection, transaction

from agentcore.events import APPROVAL_TIME_LIMIT, Otherwise
from agentcore.snapshot import Snapshot
from dashboard.live.operator_control import TurnConflict, turn_cancel, turn_control
from dashboard.live.signals import approval_expired
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn

log = structlog.get_logger(__name__)

ACTIONS = {Otherwise.REFUSE: "refuse", Otherwise.RUN: "release"}
HAPPENED = {
    Otherwise.REFUSE: "They were refused.",
    Otherwise.RUN: "They ran without approval.",
    Otherwise.CANCEL: "The turn was cancelled.",
}


def approvals_expire() -> int:
    """Act for each turn whose approval's time is over. Returns how many; a person who was faster is left alone."""
    with connection.cursor() as cursor:
        cursor.execute(OVERDUE)
        overdue = dict(cursor.fetchall())
    turns = Turn.objects.in_bulk(overdue)
    return sum(_expire_one(turns[turn_id], seq) for turn_id, seq in overdue.items() if turn_id in turns)


def _expire_one(turn: Turn, seq: int) -> bool:
    try:
        return _expire(turn, seq)
    except TurnConflict:
        pass
    except Exception:
        # One that cannot be read keeps no other from what was said to happen.
        log.exception("approval_not_expired", turn=str(turn.id))
    return False


def _expire(turn: Turn, seq: int) -> bool:
    snapshot = position_of(turn).snapshot
    approvals = snapshot.setup.approvals if snapshot.setup else None
    if approvals is None or not snapshot.approving:
        return False
    with transaction.atomic():
        if approvals.otherwise is Otherwise.CANCEL:
            turn_cancel(turn=turn, by=APPROVAL_TIME_LIMIT, expected_seq=seq)
        else:
            turn_control(turn=turn, by=APPROVAL_TIME_LIMIT, action=ACTIONS[approvals.otherwise], expected_seq=seq)
        approval_expired.send(sender=Turn, turn=turn, told=_told(snapshot, approvals.otherwise))
    return True


def _told(snapshot: Snapshot, otherwise: Otherwise) -> str:
    """What happened because nobody decided in time."""
    calls = " and ".join(snapshot.approving)
    return f"The approval time limit of the calls of {calls} has expired. {HAPPENED[otherwise]}"


#: Held turns whose last command names a deadline that is over, and that nobody has done anything to since.
OVERDUE = """
    SELECT turn.id, turn.last_seq
      FROM turns_turn turn
      JOIN turns_record record ON record.turn_id = turn.id AND record.seq = turn.last_seq
     WHERE turn.status = 'held'
       AND turn.started_at + (record.command->>'deadline')::float * interval '1 second' <= now()
       AND NOT EXISTS (
             SELECT 1 FROM live_signal signal WHERE signal.turn_id = turn.id AND signal.handled_at IS NULL)
     ORDER BY turn.started_at + (record.command->>'deadline')::float * interval '1 second', turn.id
     LIMIT 100
"""
