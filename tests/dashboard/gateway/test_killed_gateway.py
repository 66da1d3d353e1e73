"""kill -9 of the server in the middle of 64 calls: what was answered is stored and verifies, the rest ends as lost."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web
from django.db import connection as database

from agentcore import verify
from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, one_time_code_create
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.bench.chaos.fleet import OURS
from dashboard.gateway.services import key_create
from dashboard.live.models import OwnedTurn
from dashboard.platform.environment import CHECKOUT
from dashboard.turns.history import rebuilt_columns, recording_of
from dashboard.turns.models import UNFINISHED, Turn
from tests import forked_start
from tests.dashboard.live.test_slots_of_processes import address_of_the_test_database
from tests.dashboard.serving import provider_of

pytestmark = pytest.mark.django_db(transaction=True)

CALLS = 64
ENOUGH = 24  #: answered when the server is killed
WORDS = [f"word{n} " for n in range(24)]
PACE = 0.12  #: seconds from word to word, of one that is slow


async def answer(request: web.Request) -> web.StreamResponse:
    """Every third call is quick, every third takes a while for each word, and every third is never finished."""
    asked = await request.json()
    kind = int(asked["messages"][0]["content"]) % 3
    pace = PACE if kind == 1 else 0.002
    if kind == 2:
        return await half(request, streamed=bool(asked.get("stream")))
    if not asked.get("stream"):
        await asyncio.sleep(pace * len(WORDS))
        message = {"role": "assistant", "content": "".join(WORDS)}
        return web.json_response({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for word in WORDS:
        await response.write(event({"content": word}, None))
        await asyncio.sleep(pace)
    await response.write(event({}, "stop") + b"data: [DONE]\n\n")
    return response


async def half(request: web.Request, *, streamed: bool) -> web.StreamResponse:
    """Half of the words where words stream, and then nothing, for as long as somebody listens."""
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    if streamed:
        await response.prepare(request)
        await response.write(b"".join(event({"content": word}, None) for word in WORDS[: len(WORDS) // 2]))
    while request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(0.05)
    return response


def event(delta: dict[str, str], reason: str | None) -> bytes:
    said = {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return f"data: {json.dumps(said)}\n\n".encode()


@dataclass
class Heard:
    """What one caller has heard."""

    turn: str = ""
    text: str = ""
    whole: bool = False
    pieces: list[str] = field(default_factory=list)


async def ask(session: aiohttp.ClientSession, address: str, n: int) -> Heard:
    heard, streamed = Heard(), n % 2 == 0
    body = {"model": "slow/m", "messages": [{"role": "user", "content": str(n)}], "stream": streamed}
    try:
        async with session.post(f"{address}/v1/chat/completions", json=body) as response:
            assert response.status == 200, await response.text()
            heard.turn = response.headers["x-whystop-turn"]
            if not streamed:
                heard.text = (await response.json())["choices"][0]["message"]["content"]
                heard.whole = True
            async for line in response.content:
                if line.startswith(b"data: {"):
                    heard.text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
                heard.whole = heard.whole or line.startswith(b"data: [DONE]")
    except (aiohttp.ClientError, ConnectionError):
        pass
    return heard


async def killed_midway(address: str, secret: str, kill: Callable[[], None]) -> list[Heard]:
    """All calls at once; the server is killed when enough of them are answered."""
    headers = {"authorization": f"Bearer {secret}"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        calls = [asyncio.create_task(ask(session, address, n)) for n in range(CALLS)]
        while sum(call.done() for call in calls) < ENOUGH:
            await asyncio.sleep(0.01)
        kill()
        return await asyncio.gather(*calls)


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[[str], subprocess.Popen]]:
    """Starts a command of ours in a process of its own, on the database of the test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS) or name == "PGOPTIONS"}
    environment = {**kept, "DATABASE_URL": address_of_the_test_database(), "WHYSTOP_DATA_DIR": str(tmp_path)}
    started: list[subprocess.Popen] = []

    def begin(command: str, **more: str) -> subprocess.Popen:
        whole = [sys.executable, *command.split()]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started.append(forked_start.Popen(whole, cwd=CHECKOUT, env={**environment, **more}, **pipes))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_for(look: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_answered_calls_are_stored_and_the_rest_end_as_lost(start):
    one_time_code_create()
    project, by = project_default(), User.objects.get(username=OPERATOR)
    secret = key_create(project=project, by=by, name="killed")[1]
    with provider_of(answer) as upstream:
        connection_create(project=project, name="slow", provider="openai", base_url=f"{upstream}/v1")
        server = start("-m dashboard.bench.gateway.gateway_server")
        address = f"http://127.0.0.1:{int(server.stdout.readline())}"
        heard = asyncio.run(killed_midway(address, secret, lambda: server.send_signal(signal.SIGKILL)))
        server.wait()
    answered = [each for each in heard if each.whole]
    assert ENOUGH <= len(answered) < CALLS
    for each in answered:
        turn = Turn.objects.get(id=each.turn)
        assert turn.status == "completed"
        assert turn.output_text == each.text == "".join(WORDS)
    start("manage.py worker")
    wait_for(lambda: not Turn.objects.filter(status__in=UNFINISHED).exists())
    turns = {str(turn.id): turn for turn in Turn.objects.all()}
    assert len(turns) == CALLS
    assert all(verify(recording_of(turn)).verified for turn in turns.values())
    for turn in turns.values():
        rebuilt = rebuilt_columns(turn)
        assert rebuilt == {name: getattr(turn, name) for name in rebuilt}
    cut = [turns[each.turn] for each in heard if each.turn and not each.whole and len(each.text) > 60]
    assert cut, "streams were under way"
    assert {turn.status for turn in cut} <= {"interrupted", "completed"}
    assert "interrupted" in {turn.status for turn in cut}
    for turn in (turn for turn in turns.values() if turn.status == "interrupted"):
        assert "".join(WORDS).startswith(turn.output_text)
        assert turn.verdict.startswith("Interrupted: The process that served this call is gone.")
    assert all(turn.output_text for turn in cut), "what had arrived is kept"
    assert not OwnedTurn.objects.exists()
    wait_for(lambda: not known_processes())


def known_processes() -> int:
    with database.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM live_process")
        return cursor.fetchone()[0]
