"""The durable job behind every turn. A worker that dies leaves its job to another."""

from typing import Any
from uuid import UUID

from django.db import transaction
from procrastinate import BaseRetryStrategy, JobContext, RetryDecision, exceptions
from procrastinate.contrib.django import app
from procrastinate.jobs import Job

from dashboard.live.driver import Driver
from dashboard.live.engine import engine
from dashboard.live.offload import in_database
from dashboard.live.services import turn_give_up
from dashboard.turns.recorder import LostTurnError

QUEUE = "turns"
MAX_ATTEMPTS = 8


class KeepTrying(BaseRetryStrategy):
    """A job that was ended by its worker's stop is taken up at once; one that failed, after a while."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, LostTurnError):
            return None
        if not isinstance(exception, Exception) or isinstance(exception, exceptions.JobAborted):
            return RetryDecision(retry_in={"seconds": 0})
        return RetryDecision(retry_in={"seconds": 2**job.attempts}) if job.attempts < MAX_ATTEMPTS else None


@app.task(queue=QUEUE, pass_context=True, retry=KeepTrying(), name="drive_turn")
async def drive_turn(context: JobContext, turn_id: str) -> None:
    """Drive a turn until it has ended or is held."""
    try:
        await Driver(UUID(turn_id), engine.transport, engine.inbox).drive()
    except LostTurnError:
        return
    except Exception as error:
        if context.job is not None and context.job.attempts + 1 >= MAX_ATTEMPTS:
            await in_database(turn_give_up, turn_id=UUID(turn_id), why=f"{type(error).__name__}: {error}")
        raise


def defer_drive(turn_id: UUID, queue: str = QUEUE) -> None:
    """Queue the turn's job, in the caller's transaction. One waiting job per turn is enough; one runs at a time."""
    key = str(turn_id)
    deferrer: Any = drive_turn.configure(lock=key, queueing_lock=key, queue=queue)
    try:
        # A savepoint: what Postgres refuses would else end the caller's transaction too.
        with transaction.atomic():
            deferrer.defer(turn_id=key)
    except exceptions.AlreadyEnqueued:
        return
