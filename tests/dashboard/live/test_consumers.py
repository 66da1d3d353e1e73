"""Sockets over a real channel layer and database: after the pushes a page is what it would be if opened anew."""

import asyncio
import re
from collections.abc import Callable

import pytest
from channels.db import database_sync_to_async
from channels.routing import URLRouter
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.utils import timezone

from dashboard.accounts.services import one_time_code_create
from dashboard.agents.models import Connection
from dashboard.live.conversations.services import conversation_start
from dashboard.live.models import Signal
from dashboard.live.services import turn_cancel, turn_give_up, turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.runtime.websocket_routes import websocket_urlpatterns
from dashboard.turns.models import Turn
from dashboard.turns.selectors import turn_get
from tests.dashboard.driving import AgentOf, Play, drive, driven
from tests.dashboard.live_sockets import Dialled, dialled, everything
from tests.dashboard.pages import compact, page
from tests.dashboard.pushed_page import by_id, fresh

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def operator(db: None) -> None:
    one_time_code_create()


async def test_an_unauthenticated_viewer_is_refused():
    socket = Dialled(URLRouter(websocket_urlpatterns), "/ws/timeline/")
    socket.scope["user"] = AnonymousUser()
    accepted, code = await socket.connect()
    assert (accepted, code) == (False, 4401)


@pytest.fixture
def queued(agent_of: AgentOf, slow: Connection) -> Turn:
    return turn_start(agent=agent_of("sim-essay", connection=slow, max_tokens=60), input_text="Slowly, please.")


async def test_a_turn_watched_to_its_end_looks_like_a_freshly_opened_page(queued: Turn):
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until="What if…")
        await driving
        assert by_id(pushed) == await fresh(queued.id)
        assert (await socket.receive_output())["type"] == "websocket.close"


async def test_text_is_pushed_while_it_streams(queued: Turn):
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until="What if…")
        await driving
    drafts = [html for html in pushed if compact(html).strip().startswith('<span id="draft" hx-swap-oob="true">')]
    assert len(drafts) >= 3
    assert len({*drafts}) == len(drafts)


async def test_a_page_that_missed_everything_catches_up_when_it_connects(play: Play):
    turn = await database_sync_to_async(play)("sim-essay", max_tokens=60)
    async with dialled(f"/ws/turns/{turn.id}/?seq=1") as socket:
        assert by_id([await socket.receive_from()]) == await fresh(turn.id)


async def test_an_up_to_date_page_is_sent_nothing_and_closed(play: Play):
    turn = await database_sync_to_async(play)("sim-essay")
    async with dialled(f"/ws/turns/{turn.id}/?seq={turn.last_seq}") as socket:
        assert (await socket.receive_output())["type"] == "websocket.close"


def withdrawn(turn: Turn) -> None:
    turn_cancel(turn=turn, by="ada")


def given_up(turn: Turn) -> None:
    turn_give_up(turn_id=turn.id, why="its history cannot be read")


@pytest.mark.parametrize("end", [withdrawn, given_up])
async def test_a_page_shows_an_ending_without_a_record(in_line: Turn, end: Callable[[Turn], None]):
    address = f"/ws/turns/{in_line.id}/?seq=0&status=queued"
    async with dialled(address) as early:
        assert await early.receive_nothing(timeout=0.5)
        await database_sync_to_async(end)(in_line)
        assert by_id([await early.receive_from()]) == await fresh(in_line.id)
        assert (await early.receive_output())["type"] == "websocket.close"
    async with dialled(address) as late:
        assert by_id([await late.receive_from()]) == await fresh(in_line.id)


@pytest.fixture
def in_line(agent_of: AgentOf) -> Turn:
    """A turn that waits for the one before it."""
    agent = agent_of("sim-essay")
    talk = conversation_start(agent=agent)
    return [turn_start(agent=agent, input_text=text, conversation=talk) for text in ("One?", "Two?")][1]


async def test_a_reconnecting_page_is_sent_everything_because_it_may_show_more_than_its_url_says(play: Play):
    turn = await database_sync_to_async(play)("sim-essay", max_tokens=60)
    async with dialled(f"/ws/turns/{turn.id}/?seq={turn.last_seq}&again=1") as socket:
        assert by_id([await socket.receive_from()]) == await fresh(turn.id)


async def test_a_turn_is_followed_even_if_the_layer_drops_every_message(queued: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dashboard.platform.notifications._say", lambda _: None)
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until="What if…")
        await driving
    assert by_id(pushed) == await fresh(queued.id)


async def test_a_missing_turn_closes_the_socket():
    async with dialled("/ws/turns/01890000-0000-7000-8000-000000000000/?seq=nonsense") as socket:
        assert (await socket.receive_output())["type"] == "websocket.close"


async def test_a_rerun_is_pushed_as_its_column(queued: Turn):
    async with dialled(f"/ws/turns/{queued.id}/rerun/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until="continuations used")
        await driving
    assert all(html.lstrip().startswith('<div id="rerun"') for html in pushed)


async def test_a_rerun_is_followed_to_its_end_including_in_its_family(play: Play, browser: Client):
    parent = await database_sync_to_async(play)("sim-essay", max_tokens=60)
    child = await database_sync_to_async(turn_rerun)(turn=parent, overrides={"max_tokens": 400})
    address = f"/turns/{parent.id}/replay?max_tokens=400&rerun={child.id}"
    waiting = await database_sync_to_async(page)(browser, address)
    await database_sync_to_async(drive)(child)
    async with dialled(f"/ws/turns/{child.id}/rerun/?seq=0") as socket:
        pushed = compact(await socket.receive_from()).replace(' hx-swap-oob="true"', "")
    fresh_page = await database_sync_to_async(page)(browser, address)
    for part in (f'<span id="came-{child.id}">', f'<p class="numbers" id="spent-{child.id}">'):
        assert line_of(pushed, part) == line_of(fresh_page, part)
        assert line_of(pushed, part) != line_of(waiting, part)


def line_of(html: str, part: str) -> str:
    """The element that begins with `part`."""
    name, depth = part[1:].partition(" ")[0], 0
    whole = html[html.index(part) :]
    for tag in re.finditer(rf"<(/?){name}\b", whole):
        depth += -1 if tag[1] else 1
        if not depth:
            return whole[: tag.end()]
    raise AssertionError(f"{part} has no end")


async def test_an_action_refused_by_the_machine_is_pushed_without_a_record(queued: Turn):
    await database_sync_to_async(drive_held)(queued)
    seq = (await database_sync_to_async(turn_get)(queued.id)).last_seq
    async with dialled(f"/ws/turns/{queued.id}/?seq={seq}") as socket:
        signal = Signal(
            turn_id=queued.id, action="release", by="ada", refused="It has ended.", handled_at=timezone.now()
        )
        await database_sync_to_async(signal.save)()
        pushed = await everything(socket, until="the action was not performed: It has ended.")
    assert 'id="operate-refused"' in pushed[-1]


def drive_held(turn: Turn) -> None:
    Turn.objects.filter(id=turn.id).update(breakpoints=[{"state": "evaluate_stop"}])
    drive(turn)
