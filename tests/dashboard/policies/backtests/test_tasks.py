"""A backtest that is not over has a job, whatever became of its worker."""

import pytest

from dashboard.agents.selectors import project_default
from dashboard.bench.recorded_turns import copy_turns
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.backtests.tasks import _failed, backtests_requeue
from tests.dashboard.live.test_jobs import sql
from tests.dashboard.policies.backtests.test_process_pool import jobs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_queue")]


@pytest.fixture
def backtest() -> Backtest:
    list(copy_turns(project=project_default(), turns=3))
    return backtest_create(project=project_default(), policy={}, filter={})


@pytest.mark.parametrize("planned", [False, True])
def test_a_backtest_without_a_job_is_queued_again_once(backtest: Backtest, planned: bool):
    if planned:
        runner.plan(backtest.pk)
    assert backtests_requeue() == 0
    # As a worker that was told to stop leaves it.
    sql("UPDATE procrastinate_jobs SET status = 'aborted' RETURNING id")
    assert (backtests_requeue(), backtests_requeue()) == (1, 0)
    assert jobs()[1:] == [("run_backtest", "todo", str(backtest.pk))]


@pytest.mark.parametrize("status", ["done", "failed", "cancelled"])
def test_a_finished_backtest_is_left_alone(backtest: Backtest, status: str):
    sql("UPDATE procrastinate_jobs SET status = 'aborted' RETURNING id")
    Backtest.objects.update(status=status)
    assert backtests_requeue() == 0


def test_an_abandoned_backtest_shows_when(backtest: Backtest):
    _failed(backtest.pk)
    backtest.refresh_from_db()
    assert (backtest.status, backtest.finished_at is not None) == ("failed", True)


def test_a_backtest_whose_last_part_was_judged_by_a_dead_process_still_finishes(backtest: Backtest):
    runner.run(backtest.pk)
    Backtest.objects.update(status="running", finished_at=None)
    runner.work(backtest.pk)
    backtest.refresh_from_db()
    assert (backtest.status, backtest.finished_at is not None) == ("done", True)
