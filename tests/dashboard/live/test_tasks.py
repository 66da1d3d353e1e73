"""What becomes of a turn whose driver fails, or whose worker stops."""

import asyncio
import json

import pytest

from dashboard.live.driver import Driver
from dashboard.live.jobs import QUEUE, job_renew
from dashboard.live.services import turn_start
from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.tasks import MAX_FAILURES, QUEUES, _failed
from dashboard.live.transport import Transport
from dashboard.platform.db_threads import in_database
from dashboard.tools import selectors
from dashboard.tools.registry import Registry
from dashboard.turns.models import ToolClaim, Turn
from tests.dashboard.driving import drive
from tests.dashboard.live.test_jobs import fetched, sql, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_queue")]


@pytest.fixture
def turn(agent_of) -> Turn:
    return turn_start(agent=agent_of("sim-essay"), input_text="hello")


def test_a_failed_driver_is_retried_with_growing_delays(turn):
    job, *_ = fetched(worker())
    _failed(job, turn.id, 3, "It broke.")
    ((args, seconds),) = sql("SELECT args, extract(epoch FROM scheduled_at - now()) FROM procrastinate_jobs")
    assert json.loads(args)["failures"] == 3
    assert 5 < seconds <= 8
    turn.refresh_from_db()
    assert turn.status == "queued"


def test_a_driver_that_keeps_failing_is_given_up_with_an_explanation(turn):
    job, *_ = fetched(worker())
    _failed(job, turn.id, MAX_FAILURES, "OperationalError: the disk is full")
    turn.refresh_from_db()
    assert (turn.status, turn.error_message) == ("interrupted", "OperationalError: the disk is full")


@pytest.mark.parametrize("failures", [1, MAX_FAILURES])
def test_a_driver_that_fails_after_losing_its_job_changes_nothing(turn, failures):
    job, *_ = fetched(worker())
    assert job_renew(job, queues=QUEUES, queue=QUEUE)
    before = sql("SELECT id, args, scheduled_at FROM procrastinate_jobs")
    _failed(job, turn.id, failures, "It broke.")
    turn.refresh_from_db()
    assert turn.status == "queued"
    assert sql("SELECT id, args, scheduled_at FROM procrastinate_jobs") == before


def test_a_stopping_worker_lets_its_tools_finish_and_the_next_one_finds_their_results(agent_of, monkeypatch):
    tools, runs = Registry(), []

    @tools.tool()
    async def stamp() -> str:
        """Stamp."""
        runs.append("begun")
        await asyncio.sleep(0.4)
        return "stamped"

    monkeypatch.setattr(selectors, "registry", tools)
    turn = turn_start(agent=agent_of("sim-tools", tools=["stamp"]), input_text="hello")

    async def stopped_while_it_runs() -> None:
        async with Transport() as transport:
            task = asyncio.create_task(Driver(turn.id, transport, SignalInbox()).drive())
            while not runs:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(stopped_while_it_runs())
    assert ToolClaim.objects.get(turn_id=turn.id).result == "stamped"
    turn = drive(turn)
    assert (turn.status, runs) == ("completed", ["begun"])
    assert "stamped" in turn.output_text


async def test_work_interrupted_by_a_database_failure_is_done_when_it_is_back(transactional_db: None, monkeypatch):
    from django.db import OperationalError

    from dashboard.platform import db_threads

    monkeypatch.setattr(db_threads, "PAUSE_SECONDS", 0.01)
    tried = []

    def work() -> str:
        tried.append(None)
        if len(tried) < 3:
            raise OperationalError("the server is starting up")
        return "done"

    assert await db_threads.retrying(work) == "done"
    assert len(tried) == 3
    monkeypatch.setattr(db_threads, "PATIENCE_SECONDS", -1.0)
    tried.clear()
    with pytest.raises(OperationalError):
        await db_threads.retrying(work)
    assert await in_database(lambda: len(tried)) == 1
