"""Backtests as durable jobs."""

from uuid import UUID

from procrastinate.contrib.django import app

from dashboard.live.offload import in_database
from dashboard.replay import backtest
from dashboard.turns.models import Backtest


@app.task(queue="backtests", name="run_backtest")
async def run_backtest(backtest_id: str) -> None:
    try:
        await in_database(backtest.run, UUID(backtest_id))
    except Exception:
        await in_database(_failed, UUID(backtest_id))
        raise


def _failed(backtest_id: UUID) -> None:
    Backtest.objects.filter(id=backtest_id).update(status=Backtest.Status.FAILED)
