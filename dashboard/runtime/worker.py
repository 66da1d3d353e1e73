"""The worker: takes turns' jobs, and takes back those whose worker is gone."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import structlog
from procrastinate import App
from procrastinate.contrib.django import app as django_app

from dashboard.accounts import sessions
from dashboard.agents.schema_validation.judge_overload import JudgesBusy
from dashboard.agents.selectors import project_default
from dashboard.api.idempotency import services as idempotency
from dashboard.board import sum_updates
from dashboard.board.alerts import evaluation, mails
from dashboard.exports.telemetry.exporter import Exporter
from dashboard.exports.telemetry.queue import environment_sync
from dashboard.exports.webhooks import delivery_queue as webhooks
from dashboard.exports.webhooks.sender import Sender
from dashboard.ingest import refusals, span_store
from dashboard.live.jobs import QUEUE, jobs_done_by, jobs_take_back
from dashboard.live.lost_turns import lost_turns_end
from dashboard.live.resilient_worker import ResilientWorker
from dashboard.live.services import approvals_expire, orphans_requeue
from dashboard.live.tasks import QUEUES, engine
from dashboard.platform.db_threads import in_database
from dashboard.platform.statement_timeout import working_as
from dashboard.policies import shadow_evaluation
from dashboard.policies.backtests.tasks import backtests_requeue
from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.suggestions import suggestion_log
from dashboard.timeline import cohort_cleanup, node_cleanup, retention, rollups
from dashboard.timeline.runs import run_links
from dashboard.turns import partitions
from dashboard.turns.seals import services as sealing

log = structlog.get_logger(__name__)

CONCURRENCY = 200  #: turns at once; they wait for providers most of the time
HEARTBEAT_SECONDS = 1.0
GONE_SECONDS = 4.0  #: without a heartbeat, after which a worker's jobs are taken back
APPROVAL_SECONDS = 1.0  #: between two looks for approvals whose time is over
LOST_SECONDS = 1.0  #: between two looks for turns whose process is gone
PARTITION_SECONDS = 3600.0
FALLEN_SECONDS = 2.0  #: before a worker that fell is started again


async def run_always(stop: asyncio.Event) -> None:
    """As `run`, begun again should it fall: where the database is not there yet, or no longer the same."""
    while not stop.is_set():
        try:
            await run(stop)
        except Exception:
            log.exception("worker_failed")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), FALLEN_SECONDS)


async def run(stop: asyncio.Event, queues: tuple[str, ...] = QUEUES) -> None:
    """Work on these queues until `stop` is set. What arrived of turns under way is kept for the next worker."""
    working_as("job")
    app = django_app.with_connector(django_app.connector.get_worker_connector())  # type: ignore[attr-defined]
    async with app.open_async(), engine.transport:
        worker = _worker(app, queues)
        keeper = JobKeeper(worker)
        await keeper.take_back()
        await in_database(lambda: environment_sync(project_default()))
        alone = _in_one_place()
        side = [
            asyncio.create_task(engine.inbox.run()),
            asyncio.create_task(worker.listen()),
            asyncio.create_task(Sender(engine.transport).run()),
            asyncio.create_task(Exporter(engine.transport).run()),
            asyncio.create_task(_regularly(HEARTBEAT_SECONDS, keeper.take_back)),
            *(asyncio.create_task(_regularly(seconds, partial(in_database, *chore))) for seconds, *chore in _timely()),
            *(asyncio.create_task(_regularly(seconds, partial(alone, *chore))) for seconds, *chore in _upkeep()),
        ]
        working = asyncio.create_task(worker.run())  # type: ignore[no-untyped-call]
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (working, stopping, *side):
            task.cancel()
        await asyncio.gather(working, stopping, *side, return_exceptions=True)
        if not working.cancelled() and (error := working.exception()):
            raise error


def _in_one_place() -> Callable[..., Awaitable[object]]:
    """`in_database`, one call at a time. Each thread that computes has every call of the gateway that is served in this
    process wait for the interpreter more often: a dozen at once kept one waiting for half a second."""
    place = asyncio.Lock()

    async def alone(*chore: Any) -> object:
        async with place:
            return await in_database(*chore)

    return alone


def _timely() -> tuple[tuple[Any, ...], ...]:
    """What somebody waits for: seconds between two times, and the function, with what it is given."""
    return (
        (APPROVAL_SECONDS, approvals_expire),
        (LOST_SECONDS, lost_turns_end),
        (PARTITION_SECONDS, partitions.ensure),
        (evaluation.JUDGE_SECONDS, evaluation.alerts_judge),
        (mails.SEND_SECONDS, mails.mails_send),
    )


def _upkeep() -> tuple[tuple[Any, ...], ...]:
    """What may wait for the rest of it."""
    return (
        (PARTITION_SECONDS, partitions.drop_empty),
        (rollups.FOLD_SECONDS, rollups.fold_all),
        (sum_updates.SUM_SECONDS, sum_updates.sum_in_time),
        (PARTITION_SECONDS, mails.mails_sweep),
        (shadow_evaluation.SWEEP_SECONDS, shadow_evaluation.sweep),
        (outcome_comparison.SWEEP_SECONDS, outcome_comparison.sweep),
        (retention.SWEEP_SECONDS, retention.raw_sweep),
        (node_cleanup.SWEEP_SECONDS, node_cleanup.nodes_sweep),
        (cohort_cleanup.SWEEP_SECONDS, cohort_cleanup.sweep),
        (span_store.SWEEP_SECONDS, span_store.sweep),
        (refusals.SWEEP_SECONDS, refusals.sweep),
        (sealing.SWEEP_SECONDS, sealing.sweep),
        (webhooks.SWEEP_SECONDS, webhooks.sweep),
        (idempotency.SWEEP_SECONDS, idempotency.sweep),
        (sessions.SWEEP_SECONDS, sessions.sweep),
        (suggestion_log.SWEEP_SECONDS, suggestion_log.sweep),
        (run_links.SOON_SECONDS, run_links.sweep, run_links.SOON_REACH),
        (run_links.LATER_SECONDS, run_links.sweep, run_links.LATER_REACH),
    )


def _worker(app: App, queues: tuple[str, ...]) -> ResilientWorker:
    return ResilientWorker(
        app,
        queues=list(queues),
        concurrency=CONCURRENCY,
        install_signal_handlers=False,
        listen_notify=False,
        fetch_job_polling_interval=1.0,
        update_heartbeat_interval=HEARTBEAT_SECONDS,
        stalled_worker_timeout=GONE_SECONDS * 4,
        shutdown_graceful_timeout=0.1,
        delete_jobs="successful",
    )


class JobKeeper:
    """Sees to it that every turn and every backtest that should be running is."""

    def __init__(self, worker: ResilientWorker) -> None:
        self._worker = worker
        self._missing: set[int] = set()  #: jobs the queue says are ours, and which we are not doing

    async def take_back(self) -> None:
        """Queue again what nobody is doing: of workers that are gone, of this one, and what has no job at all."""
        await self._take_back()
        await in_database(orphans_requeue)
        await in_database(backtests_requeue)

    async def _take_back(self) -> None:
        own = self._worker.worker_id
        missing = await in_database(jobs_done_by, own) - self._worker.running
        # Twice running: what has been fetched this moment is not being done yet.
        lost, self._missing = missing & self._missing, missing
        taken = await in_database(
            jobs_take_back, own=own, lost=lost, gone_seconds=GONE_SECONDS, queues=QUEUES, queue=QUEUE
        )
        for job, turn in taken:
            log.info("job_taken_back", job=job, turn=turn)


async def _regularly(seconds: float, action: Callable[[], Awaitable[object]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        with contextlib.suppress(asyncio.TimeoutError):
            try:
                await action()
            except (Exception, JudgesBusy) as error:
                log.warning("worker_chore_failed", error=str(error))
