"""Backtests as durable jobs: one plans, several judge, on as many workers as there are."""

from uuid import UUID

from django.db import connection
from django.utils import timezone
from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app

from dashboard.agents.schema_validation.judge_overload import busy_told
from dashboard.platform.db_threads import in_database
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.process_pool import database_address, pool
from dashboard.policies.backtests.runner import plan

LANES = 8  #: jobs that judge one backtest: as many processes, on all workers together, may work on it
BUSY_SECONDS = 1  #: after which a job that found no free process here is offered again
ATTEMPTS = 5

#: One look at both tables: a job that queues another is there until the other is.
ORPHANS = """
    SELECT backtest.id::text FROM turns_backtest backtest
     WHERE backtest.status IN ('queued', 'running')
       AND NOT EXISTS (
             SELECT 1 FROM procrastinate_jobs job
              WHERE job.status IN ('todo', 'doing') AND job.task_name IN ('run_backtest', 'judge_backtest')
                AND job.args->>'backtest_id' = backtest.id::text)
     LIMIT 100
"""


@app.task(queue="backtests", name="run_backtest", pass_context=True, retry=RetryStrategy(max_attempts=ATTEMPTS))
async def run_backtest(context: JobContext, backtest_id: str) -> None:
    """Plan it, and share it out."""
    try:
        with busy_told():
            await in_database(plan, UUID(backtest_id))
        for _ in range(LANES):
            await judge_backtest.defer_async(backtest_id=backtest_id)
    except Exception:
        await _gave_up(context, backtest_id)
        raise


@app.task(
    queue="backtests", name="judge_backtest", pass_context=True, retry=RetryStrategy(max_attempts=ATTEMPTS, wait=1)
)
async def judge_backtest(context: JobContext, backtest_id: str) -> None:
    """Judge parts in a process of this worker; where none is free, leave them to another worker, or to later."""
    if pool.full:
        await _offer_again(backtest_id)
        return
    try:
        done = await pool.work(UUID(backtest_id), await in_database(database_address))
        if done.halted:
            await _offer_again(backtest_id)
    except Exception:
        await _gave_up(context, backtest_id)
        raise


async def _offer_again(backtest_id: str) -> None:
    await judge_backtest.configure(schedule_in={"seconds": BUSY_SECONDS}).defer_async(backtest_id=backtest_id)


def backtests_requeue() -> int:
    """Queue backtests that are not over and have no job at all: a worker that stopped may take the last one with it.
    Returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(ORPHANS)
        orphans = [row[0] for row in cursor.fetchall()]
    for backtest_id in orphans:
        run_backtest.defer(backtest_id=backtest_id)
    return len(orphans)


async def _gave_up(context: JobContext, backtest_id: str) -> None:
    if context.job is not None and context.job.attempts + 1 >= ATTEMPTS:
        await in_database(_failed, UUID(backtest_id))


def _failed(backtest_id: UUID) -> None:
    unfinished = (Backtest.Status.QUEUED, Backtest.Status.RUNNING)
    queued_or_running = Backtest.objects.filter(id=backtest_id, status__in=unfinished)
    queued_or_running.update(status=Backtest.Status.FAILED, finished_at=timezone.now())
