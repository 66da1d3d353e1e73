"""Live equals fresh: whoever watches a conversation, however often cut off, has the page that is opened anew."""

import asyncio
import random
import re
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from html import unescape

import pytest
from channels.db import database_sync_to_async
from django.db import connections

from dashboard.accounts.services import one_time_code_create
from dashboard.agents.models import Agent, Connection
from dashboard.live.broadcast_hub import UNKNOWN
from dashboard.live.conversations.consumers import ConversationScene
from dashboard.live.conversations.page_context import PARTS, ConversationView, conversation_view, page_context, rendered
from dashboard.live.conversations.selectors import conversation_get
from dashboard.live.conversations.services import budget_set, conversation_start
from dashboard.live.services import turn_cancel, turn_start
from dashboard.platform import notifications
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive, driven
from tests.dashboard.live.conversations.conftest import Say
from tests.dashboard.live_sockets import PATIENCE, Dialled, dialled
from tests.dashboard.pages import compact
from tests.nightly import nightly

pytestmark = pytest.mark.django_db(transaction=True)
#: An element that replaces another, as the pages and the sockets have it.
ROOT = re.compile(r'(?=<(?:div|section|header|nav)[^>]*? id="[\w-]+" hx-swap-oob="true")')
ID = re.compile(r'<\w+[^>]*? id="([\w-]+)"')
OWN_SOCKET = re.compile(r' hx-ext="ws" ws-connect="[^"]*"')


@pytest.fixture(autouse=True)
def operator(db: None) -> None:
    one_time_code_create()


@pytest.fixture
def slow_agent(agent_of: AgentOf, slow: Connection) -> Agent:
    return agent_of("sim-essay", connection=slow, max_tokens=25)


@pytest.fixture
def talk(slow_agent: Agent) -> Conversation:
    return conversation_start(agent=slow_agent, token_budget=9_000)


def parts_in(fragment: str) -> Iterator[tuple[str, str]]:
    for part in ROOT.split(compact(fragment)):
        if found := ID.match(part):
            yield found[1], part


def talk_now(conversation: Conversation) -> ConversationView:
    found = conversation_get(conversation.pk, project=conversation.project)
    assert found.agent is not None
    return conversation_view(found.agent, found, since=1)


@dataclass
class Viewer:
    """A page in a browser: the parts it shows, by id, and its two sockets."""

    conversation: Conversation
    shows: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    address: str = ""
    turn: str = ""
    pushed: list[str] = field(default_factory=list)

    def open(self) -> None:
        """The page is loaded."""
        now = talk_now(self.conversation)
        page_context(now)
        for part in PARTS:
            self.take(rendered(now, part))
        self.address = f"/ws/agents/sim-essay/?{now.query}"

    def take(self, fragment: str) -> None:
        """What htmx does with a message: each element takes the place of the one of its id."""
        for name, html in parts_in(fragment):
            self.shows[name] = html
            if name == "newest":
                self.take_turn(html)

    def take_turn(self, html: str) -> None:
        found = re.search(r'ws-connect="([^"]*)"', html)
        self.turn = unescape(found[1]) if found else ""
        for name in [*self.shows]:
            if name in TURN_IDS:
                del self.shows[name]

    async def watch(self, seconds: float, *, until: Callable[[], bool] = lambda: False) -> None:
        """Both sockets, for a while; where the newest turn changes, the page dials that turn's."""
        clock = asyncio.get_running_loop().time
        end, followed, of_turn = clock() + seconds, "", None
        async with AsyncExitStack() as sockets:
            socket = await sockets.enter_async_context(dialled(self.address))
            while clock() < end and not until():
                await self.hear(socket)
                if self.turn != followed:
                    followed = self.turn
                    of_turn = await sockets.enter_async_context(dialled(self.turn)) if self.turn else None
                if of_turn is not None:
                    await self.hear(of_turn)

    async def hear(self, socket: Dialled) -> None:
        while not await socket.receive_nothing(timeout=0.02, interval=0.005):
            message = await socket.receive_output()
            if message["type"] == "websocket.send":
                self.pushed.append(message["text"])
                self.take(message["text"])


