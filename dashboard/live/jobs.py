"""Turns' jobs: queued by the name of their task, and changing hands. One that goes to another worker gets a new id.

The id is the fence of the queue, as (turn, seq) is that of the history: a worker that was only asleep speaks of a job
that is not there any more, so it can neither finish nor put off what another is doing by now.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from procrastinate import exceptions
from procrastinate.contrib.django import app

QUEUE = "turns"
DRIVE = "drive_turn"  #: the name of the task, which is in `tasks`
#: One statement: what is taken goes, and waits again as a new job. A turn that waits already is not queued twice.
RENEW = """
    WITH taken AS (
        SELECT job.* FROM procrastinate_jobs job
          LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
         WHERE job.status = 'doing' AND {condition}
           FOR UPDATE OF job SKIP LOCKED
    ), gone AS (
        DELETE FROM procrastinate_jobs job USING taken WHERE job.id = taken.id
    ), renewed AS (
        INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
        SELECT CASE WHEN queue_name = ANY(%(queues)s) THEN queue_name ELSE %(queue)s END,
               task_name, priority, lock, queueing_lock, args || %(args)s::jsonb,
               now() + %(delay)s * interval '1 second'
          FROM taken
        ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING
    )
    SELECT id, lock FROM taken
"""
#: A server that has just come back has heard of nobody for a while, which is not their fault.
STALLED = """(
    worker.id IS NULL
    OR (job.worker_id IS DISTINCT FROM %(own)s
        AND greatest(worker.last_heartbeat, pg_postmaster_start_time()) < now() - %(gone)s * interval '1 second')
    OR job.id = ANY(%(lost)s))
"""
THIS = "job.id = %(job)s"

Taken = list[tuple[int, str | None]]  #: id and lock of each job, as they were


def defer_drive(turn_id: UUID, queue: str = QUEUE) -> None:
    """Queue the turn's job, in the caller's transaction. One waiting job per turn is enough; one runs at a time."""
    key = str(turn_id)
    try:
        # A savepoint: what Postgres refuses would else end the caller's transaction too.
        with transaction.atomic():
            app.configure_task(DRIVE, lock=key, queueing_lock=key, queue=queue).defer(turn_id=key)
    except exceptions.AlreadyEnqueued:
        # It may wait for another try, while a person waits for it.
        job_hasten(key)


def jobs_take_back(
    *, own: int | None, lost: Collection[int], gone_seconds: float, queues: Collection[str], queue: str
) -> Taken:
    """Give the jobs of workers without a heartbeat to whoever is alive; those of unknown queues go to `queue`.

    Never a job of worker `own`, however late its heartbeat, but for those it says it has `lost`.
    """
    given: dict[str, Any] = {"own": own, "lost": list(lost), "gone": gone_seconds}
    return _renew(STALLED, queues=queues, queue=queue, **given)


def job_renew(
    job_id: int, *, queues: Collection[str], queue: str, delay: float = 0.0, args: Mapping[str, Any] | None = None
) -> bool:
    """Put a job back, to be done after `delay` seconds; False where it is not this worker's any more."""
    return bool(_renew(THIS, queues=queues, queue=queue, delay=delay, args=args or {}, job=job_id))


def _renew(
    condition: str,
    *,
    queues: Collection[str],
    queue: str,
    delay: float = 0.0,
    args: Mapping[str, Any] | None = None,
    **given: Any,
) -> Taken:
    said = {"queues": list(queues), "queue": queue, "delay": delay, "args": json.dumps(args or {}), **given}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(RENEW.format(condition=condition), said)
        return list(cursor.fetchall())


def job_hasten(queueing_lock: str) -> None:
    """Let a job that waits for its time begin at once."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE procrastinate_jobs SET scheduled_at = NULL WHERE queueing_lock = %s AND status = 'todo'",
            [queueing_lock],
        )


def job_move(lock: str, queue: str) -> None:
    """Let a job that waits be done by who works on this queue."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE procrastinate_jobs SET queue_name = %(queue)s "
            "WHERE lock = %(lock)s AND status = 'todo' AND queue_name <> %(queue)s",
            {"lock": lock, "queue": queue},
        )


def job_is_ours(job_id: int) -> bool:
    """Whether nobody has taken the job back. Within a transaction it stays so until that ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM procrastinate_jobs WHERE id = %s AND status = 'doing' FOR UPDATE", [job_id])
        return cursor.fetchone() is not None


def jobs_done_by(worker_id: int | None) -> set[int]:
    """The ids of the jobs that are this worker's, as the queue has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM procrastinate_jobs WHERE worker_id = %s AND status = 'doing'", [worker_id])
        return {row[0] for row in cursor.fetchall()}
