"""procrastinate's worker, made to outlive its database, its own sleep, and the loss of a job.

As it comes, it ends with the first question that the database does not answer, and all turns under way with it. Here
they go on: the heart beats again when it can, jobs are fetched again, and the end of a job is told until it is heard.
"""

import asyncio
from typing import Any

import structlog
from procrastinate import jobs
from procrastinate.exceptions import ConnectorException
from procrastinate.worker import Worker
from psycopg.errors import RaiseException

log = structlog.get_logger(__name__)

PAUSE_SECONDS = 1.0  #: before the database is asked again

#: As procrastinate's own, which does not say whether there was a worker to be heard of.
HEARTBEAT = "UPDATE procrastinate_workers SET last_heartbeat = now() WHERE id = %(worker_id)s RETURNING id"


class ResilientWorker(Worker):
    """A worker for turns; `listen` runs beside it."""

    @property
    def running(self) -> set[int]:
        """The ids of the jobs it is doing."""
        return {context.job.id for context in self._running_jobs.values() if context.job.id is not None}

    async def listen(self) -> None:
        """Hear of new jobs until cancelled."""
        while True:
            try:
                await self.app.job_manager.listen_for_jobs(
                    on_notification=self._handle_notification, queues=self.queues
                )
            except ConnectorException as error:
                log.info("queue_away", doing="listening", error=str(error.__cause__))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _update_heartbeat(self) -> None:
        while True:
            await asyncio.sleep(self.update_heartbeat_interval)
            try:
                await self._beat()
            except ConnectorException as error:
                log.info("queue_away", doing="heartbeat", error=str(error.__cause__))

    async def _beat(self) -> None:
        """Be heard of. Who was thought gone for so long that it was struck off begins as a new worker."""
        connector = self.app.job_manager.connector
        known = await connector.execute_query_all_async(query=HEARTBEAT, worker_id=self.worker_id)
        if not known:
            self.worker_id = await self.app.job_manager.register_worker()
            log.info("worker_registered_again", worker=self.worker_id)

    async def _fetch_and_process_jobs(self) -> None:
        try:
            await super()._fetch_and_process_jobs()  # type: ignore[no-untyped-call]
        except ConnectorException as error:
            log.info("queue_away", doing="fetching", error=str(error.__cause__))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _persist_job_status(self, job: jobs.Job, *args: Any, **kwargs: Any) -> None:
        while True:
            try:
                await super()._persist_job_status(job, *args, **kwargs)
            except ConnectorException as error:
                if isinstance(error.__cause__, RaiseException):
                    # There is no such job: it was handed on, taken back, or ended by a try whose answer got lost.
                    return
                if self._stop_event.is_set():
                    raise
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                return
