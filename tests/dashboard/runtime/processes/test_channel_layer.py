"""News of one process reach the pages of another, and nobody is told what no page waits for."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from dashboard.gateway.access.shared_counts import SharedCounts
from dashboard.platform.process_identity import ProcessIdentity
from dashboard.runtime.processes import channel_layer
from dashboard.runtime.processes.channel_layer import RelayedChannelLayer
from dashboard.runtime.processes.hub import Hub
from dashboard.runtime.processes.link import Link
from dashboard.runtime.processes.members import Member

PATIENCE = 60  #: seconds


class Processes:
    """So many processes at one hub, all of them in this one."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.hub = Hub(SharedCounts())
        self._patch = patch
        self._tasks: list[asyncio.Task[None]] = []

    async def one_more(self) -> tuple[RelayedChannelLayer, Link]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        link = Link(ProcessIdentity(str(len(self._tasks)), 2, "/", theirs.detach()))
        self._patch.setattr(channel_layer, "link", link)
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        member = Member(str(len(self._tasks)), None, reader, writer, None)  # type: ignore[arg-type] # there is none
        self._tasks += [asyncio.create_task(self.hub.serve(member)), asyncio.create_task(link.run())]
        return RelayedChannelLayer(), link

    async def end(self) -> None:
        for link in self._tasks[1::2]:
            link.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@pytest.fixture
async def processes(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Processes]:
    made = Processes(monkeypatch)
    yield made
    await made.end()


async def until(look) -> None:
    async with asyncio.timeout(PATIENCE):
        while not look():
            await asyncio.sleep(0)


async def test_a_message_reaches_the_pages_of_its_own_and_the_other_processes(processes: Processes):
    (here, link), (there, _) = await processes.one_more(), await processes.one_more()
    pages = {layer: await layer.new_channel() for layer in (here, there)}
    for each, page in pages.items():
        await each.group_add("turn.1", page)
    await until(lambda: "turn.1" in link.wanted)
    await here.group_send("turn.1", {"type": "turn.changed", "seq": 3})
    async with asyncio.timeout(PATIENCE):
        for each, page in pages.items():
            assert await each.receive(page) == {"type": "turn.changed", "seq": 3}


async def test_a_message_without_listeners_elsewhere_is_not_sent(processes: Processes):
    (here, link), (there, other) = await processes.one_more(), await processes.one_more()
    mine, theirs = await here.new_channel(), await there.new_channel()
    await here.group_add("turn.1", mine)
    await there.group_add("turn.2", theirs)
    await until(lambda: link.wanted == {"turn.2"} and other.wanted == {"turn.1"})
    await there.group_discard("turn.2", theirs)
    await until(lambda: not link.wanted)


async def test_a_late_process_learns_the_subscriptions_and_a_leaving_one_drops_its_own(processes: Processes):
    there, other = await processes.one_more()
    await there.group_add("turn.1", await there.new_channel())
    await until(lambda: processes.hub._listeners)
    _, link = await processes.one_more()
    await until(lambda: link.wanted == {"turn.1"})
    processes._tasks[1].cancel()
    await until(lambda: not link.wanted)
    assert other.wanted == set()
