"""The worker: takes turns' jobs, and takes back those whose worker is gone."""

import asyncio
import contextlib

import structlog
from procrastinate import App
from procrastinate.contrib.django import app as django_app
from procrastinate.worker import Worker

from dashboard.live.engine import engine
from dashboard.live.offload import in_database
from dashboard.live.services import approvals_expire, orphans_requeue
from dashboard.live.tasks import QUEUE
from dashboard.timeline import rollups
from dashboard.turns import partitions

log = structlog.get_logger(__name__)

QUEUES = (QUEUE, "backtests")
CONCURRENCY = 200  #: turns at once; they wait for providers most of the time
HEARTBEAT_SECONDS = 1.0
GONE_SECONDS = 4.0  #: without a heartbeat, after which a worker's jobs are taken back
APPROVAL_SECONDS = 1.0  #: between two looks for approvals whose time is over
PARTITION_SECONDS = 3600.0


async def run(stop: asyncio.Event, queues: tuple[str, ...] = QUEUES) -> None:
    """Work on these queues until `stop` is set. What arrived of turns under way is kept for the next worker."""
    app = django_app.with_connector(django_app.connector.get_worker_connector())  # type: ignore[attr-defined]
    async with app.open_async(), engine.transport:
        worker = _worker(app, queues)
        await _take_back(app, worker)
        side = [
            asyncio.create_task(engine.inbox.run()),
            asyncio.create_task(_regularly(HEARTBEAT_SECONDS, lambda: _take_back(app, worker))),
            asyncio.create_task(_regularly(APPROVAL_SECONDS, lambda: in_database(approvals_expire))),
            asyncio.create_task(_regularly(PARTITION_SECONDS, lambda: in_database(partitions.ensure))),
            asyncio.create_task(_regularly(rollups.FOLD_SECONDS, lambda: in_database(rollups.fold_all))),
        ]
        working = asyncio.create_task(worker.run())  # type: ignore[no-untyped-call]
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (working, stopping, *side):
            task.cancel()
        await asyncio.gather(working, stopping, *side, return_exceptions=True)
        if not working.cancelled() and (error := working.exception()):
            raise error


def _worker(app: App, queues: tuple[str, ...]) -> Worker:
    return Worker(
        app,
        queues=list(queues),
        concurrency=CONCURRENCY,
        install_signal_handlers=False,
        fetch_job_polling_interval=1.0,
        update_heartbeat_interval=HEARTBEAT_SECONDS,
        stalled_worker_timeout=GONE_SECONDS * 4,
        shutdown_graceful_timeout=0.1,
        delete_jobs="successful",
    )


async def _take_back(app: App, worker: Worker) -> None:
    """Give the jobs of workers without a heartbeat to whoever is alive; a terminal's own queue died with it.

    Never this worker's own: on a machine so busy that its heartbeat is late, it is alive all the same.
    """
    for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=GONE_SECONDS):
        if job.worker_id is not None and job.worker_id == worker.worker_id:
            continue
        log.info("job_taken_back", job=job.id, turn=job.lock)
        await app.job_manager.retry_job(job, queue=job.queue if job.queue in QUEUES else QUEUE)
    await in_database(orphans_requeue)


async def _regularly(seconds: float, action: "object") -> None:
    while True:
        await asyncio.sleep(seconds)
        with contextlib.suppress(asyncio.TimeoutError):
            try:
                await action()  # type: ignore[operator]
            except Exception as error:
                log.warning("worker_chore_failed", error=str(error))
