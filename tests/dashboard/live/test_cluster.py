"""Web and worker processes apart, with a real Redis: 200 turns at once, and every page that watches ends up true."""

import asyncio
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID

import aiohttp
import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.test import Client

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, bootstrap_token_ensure, one_time_code_create
from dashboard.agents.models import Connection
from dashboard.live.broadcast_hub import TRY_AGAIN
from dashboard.platform.environment import CHECKOUT
from dashboard.turns.models import UNFINISHED, Turn
from tests import forked_start
from tests.dashboard.driving import AgentOf
from tests.dashboard.pushed_page import Shown, by_id, fresh
from tests.redis_server import Redis

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = "a-token-of-24-characters-or-more"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
TURNS = 200
ASKED_AT_ONCE = 40  #: as many as two web processes have connections for; the turns run on side by side
EACH = 4  #: every so many-th turn is watched, on both web processes
PATIENCE = 120  #: seconds


@contextmanager
def cluster(redis: Redis, folder: Path) -> Iterator[list[str]]:
    """The addresses of two web processes; two workers run beside them, all on the test's database."""
    ours = ("REDIS_URL", "WHYSTOP_", "OPENAI_", "DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    more = {
        "DATABASE_URL": _database_url(),
        "REDIS_URL": redis.url,
        "WHYSTOP_DATA_DIR": str(folder),
        "WHYSTOP_PORT": "0",
        "WHYSTOP_SECRET_KEY": "the same for all of them",
        "WHYSTOP_EGRESS": "loopback",
    }
    started = [
        forked_start.Popen(
            [sys.executable, "manage.py", command],
            cwd=CHECKOUT,
            env={**kept, **more},
            stdout=subprocess.PIPE,
            text=True,
        )
        for command in ("web", "web", "worker", "worker")
    ]
    try:
        lines = [process.stdout.readline() for process in started]
        yield [re.search(r"http://127\.0\.0\.1:\d+", line)[0] for line in lines[:2]]
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.communicate(timeout=30)
    assert [process.returncode for process in started] == [0, 0, 0, 0]


def _database_url() -> str:
    known = settings.DATABASES["default"]
    parts = {name: known[name.upper()] for name in ("host", "port", "user", "password")}
    return f"postgresql:///{known['NAME']}?{urlencode({name: value for name, value in parts.items() if value})}"


class Viewer:
    """A page's socket, and what was pushed to it; told to try again it connects again, as pages do."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self.pushed: list[str] = []
        self.closed = asyncio.create_task(self._follow(session, address))

    async def _follow(self, session: aiohttp.ClientSession, address: str) -> None:
        code: int | None = TRY_AGAIN
        while code == TRY_AGAIN:
            async with session.ws_connect(address, headers=BEARER) as socket:
                async for message in socket:
                    self.pushed.append(message.data)
            code = socket.close_code


def viewers_of(session: aiohttp.ClientSession, webs: list[str], address: str) -> list[Viewer]:
    """One at each web process."""
    return [Viewer(session, f"{web}{address}") for web in webs]


async def begun(session: aiohttp.ClientSession, web: str, asking: asyncio.Semaphore) -> UUID:
    """A turn; a web process that is full says when to ask again, and has stored nothing."""
    body = {"agent": "essay", "input": "All at once, please."}
    async with asyncio.timeout(PATIENCE), asking:
        while True:
            async with session.post(f"{web}/api/v1/turns", json=body, headers=BEARER) as answer:
                if answer.status != 503:
                    assert answer.status == 201, await answer.text()
                    return UUID((await answer.json())["id"])
            await asyncio.sleep(float(answer.headers["Retry-After"]))


async def all_ended() -> None:
    async with asyncio.timeout(PATIENCE):
        while await unfinished():
            await asyncio.sleep(0.2)


@database_sync_to_async
def unfinished() -> int:
    return Turn.objects.filter(status__in=UNFINISHED).count()


@database_sync_to_async
def statuses() -> Counter[str]:
    return Counter(Turn.objects.values_list("status", flat=True))


@database_sync_to_async
def timeline() -> Shown:
    client = Client()
    client.force_login(User.objects.get(username=OPERATOR))
    return Shown(client.get("/").content.decode())


async def shows_the_timeline(viewer: Viewer) -> None:
    """At last: a socket of the timeline is never closed, so one waits for its last push."""
    opened_anew, page, taken = await timeline(), Shown(""), 0
    async with asyncio.timeout(PATIENCE):
        while page.rows != opened_anew.rows:
            await asyncio.sleep(0.05)
            for message in viewer.pushed[taken:]:
                page.take(message)
            taken = len(viewer.pushed)
    assert list(page.rows) == list(opened_anew.rows)


@pytest.mark.nightly
async def test_two_hundred_simultaneous_turns_end_and_every_watching_page_equals_a_fresh_one(
    agent_of: AgentOf, connection: Connection, redis: Redis, tmp_path: Path
):
    await database_sync_to_async(agent_of)("sim-essay", name="essay", max_tokens=250)
    await database_sync_to_async(bootstrap_token_ensure)(TOKEN)
    await database_sync_to_async(one_time_code_create)()
    with cluster(redis, tmp_path) as webs:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True)) as session:
            lists = viewers_of(session, webs, "/ws/timeline/")
            asking = asyncio.Semaphore(ASKED_AT_ONCE)
            turns = await asyncio.gather(*(begun(session, webs[n % 2], asking) for n in range(TURNS)))
            watched = {turn: viewers_of(session, webs, f"/ws/turns/{turn}/?seq=0") for turn in turns[::EACH]}
            await all_ended()
            for turn, viewers in watched.items():
                opened_anew = await fresh(turn)
                for viewer in viewers:
                    await asyncio.wait_for(viewer.closed, PATIENCE)
                    assert by_id(viewer.pushed) == opened_anew
            for viewer in lists:
                await shows_the_timeline(viewer)
    assert await statuses() == {"completed": TURNS}