TURN_IDS = frozenset({"turn-head", "machine", "answer", "moments", "attempts", "deck", "operate", "turn-break"})


def fresh(conversation: Conversation) -> dict[str, str]:
    """The parts of the page, each as it is when the page is opened now."""
    now = talk_now(conversation)
    return {name: html for part in PARTS for name, html in parts_in(rendered(now, part))}


def whole(shows: dict[str, str]) -> dict[str, str]:
    """The parts a page shows, the newest turn's own put into it where they were pushed by themselves."""
    newest = shows["newest"]
    for name in TURN_IDS & shows.keys():
        pushed = shows[name].replace(' hx-swap-oob="true"', "")
        newest = replaced(newest, name, pushed)
    shown = {**shows, "newest": newest}
    return {name: _settled(shown[name]) for name in ("heading", "transcript", "newest", "line")}


def replaced(page: str, name: str, part: str) -> str:
    """The page with the element of this id replaced. Elements of one tag nest, so ends are counted."""
    begin = re.search(rf'<(\w+)[^>]*? id="{name}"', page)
    assert begin, name
    depth, place = 0, begin.start()
    for found in re.finditer(rf"<(/?){begin[1]}\b", page[begin.start() :]):
        depth += -1 if found[1] else 1
        if depth == 0:
            place = begin.start() + found.end() + 1
            break
    body = re.match(rf"(.*</{begin[1]}>)", part, re.DOTALL)
    assert body, name
    return page[: begin.start()] + body[1] + page[place:]


def _settled(html: str) -> str:
    html = re.sub(r'<input type="hidden" name="csrfmiddlewaretoken"[^>]*>', "", html)
    return re.sub(r"\s+", " ", OWN_SOCKET.sub("", html.replace(' hx-swap-oob="true"', ""))).strip()


