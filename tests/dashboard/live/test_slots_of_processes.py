"""Two real workers and a provider that counts: together they never call more often than the connection allows."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from aiohttp import web
from django.db import connection as database

from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.bench.chaos.fleet import OURS
from dashboard.live.models import CallSlot
from dashboard.live.services import turn_start
from dashboard.platform.environment import CHECKOUT
from dashboard.turns.models import UNFINISHED, Turn
from tests import forked_start
from tests.dashboard.serving import provider_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_queue")]

ALLOWED, TURNS, CALL_SECONDS = 3, 14, 0.4


class Counting:
    """A provider that says one word, after a while."""

    def __init__(self) -> None:
        self.under_way = 0
        self.most = 0
        self.calls = 0

    async def answer(self, _: web.Request) -> web.Response:
        self.under_way += 1
        self.calls += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(CALL_SECONDS)
        self.under_way -= 1
        message = {"role": "assistant", "content": "Yes."}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def address_of_the_test_database() -> str:
    said = database.get_connection_params()
    return "postgresql:///?" + "&".join(
        f"{name}={said[key]}" for name, key in (("host", "host"), ("user", "user"), ("dbname", "dbname"))
    )


@pytest.fixture
def start_worker(tmp_path) -> Iterator[Callable[[], subprocess.Popen]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment = {**kept, "DATABASE_URL": address_of_the_test_database(), "WHYSTOP_DATA_DIR": str(tmp_path)}
    environment["WHYSTOP_EGRESS"] = "loopback"
    started: list[subprocess.Popen] = []

    def start() -> subprocess.Popen:
        started.append(forked_start.Popen([sys.executable, "manage.py", "worker"], cwd=CHECKOUT, env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def wait_for(look: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def workers() -> int:
    with database.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM procrastinate_workers")
        return cursor.fetchone()[0]


@pytest.mark.nightly
def test_two_workers_share_a_limit_and_a_killed_one_returns_its_slots(start_worker, agent_of):
    provider = Counting()
    with provider_of(provider.answer) as address:
        near = connection_create(
            project=project_default(),
            name="counted",
            provider="openai",
            base_url=address,
            max_concurrent_calls=ALLOWED,
        )
        agent = agent_of("any", connection=near)
        victim, _ = start_worker(), start_worker()
        wait_for(lambda: workers() == 2)
        turns = [turn_start(agent=agent, input_text="Are you there?").id for _ in range(TURNS)]
        wait_for(lambda: provider.calls >= ALLOWED + 1)
        victim.send_signal(signal.SIGKILL)
        wait_for(lambda: not Turn.objects.filter(id__in=turns, status__in=UNFINISHED).exists())
    assert set(Turn.objects.filter(id__in=turns).values_list("status", "output_text")) == {("completed", "Yes.")}
    assert provider.most == ALLOWED
    assert not CallSlot.objects.filter(released_at=None).exists()
