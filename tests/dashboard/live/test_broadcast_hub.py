"""Rooms over a real layer: one look for all, nobody waits for the slow, and every page ends up true."""

import asyncio
import random
import sys
from collections.abc import Hashable, Iterator

import pytest
from channels.layers import get_channel_layer

from dashboard.live import broadcast_hub
from dashboard.live.broadcast_hub import CLOSE, DONE, MOST_WAITING, TRY_AGAIN, Message, Subscriber, hub_of
from dashboard.live.scenes import Scene
from dashboard.live.websocket_app import _Visit
from dashboard.platform import unread_responses
from dashboard.platform.unread_responses import KeptAnswer
from tests.nightly import nightly

GROUP = "numbers"


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    yield
    assert not any(broadcast_hub._rooms.values())


class Subject:
    """What is watched: numbers that are only added to."""

    def __init__(self) -> None:
        self.numbers = [0]
        self.over = False
        self.looks = 0
        self.rendered = 0
        self.broken = False

    async def add(self) -> None:
        self.numbers.append(len(self.numbers))
        await get_channel_layer().group_send(GROUP, {"type": "turn.changed"})


class Numbers(Scene):
    """Pushes the numbers a page lacks; to a page of which nothing is known, all of them."""

    group = GROUP
    pace = 0.01

    def __init__(self, subject: Subject) -> None:
        self.subject: Subject = subject
        self.count = 0

    def look(self) -> None:
        if self.subject.broken:
            raise ConnectionError("the database is away")
        self.subject.looks += 1
        self.count, self.over = len(self.subject.numbers), self.subject.over

    def since(self, shows: Hashable) -> tuple[list[str], Hashable]:
        self.subject.rendered += 1
        begin = shows if isinstance(shows, int) else 0
        what = "all" if shows is None else "more"
        said = " ".join(map(str, self.subject.numbers[begin : self.count]))
        return ([f"{what} {said}"] if begin < self.count else []), self.count

    def is_over(self) -> bool:
        return self.over


class Page:
    """A browser's page: what it was sent, put together; `reads` says whether it reads just now."""

    def __init__(self, subject: Subject, shows: int = 0, scene: type[Scene] | None = None) -> None:
        self.numbers = list(range(shows))
        self.closed: int | None = None
        self.received: list[str] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.viewer = Subscriber(self._take, shows)
        self.room = hub_of((scene or Numbers)(subject))
        self.room.join(self.viewer)
        self.writing = asyncio.create_task(self.viewer.write())

    async def _take(self, message: Message) -> None:
        await self.reads.wait()
        if message["type"] == CLOSE:
            self.closed = message["code"]
            return
        self.received.append(message["text"])
        what, *numbers = message["text"].split()
        self.numbers = [*([] if what == "all" else self.numbers), *map(int, numbers)]

    async def leave(self) -> None:
        self.room.leave(self.viewer)
        self.writing.cancel()
        await asyncio.gather(self.writing, return_exceptions=True)


async def until(true: object) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.005)


async def all_left(pages: list[Page]) -> None:
    for page in pages:
        await page.leave()


async def test_a_change_is_read_and_rendered_once_for_all_viewers():
    subject = Subject()
    pages = [Page(subject) for _ in range(50)]
    await until(lambda: all(page.numbers == [0] for page in pages))
    looks, rendered = subject.looks, subject.rendered
    await subject.add()
    await until(lambda: all(page.numbers == [0, 1] for page in pages))
    assert (subject.looks - looks, subject.rendered - rendered) == (1, 1)
    assert len({id(page.received[-1]) for page in pages}) == 1
    await all_left(pages)


async def test_a_late_viewer_is_sent_what_its_page_lacks():
    subject = Subject()
    first = Page(subject)
    await subject.add()
    await until(lambda: first.numbers == [0, 1])
    later = Page(subject, shows=1)
    newer = Page(subject, shows=2)
    await until(lambda: later.numbers == [0, 1])
    assert (later.received, newer.received) == (["more 1"], [])
    await all_left([first, later, newer])


async def test_a_slow_viewer_blocks_nobody_and_gets_everything_when_it_reads_again():
    subject = Subject()
    slow, quick = Page(subject), Page(subject)
    await until(lambda: slow.numbers == quick.numbers == [0])
    slow.reads.clear()
    for count in range(2, 2 * MOST_WAITING):
        await subject.add()
        await until(lambda count=count: len(quick.numbers) == count)
    assert slow.numbers == [0]
    slow.reads.set()
    await until(lambda: slow.numbers == quick.numbers == subject.numbers)
    assert [text for text in slow.received if text.startswith("all")] == [slow.received[-1]]
    assert len(slow.received) < MOST_WAITING
    await all_left([slow, quick])


async def test_sockets_are_closed_once_nothing_can_change_and_slow_ones_have_caught_up():
    subject = Subject()
    slow, quick = Page(subject), Page(subject)
    await until(lambda: slow.numbers == quick.numbers == [0])
    slow.reads.clear()
    for count in range(2, 2 * MOST_WAITING):
        await subject.add()
        await until(lambda count=count: len(quick.numbers) == count)
    subject.over = True
    await until(lambda: quick.closed == DONE)
    slow.reads.set()
    await until(lambda: slow.closed == DONE)
    assert slow.numbers == quick.numbers == subject.numbers
    await all_left([slow, quick])


