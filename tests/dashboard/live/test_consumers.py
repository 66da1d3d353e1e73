"""Sockets over a real channel layer and database: after the pushes a page is what it would be if opened anew."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from channels.db import database_sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.http import QueryDict
from django.template.loader import render_to_string

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, one_time_code_create
from dashboard.agents.models import Agent, Connection
from dashboard.live.consumers import TURN_PARTS, TimelineConsumer
from dashboard.live.routing import websocket_urlpatterns
from dashboard.live.services import turn_start
from dashboard.turns.models import Turn
from dashboard.turns.selectors import turn_get
from dashboard.turns.views import turn_context
from tests.dashboard.driving import AgentOf, Play, driven

pytestmark = pytest.mark.django_db(transaction=True)


@asynccontextmanager
async def dialled(address: str) -> AsyncIterator[WebsocketCommunicator]:
    """A signed-in page's socket."""
    socket = WebsocketCommunicator(URLRouter(websocket_urlpatterns), address)
    socket.scope["user"] = await User.objects.aget(username=OPERATOR)
    accepted, _ = await socket.connect()
    assert accepted
    try:
        yield socket
    finally:
        await socket.disconnect()


@pytest.fixture(autouse=True)
def operator(db: None) -> None:
    one_time_code_create()


async def everything(socket: WebsocketCommunicator, *, until: str) -> list[str]:
    """What is pushed until a push says `until`."""
    pushed: list[str] = []
    while not pushed or until not in pushed[-1]:
        pushed.append(await socket.receive_from(timeout=20))
    return pushed


def by_id(fragments: list[str]) -> dict[str, str]:
    """The last of the pushed elements, by the id each replaces; drafts stand within the answer and go with it."""
    last: dict[str, str] = {}
    for fragment in fragments:
        for part in re.split(r"(?=<(?:div|section)[^>]* hx-swap-oob=\"true\")", fragment):
            if found := re.match(r"<\w+[^>]*? id=\"([\w-]+)\"", part):
                last[found[1]] = part
    last.pop("draft", None)
    return last


@database_sync_to_async
def fresh(turn: Turn) -> dict[str, str]:
    context = turn_context(turn_get(turn.id))
    parts = {**context, "shown": context["page"].shown, "oob": True}
    return by_id([render_to_string(f"turns/{part}.html", parts) for part in TURN_PARTS])


async def test_a_stranger_stays_out():
    socket = WebsocketCommunicator(URLRouter(websocket_urlpatterns), "/ws/timeline/")
    socket.scope["user"] = AnonymousUser()
    accepted, code = await socket.connect()
    assert (accepted, code) == (False, 4401)


@pytest.fixture
def queued(agent_of: AgentOf, slow: Connection) -> Turn:
    return turn_start(agent=agent_of("sim-essay", connection=slow, max_tokens=60), input_text="Slowly, please.")


async def test_a_turn_watched_to_its_end_looks_as_if_opened_anew(queued: Turn):
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until="What if…")
        await driving
        assert by_id(pushed) == await fresh(queued)
        assert (await socket.receive_output(timeout=5))["type"] == "websocket.close"


async def test_text_is_pushed_while_it_streams(queued: Turn):
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until="What if…")
        await driving
    drafts = [html for html in pushed if html.startswith('<span id="draft" hx-swap-oob="true">')]
    assert len(drafts) >= 3
    assert len({*drafts}) == len(drafts)


async def test_a_page_that_missed_everything_catches_up_when_it_connects(play: Play):
    turn = await database_sync_to_async(play)("sim-essay", max_tokens=60)
    async with dialled(f"/ws/turns/{turn.id}/?seq=1") as socket:
        assert by_id([await socket.receive_from(timeout=5)]) == await fresh(turn)


async def test_a_page_that_is_up_to_date_is_sent_nothing_and_closed(play: Play):
    turn = await database_sync_to_async(play)("sim-essay")
    async with dialled(f"/ws/turns/{turn.id}/?seq={turn.last_seq}") as socket:
        assert (await socket.receive_output(timeout=5))["type"] == "websocket.close"


async def test_a_turn_is_followed_though_the_layer_drops_every_message(queued: Turn, monkeypatch: pytest.MonkeyPatch):
    async def dropped(*_: object) -> None:
        return None

    monkeypatch.setattr("dashboard.live.announcing._send", dropped)
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until="What if…")
        await driving
    assert by_id(pushed) == await fresh(queued)


async def test_a_turn_that_is_not_there_closes_the_socket():
    async with dialled("/ws/turns/01890000-0000-7000-8000-000000000000/?seq=nonsense") as socket:
        assert (await socket.receive_output(timeout=5))["type"] == "websocket.close"


async def test_new_turns_appear_at_the_top_of_the_timeline_and_change_in_place(queued: Turn):
    async with dialled("/ws/timeline/") as socket:
        assert str(queued.id) in await socket.receive_from(timeout=5)
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until='data-reason="retry_limit"')
        await driving
        assert f'<tr hx-swap-oob="true" id="row-{queued.id}">' in pushed[-1]
        agent = await Agent.objects.select_related("connection", "policy", "project").aget()
        other = await database_sync_to_async(turn_start)(agent=agent, input_text="One more.")
        push = await socket.receive_from(timeout=5)
        assert push.startswith('<tbody hx-swap-oob="afterbegin:#rows">')
        assert f'id="row-{other.id}"' in push


async def test_rows_that_change_and_rows_that_come_are_messages_of_their_own(queued: Turn):
    """A table's body after a bare row is dropped by the parser, and the new turn with it."""
    consumer = TimelineConsumer()
    consumer.begin(QueryDict(""))
    await database_sync_to_async(consumer.news)()
    await driven(queued)
    agent = await Agent.objects.select_related("connection", "policy", "project").aget()
    other = await database_sync_to_async(turn_start)(agent=agent, input_text="One more.")
    changed, added, _ = await database_sync_to_async(consumer.news)()
    assert changed.startswith(f'<tr hx-swap-oob="true" id="row-{queued.id}">')
    assert added.startswith(f'<tbody hx-swap-oob="afterbegin:#rows"><tr class="fresh" id="row-{other.id}">')


async def test_the_timeline_respects_its_filters(queued: Turn):
    async with dialled("/ws/timeline/?status=queued") as socket:
        assert str(queued.id) in await socket.receive_from(timeout=5)
        driving = asyncio.create_task(driven(queued))
        assert await socket.receive_from(timeout=5) == f'<tr id="row-{queued.id}" hx-swap-oob="delete"></tr>'
        await driving


async def test_a_later_page_is_told_how_many_turns_are_new(queued: Turn):
    newest = "01890000-0000-7000-8000-000000000000"
    async with dialled(f"/ws/timeline/?cursor=nonsense&newest={newest}") as socket:
        pushed = [await socket.receive_from(timeout=5), await socket.receive_from(timeout=5)]
        assert "1 new turn<" in pushed[1]


async def test_the_turns_of_an_agent_are_kept_up_to_date(queued: Turn):
    async with dialled("/ws/agents/sim-essay/") as socket:
        assert str(queued.id) in await socket.receive_from(timeout=5)
        driving = asyncio.create_task(driven(queued))
        await everything(socket, until='data-reason="retry_limit"')
        await driving


async def test_a_rerun_is_pushed_as_its_column(queued: Turn):
    async with dialled(f"/ws/turns/{queued.id}/rerun/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until="continuations used")
        await driving
    assert all(html.startswith('<div id="rerun"') for html in pushed)