def dropping(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """The layer loses this share of its messages."""
    say, chance = notifications._say, random.Random(7)

    def lossy(words: dict[str, notifications.Message]) -> None:
        say({group: message for group, message in words.items() if chance.random() >= share})

    monkeypatch.setattr(notifications, "_say", lossy)


async def burst(agent: Agent, conversation: Conversation) -> dict[str, str]:
    """Turns sent at once and driven in line: one is withdrawn, the last but one is held, so the last waits.

    What a page that is opened then shows.
    """
    send = database_sync_to_async(turn_start)
    holding = {2: [{"state": "evaluate_stop"}]}
    turns = [
        await send(agent=agent, input_text=f"Prompt {n}.", conversation=conversation, breakpoints=holding.get(n))
        for n in range(4)
    ]
    await database_sync_to_async(turn_cancel)(turn=turns[1], by="ada")
    await driven(turns[0])
    await driven(turns[2])
    await database_sync_to_async(budget_set)(conversation=conversation, token_budget=50_000)
    return whole(await database_sync_to_async(fresh)(conversation))


@pytest.mark.parametrize("lost", [nightly(0.0), 0.5, nightly(1.0)])
async def test_every_viewer_ends_with_the_page_as_freshly_opened(
    slow_agent: Agent, talk: Conversation, monkeypatch: pytest.MonkeyPatch, lost: float
):
    dropping(monkeypatch, lost)
    steady, restless, late = Viewer(talk), Viewer(talk), Viewer(talk)
    for viewer in (steady, restless, late):
        await database_sync_to_async(viewer.open)()
    at_work = asyncio.create_task(burst(slow_agent, talk))
    watching = asyncio.create_task(steady.watch(PATIENCE, until=lambda: at_work.done() and shows(steady, at_work)))
    while not at_work.done():
        await restless.watch(0.4)
        await asyncio.sleep(0.2)
    await asyncio.gather(at_work, watching)
    await restless.watch(PATIENCE, until=lambda: shows(restless, at_work))
    await late.watch(PATIENCE, until=lambda: shows(late, at_work))

    anew = await at_work
    assert "Prompt 2." in anew["newest"]
    assert "Prompt 3." in anew["line"]
    for viewer in (steady, restless, late):
        shown = whole(viewer.shows)
        for part, html in anew.items():
            assert shown[part] == html, part
    # What tasks side by side asked for went through one thread, which has nobody else to close its connection.
    await database_sync_to_async(connections.close_all)()


def shows(viewer: Viewer, at_work: asyncio.Task[dict[str, str]]) -> bool:
    return whole(viewer.shows) == at_work.result()


async def test_an_up_to_date_page_is_sent_nothing(say: Say, conversation: Conversation):
    await database_sync_to_async(lambda: drive(say("One?")))()
    viewer = Viewer(conversation)
    await database_sync_to_async(viewer.open)()
    async with dialled(viewer.address) as socket:
        assert await socket.receive_nothing(timeout=1.5)


async def test_a_reconnecting_page_is_sent_changes_that_were_reverted_in_between(say: Say, conversation: Conversation):
    """A prompt was queued, shown, and withdrawn while the page was cut off: its address knows of none of it."""
    await database_sync_to_async(say)("Under way.")
    viewer = Viewer(conversation)
    await database_sync_to_async(viewer.open)()
    waiting = await database_sync_to_async(say)("I am next.")
    async with dialled(viewer.address) as socket:
        await viewer.hear(socket)
        assert "I am next." in await arrived(viewer, socket, "line", "I am next.")
    await database_sync_to_async(turn_cancel)(turn=waiting, by="ada")
    async with dialled(f"{viewer.address}&again=1") as socket:
        await arrived(viewer, socket, "transcript", "I am next.")
    now = await database_sync_to_async(talk_now)(conversation)
    assert viewer.shows["line"].strip() == compact(await database_sync_to_async(rendered)(now, "line")).strip()


async def arrived(viewer: Viewer, socket: Dialled, part: str, words: str) -> str:
    """The part, once it says these words."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while words not in viewer.shows[part]:
        assert asyncio.get_running_loop().time() < deadline, viewer.shows[part]
        await viewer.hear(socket)
    await viewer.hear(socket)
    return viewer.shows[part]


def test_an_update_for_many_viewers_is_rendered_once(say: Say, conversation: Conversation):
    drive(say("One?"))
    scene = ConversationScene("sim-essay", conversation.pk)
    scene.look()
    one, other = scene.since(UNKNOWN), scene.since(UNKNOWN)
    assert [fragment for fragment in one[0] if "One?" in fragment]
    assert all(mine is yours for mine, yours in zip(one[0], other[0], strict=True))
    assert scene.since(one[1])[0] == []


async def test_a_new_conversation_of_the_agent_appears_in_the_list_of_a_page_without_one(say: Say, agent: Agent):
    talk = await database_sync_to_async(conversation_view)(agent, None)
    async with dialled(f"/ws/agents/sim-essay/?{talk.query}") as socket:
        assert await socket.receive_nothing(timeout=0.6)
        await database_sync_to_async(say)("What is new?")
        pushed = await socket.receive_from()
    assert pushed.lstrip().startswith('<nav class="others" id="others" hx-swap-oob="true"')
    assert "What is new?" in pushed


@pytest.mark.parametrize(
    "address",
    [
        "/ws/agents/nobody/",
        "/ws/agents/sim-essay/?conversation=01890000-0000-7000-8000-000000000000",
        "/ws/agents/sim-essay/?conversation=nonsense&from=x&others=",
    ],
)
async def test_a_url_without_a_conversation_is_watched_silently_or_gets_the_list(agent: Agent, address: str):
    async with dialled(address) as socket:
        if "nonsense" in address:
            assert "No conversations yet." in await socket.receive_from()
        assert await socket.receive_nothing(timeout=0.5)


async def test_an_erased_turn_is_no_longer_shown(say: Say, conversation: Conversation):
    first = await database_sync_to_async(lambda: drive(say("One?")))()
    second = await database_sync_to_async(lambda: drive(say("Two?")))()
    viewer = Viewer(conversation)
    await database_sync_to_async(viewer.open)()
    assert "One?" in viewer.shows["transcript"]
    await database_sync_to_async(Turn.objects.filter(pk=first.pk).update)(conversation=None, position=None)
    await viewer.watch(2)
    assert "One?" not in viewer.shows["transcript"]
    assert str(second.pk) in viewer.shows["newest"]
