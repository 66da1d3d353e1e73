"""What happens to one backtest is nothing to those that share its processes."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from dashboard.agents.selectors import project_default
from dashboard.bench.recorded_turns import copy_turns
from dashboard.policies.backtests import runner, tasks
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.process_pool import Pool, database_address
from tests.dashboard.live.test_jobs import sql
from tests.first_start import CHECKOUT, environment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_queue")]

TURNS = 60
NOBODYS = UUID(int=1)


@pytest.fixture
def backtest(monkeypatch: pytest.MonkeyPatch) -> Backtest:
    """Planned, in three parts."""
    monkeypatch.setattr(runner, "PART", 20)
    list(copy_turns(project=project_default(), turns=TURNS))
    made = Backtest.objects.create(project=project_default(), policy={})
    runner.plan(made.id)
    return made


KILLED = """
import os, signal
from dashboard.policies.backtests.process_pool import Pool
executor = Pool(size=2)._started({"dbname": "none"})
first = executor.submit(os.getpid).result()
print({first, executor.submit(os.getpid).result()}, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_idle_processes_end_with_a_killed_worker(tmp_path: Path):
    worker = [sys.executable, "-c", KILLED]
    with subprocess.Popen(worker, cwd=CHECKOUT, env=environment(tmp_path), stdout=subprocess.PIPE) as running:
        try:
            told, _ = running.communicate(timeout=60)  # returns once nobody holds its other end any more
        except subprocess.TimeoutExpired:
            pytest.fail("a process is left behind")
    assert told.startswith(b"{")


@contextmanager
def held_up(backtest: Backtest) -> Iterator[None]:
    """Within, what is judged of it cannot be stored yet."""
    with psycopg.connect(**database_address()) as other:
        other.execute("SELECT 1 FROM turns_backtest WHERE id = %s FOR UPDATE", [backtest.pk])
        yield
        other.rollback()


def test_a_failed_backtest_stops_no_other(backtest: Backtest):
    pool, address = Pool(2), database_address()

    async def beside_one_that_fails():
        try:
            with held_up(backtest):
                healthy = asyncio.create_task(pool.work(backtest.pk, dict(address)))
                with pytest.raises(Backtest.DoesNotExist):
                    await pool.work(NOBODYS, dict(address))
            return await healthy
        finally:
            await asyncio.to_thread(pool.end, wait=True)

    done = asyncio.run(beside_one_that_fails())
    backtest.refresh_from_db()
    assert (done.turns, done.halted, backtest.status, backtest.done) == (TURNS, False, "done", TURNS)


def test_work_asked_to_stop_is_offered_again(backtest: Backtest, monkeypatch: pytest.MonkeyPatch):
    pool = Pool(1)
    monkeypatch.setattr(tasks, "pool", pool)

    async def stopped() -> None:
        with held_up(backtest):
            lane = asyncio.create_task(tasks.judge_backtest(None, str(backtest.pk)))
            while not (lane.done() or waits_for_a_row()):
                await asyncio.sleep(0.02)
            pool.end()
        await lane

    asyncio.run(stopped())
    backtest.refresh_from_db()
    assert (backtest.status, backtest.done < TURNS) == ("running", True)
    assert jobs() == [("judge_backtest", "todo", str(backtest.pk))]


def waits_for_a_row() -> bool:
    with psycopg.connect(**database_address()) as other:
        query = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        return other.execute(query).fetchone() is not None


def jobs() -> list[tuple[str, str, str]]:
    return sql("SELECT task_name, status::text, args->>'backtest_id' FROM procrastinate_jobs ORDER BY id")
