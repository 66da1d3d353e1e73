"""Turns that a process ran itself, for a caller who waited, and that process is gone: they end, as lost.

Nobody waits for them any more, so nobody goes on with them. What had arrived of the call in flight is kept, decoded
from its bytes, and the end is a record as any other: it verifies.
"""

from datetime import UTC, datetime
from uuid import UUID

import structlog
from django.db import connection, transaction

from agentcore.events import Interrupted
from agentcore.machine.advance import advance
from agentcore.states import TERMINAL
from dashboard.agents.schema_validation.judge_overload import JudgesBusy
from dashboard.live.model_call import milliseconds_between
from dashboard.live.models import OwnedTurn, Process
from dashboard.live.signal_inbox import signals_settle
from dashboard.live.turn_loader import abandoned_call
from dashboard.turns.evidence import answer_columns
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn
from dashboard.turns.recorder import CallEnd, LateArrivalError, StepRows, record_step

log = structlog.get_logger(__name__)

GONE_SECONDS = 5.0  #: without a heartbeat, after which a process's turns are lost
BATCH = 100
WHY = "The process that served this call is gone."

#: Who was not heard of, though the database was there to hear it.
_LEAVE = """
    DELETE FROM live_process
     WHERE greatest(seen_at, pg_postmaster_start_time()) < clock_timestamp() - %s * interval '1 second'
"""
_LOST = """
    SELECT turn_id FROM live_ownedturn owned
     WHERE NOT EXISTS (SELECT 1 FROM live_process process WHERE process.id = owned.process_id)
     ORDER BY turn_id LIMIT %s
"""


def lost_turns_end() -> int:
    """End the turns of processes that are gone; returns how many. Any process may, at any time."""
    with connection.cursor() as cursor:
        cursor.execute(_LEAVE, [GONE_SECONDS])
        cursor.execute(_LOST, [BATCH])
        lost = [turn_id for (turn_id,) in cursor.fetchall()]
    return sum(_end_one(turn_id) for turn_id in lost)


def _end_one(turn_id: UUID) -> bool:
    try:
        return _end(turn_id)
    except LateArrivalError as error:
        log.info("lost_turn_not_ended_yet", turn=str(turn_id), why=str(error))
    except JudgesBusy as busy:
        log.info("lost_turn_not_ended_yet", turn=str(turn_id), why=str(busy))
    except Exception:
        # One that cannot be ended keeps no other from it.
        log.exception("lost_turn_not_ended", turn=str(turn_id))
    return False


def _end(turn_id: UUID) -> bool:
    """Whoever holds the row is the turn's owner: a process that was only asleep finds it gone, and writes nothing.

    What had arrived is read before the row is held, for that may take seconds, and a process that was only asleep
    writes its turns in groups: a row that it waits for keeps back all of them.
    """
    turn = Turn.objects.select_related("agent").filter(id=turn_id).first()
    end = None if turn is None else _end_of(turn)
    with transaction.atomic():
        owned = OwnedTurn.objects.select_for_update(skip_locked=True).filter(turn_id=turn_id).first()
        if owned is None or Process.objects.filter(id=owned.process_id).exists():
            return False
        if end is not None:
            record_step(end)
            signals_settle(turn_id, end.at)
            log.info("lost_turn_ended", turn=str(turn_id))
        owned.delete()
    return True


def _end_of(turn: Turn) -> StepRows | None:
    """The record that ends a turn; None where it has ended. Storing it fails where the turn went on meanwhile."""
    standing, now = position_of(turn), datetime.now(UTC)
    if standing.snapshot.state in TERMINAL:
        return None
    call, ended = abandoned_call(turn, standing.snapshot.spent.attempts), None
    if call is not None:
        columns = answer_columns(call.partial) if call.partial else {}
        columns["error"] = {"type": "model", "kind": "interrupted", "message": WHY}
        last = standing.snapshot.spent.attempts
        ended = CallEnd(last, milliseconds_between(call.started_at, now), None, columns, call.pieces)
    started = standing.started_at or now
    at = max(standing.snapshot.at, (now - started).total_seconds())
    event = Interrupted(at, call.partial if call else None, lost=WHY)
    step = advance(standing.snapshot, event, standing.policy)
    return StepRows(turn.id, standing.seq + 1, now, started, event, step, ended)