async def test_a_room_ends_with_its_last_viewer():
    subject = Subject()
    first, second = Page(subject), Page(subject)
    assert first.room is second.room
    await until(lambda: second.numbers == [0])
    await first.leave()
    assert hub_of(Numbers(subject)) is second.room
    await second.leave()
    await asyncio.sleep(0.1)  # a look that was under way ends
    looks = subject.looks
    await subject.add()
    await asyncio.sleep(0.1)
    assert subject.looks == looks
    again = Page(subject)
    assert again.room is not first.room
    await until(lambda: again.numbers == [0, 1])
    await again.leave()


async def test_nothing_is_kept_for_a_closed_page():
    """Its room may tell it of a change after its connection was lost, and before it has left."""
    subject, kept, gone = Subject(), KeptAnswer(), asyncio.Event()

    async def send(_message: Message) -> None:
        await asyncio.Event().wait()

    async def receive() -> dict[str, str]:
        await gone.wait()
        return {"type": "websocket.disconnect"}

    viewer = Subscriber(send, 0, kept=kept)
    staying = asyncio.create_task(_Visit(Numbers(subject), viewer).stay(receive))
    await until(lambda: kept.size)
    kept.clear()  # as the server does when the connection is lost
    viewer.take([{"type": "websocket.send", "text": "more 1"}], 1)
    assert kept.size
    gone.set()
    await staying
    assert (kept.size, unread_responses._keepers) == (0, {})


async def test_a_failed_read_makes_all_pages_reconnect_to_a_new_room():
    subject = Subject()
    page = Page(subject)
    await until(lambda: page.numbers == [0])
    subject.broken = True
    await subject.add()
    await until(lambda: page.closed == TRY_AGAIN)
    subject.broken = False
    again = Page(subject, shows=1)
    assert again.room is not page.room
    await until(lambda: again.numbers == [0, 1])
    await all_left([page, again])


async def test_an_unreachable_channel_layer_is_retried_and_pages_stay_correct(
    monkeypatch: pytest.MonkeyPatch,
):
    async def refused(*_: object) -> None:
        raise ConnectionError("the layer is away")

    subject = Subject()
    with monkeypatch.context() as away:
        away.setattr(get_channel_layer(), "group_add", refused)
        page = Page(subject)
        await until(lambda: page.numbers == [0])
        await subject.add()
        await until(lambda: page.numbers == [0, 1])
    await until(lambda: get_channel_layer().groups.get(GROUP))
    await page.leave()


@pytest.mark.parametrize("seed", [0, 1, *map(nightly, range(2, 8))])
async def test_after_any_sequence_each_page_equals_a_freshly_opened_one(seed: int):
    chance, subject = random.Random(seed), Subject()
    pages: list[Page] = []
    for _ in range(40):
        match chance.randrange(5):
            case 0 if len(pages) < 8:
                pages.append(Page(subject, shows=chance.randint(0, len(subject.numbers))))
            case 1 if pages:
                await pages.pop(chance.randrange(len(pages))).leave()
            case 2 if pages:
                reads = chance.choice(pages).reads
                reads.clear() if reads.is_set() else reads.set()
            case _:
                for _ in range(chance.choice([1, 1, 30])):
                    await subject.add()
                    await asyncio.sleep(chance.choice([0, 0, 0.012]))
    for page in pages:
        page.reads.set()
    await until(lambda: all(page.numbers == subject.numbers for page in pages))
    await all_left(pages)


async def test_a_message_counts_once_while_waiting_and_while_being_sent():
    text, kept, sizes = "x" * 100_000, KeptAnswer(), list[int]()

    async def send(message: Message) -> None:
        if message["type"] == "websocket.send":
            kept.keep(message["text"], sys.getsizeof(text))
            sizes.append(kept.size)
            kept.let_go(message["text"])

    viewer = Subscriber(send, "nothing", kept=kept)
    viewer.take([{"type": "websocket.send", "text": text}], "text")
    assert kept.size == sys.getsizeof(text)
    viewer.end(1000)
    await viewer.write()
    assert (sizes, kept.size) == ([sys.getsizeof(text)], 0)


class Kept(Numbers):
    """Keeps a megabyte from one look to the next."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.text = ""

    def look(self) -> None:
        super().look()
        self.text = "x" * 1_000_000


async def test_rooms_above_the_shared_limit_keep_nothing_and_their_pages_stay_correct(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(broadcast_hub, "MOST_BYTES", 2_500_000)
    monkeypatch.setattr(broadcast_hub, "PATIENCE", 0.02)
    pages = [(subject := Subject(), Page(subject, scene=Kept)) for _ in range(5)]
    for subject, _ in pages:
        await subject.add()
    await until(lambda: all(page.numbers == subject.numbers == [0, 1] for subject, page in pages))
    await until(lambda: all(subject.looks >= 2 for subject, _ in pages))
    await until(lambda: sum(len(page.room.scene.text) for _, page in pages) == 2_000_000)
    assert 2_000_000 < broadcast_hub.total() < 2_500_000
    await pages[0][1].leave()
    await pages[1][1].leave()
    await until(lambda: sum(len(page.room.scene.text) for _, page in pages[2:]) == 2_000_000)
    await all_left([page for _, page in pages[2:]])
    assert broadcast_hub.total() == 0
