"""Sockets over a real channel layer and database: after the pushes a page is what it would be if opened anew."""

import asyncio
import re

import pytest
from channels.db import database_sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string

from dashboard.accounts.services import one_time_code_create
from dashboard.agents.models import Connection
from dashboard.live.consumers import TURN_PARTS
from dashboard.live.routing import websocket_urlpatterns
from dashboard.live.services import turn_start
from dashboard.turns.models import Turn
from dashboard.turns.selectors import turn_get
from dashboard.turns.views import turn_context
from tests.dashboard.dialling import dialled, everything
from tests.dashboard.driving import AgentOf, Play, driven

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def operator(db: None) -> None:
    one_time_code_create()


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


async def test_a_rerun_is_pushed_as_its_column(queued: Turn):
    async with dialled(f"/ws/turns/{queued.id}/rerun/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until="continuations used")
        await driving
    assert all(html.startswith('<div id="rerun"') for html in pushed)
