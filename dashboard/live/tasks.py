"""The durable job behind every turn. A worker that dies, or stops, leaves its job to another.

Also holds what all turns of one worker process share: connections to providers, the inbox of signals, places in line.
"""

import asyncio
from dataclasses import dataclass, field
from uuid import UUID

import structlog
from django.db import transaction
from procrastinate import JobContext
from procrastinate.contrib.django import app
from structlog.contextvars import bound_contextvars

from dashboard.agents.schema_validation.judge_overload import JudgesBusy
from dashboard.live.driver import Driver
from dashboard.live.jobs import DRIVE, QUEUE, job_is_ours, job_renew
from dashboard.live.services import turn_give_up
from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.slots import Slots
from dashboard.live.transport import Transport
from dashboard.platform.db_threads import in_database, retrying
from dashboard.turns.models import Turn
from dashboard.turns.recorder import LostTurnError


@dataclass(slots=True)
class Engine:
    transport: Transport = field(default_factory=Transport)
    inbox: SignalInbox = field(default_factory=SignalInbox)
    slots: Slots = field(default_factory=Slots)


engine = Engine()


log = structlog.get_logger(__name__)

QUEUES = (QUEUE, "backtests")
MAX_FAILURES = 8  #: of one turn's job, running; to be taken over by another worker is none


@app.task(queue=QUEUE, pass_context=True, name=DRIVE)
async def drive_turn(context: JobContext, turn_id: str, failures: int = 0) -> None:
    """Drive a turn until it has ended or is held. `failures`: how often its driver has failed already."""
    job = context.job.id
    assert job is not None, "a job that runs has an id"
    try:
        # Whatever is logged on the turn's way says which turn it is.
        with bound_contextvars(turn=turn_id):
            await Driver(UUID(turn_id), engine.transport, engine.inbox, slots=engine.slots).drive()
    except (LostTurnError, Turn.DoesNotExist) as error:
        log.info("turn_lost", turn=turn_id, why=str(error))
    except asyncio.CancelledError:
        # The worker stops: whoever works on takes the turn up at once.
        await asyncio.shield(in_database(job_renew, job, queues=QUEUES, queue=QUEUE))
    except (Exception, JudgesBusy) as error:
        log.exception("driver_failed", turn=turn_id, failures=failures + 1)
        await retrying(_failed, job, UUID(turn_id), failures + 1, f"{type(error).__name__}: {error}")


@transaction.atomic
def _failed(job: int, turn_id: UUID, failures: int, why: str) -> None:
    """Another try after a while, or none any more; nothing where another worker has the turn by now."""
    if not job_is_ours(job):
        return
    if failures >= MAX_FAILURES:
        turn_give_up(turn_id=turn_id, why=why)
        return
    job_renew(job, queues=QUEUES, queue=QUEUE, delay=2.0**failures, args={"failures": failures})
