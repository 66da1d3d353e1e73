"""What is asked of the past is asked of what callers sent: a re-run is somebody's trial, and no traffic."""

import pytest

from dashboard.policies.backtests import runner
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.backtests.sweep_map import sample_of
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.filters import TimelineFilters
from tests.dashboard.driving import Play, drive

pytestmark = pytest.mark.django_db(transaction=True)


def test_backtests_and_maps_exclude_re_runs_and_forks(play: Play):
    turn = play("sim-essay", max_tokens=60)
    drive(turn_rerun(turn=drive(turn_rerun(turn=turn, overrides={"max_tokens": 900})), overrides={}))
    drive(turn_rerun(turn=turn, overrides={"max_tokens": 100}, from_record=2))
    assert turn.children.count() == 2
    backtest = backtest_create(project=turn.project, policy={}, filter={}, queued=False)
    runner.run(backtest.id)
    backtest.refresh_from_db()
    assert (backtest.total, backtest.done) == (1, 1)
    assert [told.id for told, _ in sample_of(project=turn.project, filters=TimelineFilters())] == [turn.id]
