"""The timeline's socket over a real layer and database: after the pushes a page is what it would be if opened anew."""

import asyncio
import json
from urllib.parse import urlsplit

import pytest
from channels.db import database_sync_to_async
from django.http import QueryDict
from django.test import Client

from dashboard.accounts.services import one_time_code_create
from dashboard.agents.models import Agent, Connection
from dashboard.live.scenes import Scene
from dashboard.live.services import turn_start
from dashboard.timeline.consumers import watch_timeline
from dashboard.turns import timeline_page as timeline_page_module
from dashboard.turns.models import Turn
from dashboard.turns.timeline_page import timeline_page
from tests.dashboard.driving import AgentOf, driven
from tests.dashboard.live_sockets import Dialled, dialled, everything
from tests.dashboard.pages import compact
from tests.dashboard.pushed_page import Shown
from tests.nightly import nightly

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def operator(db: None) -> None:
    one_time_code_create()


@pytest.fixture
def queued(agent_of: AgentOf, slow: Connection) -> Turn:
    return turn_start(agent=agent_of("sim-essay", connection=slow, max_tokens=60), input_text="Slowly, please.")


@database_sync_to_async
def opened(address: str = "/") -> Shown:
    from dashboard.accounts.models import User

    client = Client()
    client.force_login(User.objects.get())
    return Shown(client.get(address).content.decode())


@database_sync_to_async
def begun(text: str) -> Turn:
    agent = Agent.objects.select_related("connection", "policy", "project").get()
    return turn_start(agent=agent, input_text=text)


@database_sync_to_async
def news_of(scene: Scene, shown: object) -> tuple[list[str], object]:
    scene.look()
    return scene.since(shown)


async def follow(socket: Dialled, page: Shown, *, until: str) -> None:
    for message in await everything(socket, until=until):
        page.take(message)


async def say(socket: Dialled, tail: str) -> None:
    """Until it was heeded: what is said is taken one by one, so once the second is taken the first is done."""
    for said in (tail, "and nothing more"):
        await socket.send_to(text_data=json.dumps({"tail": said}))
    while not socket.input_queue.empty():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("address", ["/", nightly("/?agent=sim-essay"), "/?status=queued&status=partial"])
async def test_a_followed_timeline_equals_a_freshly_opened_one(queued: Turn, address: str):
    page = await opened(address)
    async with dialled(f"/ws/timeline/{address[1:]}") as socket:
        other = await begun("One more.")
        await follow(socket, page, until=str(other.id))
        await asyncio.gather(driven(queued), driven(other))
        while page.rows != (await opened(address)).rows:
            page.take(await socket.receive_from())
        last = await begun("The last.")
        await follow(socket, page, until=str(last.id))
    fresh = await opened(address)
    assert list(page.rows.items()) == list(fresh.rows.items())
    assert page.waiting == fresh.waiting == ""
    assert len(page.rows) == 3


async def test_a_paused_page_updates_its_rows_and_counts_the_waiting_ones(queued: Turn):
    page = await opened()
    async with dialled("/ws/timeline/") as socket:
        page.take(await socket.receive_from())
        await say(socket, "pause")
        await begun("Waiting.")
        await begun("Waiting too.")
        await follow(socket, page, until="2 new turns")
        assert (list(page.rows), page.waiting) == ([f"row-{queued.id}"], "2 new turns")
        await driven(queued)
        await follow(socket, page, until='data-reason="retry_limit"')
        assert list(page.rows) == [f"row-{queued.id}"]


async def test_a_paused_page_that_is_sorted_counts_only_turns_that_are_new(queued: Turn, monkeypatch):
    monkeypatch.setattr(timeline_page_module, "PAGE_LENGTH", 1)
    await Turn.objects.filter(pk=queued.pk).aupdate(continuations=7)
    await begun("Newer, and with fewer continuations.")
    async with dialled("/ws/timeline/?sort=-more") as socket:
        page = await opened("/?sort=-more")
        page.take(await socket.receive_from())
        await say(socket, "pause")
        await begun("Waiting.")
        await follow(socket, page, until="new turn")
    assert (list(page.rows), page.waiting) == ([f"row-{queued.id}"], "1 new turn")


async def test_sorted_oldest_first_new_turns_are_appended_without_waiting(queued: Turn):
    page = await opened("/?sort=-age")
    newest = "01890000-0000-7000-8000-000000000000"
    async with dialled(f"/ws/timeline/?sort=-age&cursor=nonsense&newest={newest}") as socket:
        page.take(await socket.receive_from())
        other = await begun("One more.")
        await follow(socket, page, until=str(other.id))
    assert (list(page.rows), page.waiting) == ([f"row-{queued.id}", f"row-{other.id}"], "")
    assert list(page.rows) == list((await opened("/?sort=-age")).rows)


