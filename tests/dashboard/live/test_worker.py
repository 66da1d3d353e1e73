"""Jobs of workers that are gone are taken back; a worker that is only late keeps its own."""

import asyncio
import datetime

import pytest
from procrastinate import App
from procrastinate.testing import InMemoryConnector
from procrastinate.worker import Worker

from dashboard.live import worker as live_worker
from dashboard.live.tasks import QUEUE

LATE = datetime.timedelta(seconds=live_worker.GONE_SECONDS * 2)


async def taken_back(ours: bool) -> str:
    """The status of a job whose worker's heartbeat is late, after the chore: of this worker's job, or another's."""
    app = App(connector=InMemoryConnector())

    @app.task(queue=QUEUE, name="work")
    def work() -> None:
        """Never run here."""

    async with app.open_async():
        worker = Worker(app, queues=[QUEUE])
        other = await app.job_manager.register_worker()
        worker.worker_id = await app.job_manager.register_worker()
        job_id = await work.defer_async()
        await app.job_manager.fetch_job(queues=[QUEUE], worker_id=worker.worker_id if ours else other)
        for late in app.connector.workers:
            app.connector.workers[late] -= LATE
        await live_worker._take_back(app, worker)
        return app.connector.jobs[job_id]["status"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("ours", "status"), [(True, "doing"), (False, "todo")])
def test_a_late_heartbeat_costs_a_worker_no_job_of_its_own(ours, status):
    assert asyncio.run(taken_back(ours)) == status
