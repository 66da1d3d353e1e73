"""The keeper of a worker: its own jobs are its own however late its heart beats, unless it does not do them."""

import asyncio
import time

import pytest
from procrastinate import App
from procrastinate.testing import InMemoryConnector

from dashboard.agents.selectors import project_default
from dashboard.live.resilient_worker import ResilientWorker
from dashboard.policies.backtests.models import Backtest
from dashboard.runtime.worker import GONE_SECONDS, JobKeeper, _in_one_place
from tests.dashboard.live.test_jobs import sql, taken, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_queue")]


class Doing(ResilientWorker):
    """A worker that is doing these jobs."""

    doing: frozenset[int] = frozenset()

    @property
    def running(self) -> set[int]:
        return set(self.doing)


def looks(job: int, by: int, *, doing: bool) -> list[bool]:
    """Whether the job is still the worker's, after one look and after two."""
    from dashboard.live.jobs import job_is_ours

    own = Doing(App(connector=InMemoryConnector()), queues=[])
    own.worker_id, own.doing = by, frozenset({job} if doing else ())
    keeper, seen = JobKeeper(own), []
    for _ in range(2):
        asyncio.run(keeper.take_back())
        seen.append(job_is_ours(job))
    return seen


def test_a_late_heartbeat_costs_a_worker_none_of_its_jobs():
    by = worker(silent=GONE_SECONDS * 2)
    job, _ = taken(by)
    assert looks(job, by, doing=True) == [True, True]


def test_a_job_given_to_a_worker_that_never_received_it_is_queued_again_at_the_second_check():
    by = worker()
    job, _ = taken(by)
    assert looks(job, by, doing=False) == [True, False]


def test_a_backtest_without_a_worker_is_queued_again_at_the_first_check():
    backtest = Backtest.objects.create(project=project_default(), policy={})
    by = worker()
    taken(by)
    looks(0, by, doing=False)
    assert sql("SELECT args->>'backtest_id' FROM procrastinate_jobs WHERE task_name = 'run_backtest'") == [
        (str(backtest.pk),)
    ]


def test_maintenance_tasks_run_one_at_a_time_and_use_one_thread():
    inside, most = 0, 0

    def chore() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.01)
        inside -= 1

    async def all_at_once() -> None:
        alone = _in_one_place()
        await asyncio.gather(*(alone(chore) for _ in range(4)))

    asyncio.run(all_at_once())
    assert most == 1