async def test_a_resumed_page_equals_a_freshly_opened_one(queued: Turn):
    page = await opened()
    async with dialled("/ws/timeline/") as socket:
        page.take(await socket.receive_from())
        await say(socket, "pause")
        await begun("Waiting.")
        await follow(socket, page, until="1 new turn")
        await say(socket, "resume")
        await follow(socket, page, until='<p id="new-turns"')
    fresh = await opened()
    assert list(page.rows.items()) == list(fresh.rows.items())
    assert page.waiting == fresh.waiting == ""


async def test_an_empty_page_can_be_paused_too(agent_of: AgentOf):
    await database_sync_to_async(agent_of)("sim-essay")
    page = await opened()
    async with dialled("/ws/timeline/") as socket:
        page.take(await socket.receive_from())
        await say(socket, "pause")
        await begun("Waiting.")
        await follow(socket, page, until="1 new turn")
    assert page.rows == {}


@pytest.mark.parametrize("text", ["nonsense", "[]", "[" * 50_000, '{"tail": 3}', '{"other": "pause"}', "null"])
async def test_invalid_messages_change_nothing(queued: Turn, text: str):
    async with dialled("/ws/timeline/") as socket:
        await socket.receive_from()
        await socket.send_to(text_data=text)
        other = await begun("One more.")
        assert str(other.id) in await socket.receive_from()


async def test_a_tag_is_shown_in_the_row(queued: Turn):
    page = await opened()
    async with dialled("/ws/timeline/") as socket:
        await socket.receive_from()
        await Turn.objects.filter(pk=queued.pk).aupdate(tags=["odd"])
        await follow(socket, page, until='class="tag">odd</span>')
    assert page.rows == (await opened()).rows


async def test_new_turns_appear_at_the_top_of_the_timeline_and_change_in_place(queued: Turn):
    async with dialled("/ws/timeline/") as socket:
        assert str(queued.id) in await socket.receive_from()
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until='data-reason="retry_limit"')
        await driving
        assert f'<tr hx-swap-oob="true" id="row-{queued.id}">' in pushed[-1]
        agent = await Agent.objects.select_related("connection", "policy", "project").aget()
        other = await database_sync_to_async(turn_start)(agent=agent, input_text="One more.")
        push = await socket.receive_from()
        assert push.lstrip().startswith('<tbody hx-swap-oob="afterbegin:#rows">')
        assert f'id="row-{other.id}"' in push


async def test_changed_rows_and_new_rows_are_separate_messages(queued: Turn):
    """A table's body after a bare row is dropped by the parser, and the new turn with it."""
    scene, opened = watch_timeline(QueryDict(""))
    _, shown = await news_of(scene, opened)
    await driven(queued)
    agent = await Agent.objects.select_related("connection", "policy", "project").aget()
    other = await database_sync_to_async(turn_start)(agent=agent, input_text="One more.")
    (changed, added), _ = await news_of(scene, shown)
    assert compact(changed).strip().startswith(f'<tr hx-swap-oob="true" id="row-{queued.id}">')
    assert (
        compact(added)
        .strip()
        .startswith(f'<tbody hx-swap-oob="afterbegin:#rows"><tr class="fresh" id="row-{other.id}">')
    )


@database_sync_to_async
def address_shown() -> QueryDict:
    address = timeline_page(QueryDict("")).socket
    return QueryDict(urlsplit(address).query, mutable=True)


async def test_a_page_that_already_shows_the_rows_is_not_sent_them(queued: Turn):
    given = await address_shown()
    told, shown = await news_of(*watch_timeline(given))
    assert "".join(told) == ""
    await driven(queued)
    scene, opened = watch_timeline(given)
    told, _ = await news_of(scene, shown)
    assert f'<tr hx-swap-oob="true" id="row-{queued.id}">' in "".join(told)
    assert (await news_of(scene, opened))[0][0].lstrip().startswith('<tbody id="rows"')


async def test_row_digests_are_computed_only_for_a_freshly_opened_page(queued: Turn, monkeypatch: pytest.MonkeyPatch):
    _, shown = await news_of(*watch_timeline(await address_shown()))
    scene, _ = watch_timeline(QueryDict(""))
    monkeypatch.delattr("dashboard.turns.timeline_page.rows_digest")
    assert "".join((await news_of(scene, shown))[0]) == ""


async def test_a_reconnecting_page_is_sent_the_whole_list(queued: Turn):
    given = await address_shown()
    given["again"] = "1"
    told, _ = await news_of(*watch_timeline(given))
    assert str(queued.id) in told[0]


async def test_the_timeline_respects_its_filters(queued: Turn):
    async with dialled("/ws/timeline/?status=queued") as socket:
        assert str(queued.id) in await socket.receive_from()
        driving = asyncio.create_task(driven(queued))
        assert await socket.receive_from() == f'<tr id="row-{queued.id}" hx-swap-oob="delete"></tr>'
        await driving


async def test_an_older_page_is_told_how_many_turns_are_new(queued: Turn):
    newest = "01890000-0000-7000-8000-000000000000"
    async with dialled(f"/ws/timeline/?cursor=nonsense&newest={newest}") as socket:
        pushed = [await socket.receive_from(), await socket.receive_from()]
        assert "1 new turn<" in compact(pushed[1])
