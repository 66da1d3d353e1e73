"""Connections are handed on to whoever has the fewest, and counted by their address at all processes."""

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from dashboard.runtime.processes import load_balancer
from dashboard.runtime.processes.connection_handover import ELSEWHERE
from dashboard.runtime.processes.load_balancer import LoadBalancer
from dashboard.runtime.processes.members import Member
from dashboard.runtime.request_guard.resource_limits import ResourceLimits

HERE = "127.0.0.1"
PATIENCE = 60  #: seconds


class Taker:
    """A process that takes what is handed on to it, when it is told to."""

    def __init__(self, name: str) -> None:
        ours, self.theirs = socket.socketpair()
        ours.setblocking(False)
        self.member = Member(name, None, None, None, ours)  # type: ignore[arg-type] # it is none
        self.member.ready.set()
        self.taken: list[socket.socket] = []

    def take(self) -> int:
        """How many of its address the next connection has at other processes."""
        told, descriptors, _, _ = socket.recv_fds(self.theirs, ELSEWHERE.size, 1)
        self.taken.append(socket.socket(fileno=descriptors[0]))
        self.member.has_taken(1, {HERE: 1})
        return ELSEWHERE.unpack(told)[0]

    def end_one(self) -> None:
        self.taken.pop().close()
        self.member.has_taken(0, {HERE: -1})

    def close(self) -> None:
        for each in (*self.taken, self.theirs, self.member.handing):
            if each is not None:
                each.close()


@pytest.fixture
def takers() -> Iterator[tuple[Taker, Taker]]:
    both = Taker("1"), Taker("2")
    yield both
    for taker in both:
        taker.close()


class Port:
    """A port whose connections are spread over the takers."""

    def __init__(self, takers: tuple[Taker, ...], per_address: int) -> None:
        self.listening = socket.create_server((HERE, 0))
        members = [taker.member for taker in takers]
        self.spreading = LoadBalancer(self.listening, ResourceLimits(per_address=per_address), lambda: members)
        self._takers, self._clients = takers, []

    async def connect(self, count: int = 1) -> None:
        """So many clients, each once the one before it was handed on."""
        for _ in range(count):
            before = sum(taker.member.load for taker in self._takers)
            self.come()
            async with asyncio.timeout(PATIENCE):
                while sum(taker.member.load for taker in self._takers) == before:
                    await asyncio.sleep(0)

    def come(self) -> None:
        self._clients.append(socket.create_connection(self.listening.getsockname()))

    def close(self) -> None:
        self.spreading.end()
        for each in (*self._clients, self.listening):
            each.close()


@pytest.fixture
async def port(takers: tuple[Taker, Taker], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Port]:
    monkeypatch.setattr(load_balancer, "counted_address", lambda host, _: host)  # this machine's own are counted too
    opened = Port(takers, per_address=4)
    opened.spreading.begin()
    yield opened
    opened.close()


async def test_each_connection_goes_to_the_process_with_the_fewest(port: Port, takers: tuple[Taker, Taker]):
    first, second = takers
    await port.connect(4)
    assert (first.member.load, second.member.load) == (2, 2)
    for taker in takers:
        taker.take()
    second.end_one()
    await port.connect()
    assert (first.member.load, second.member.load) == (2, 2)


async def test_each_process_is_told_the_connections_of_an_address_elsewhere(port: Port, takers: tuple[Taker, Taker]):
    first, second = takers
    await port.connect(3)
    assert [first.take(), second.take(), first.take()] == [0, 1, 1]
    second.end_one()
    await port.connect()
    assert second.take() == 2


async def test_an_address_at_its_limit_is_passed_to_the_process_with_most_of_its_connections(
    port: Port, takers: tuple[Taker, Taker]
):
    first, second = takers
    await port.connect(3)
    for taker in (first, second, first):
        taker.take()
    second.member.connections += 5  # of others
    await port.connect()
    assert first.take() == 1
    await port.connect()
    assert first.take() == 1  # its own three and this one are full: it makes room, or refuses


async def test_a_missing_process_gets_no_connections_and_none_is_lost(port: Port, takers: tuple[Taker, Taker]):
    first, second = takers
    first.member.ready.clear()
    await port.connect(2)
    assert (first.member.load, second.member.load) == (0, 2)
    second.member.ready.clear()
    port.come()
    for _ in range(50):
        await asyncio.sleep(0)
    assert (first.member.load, second.member.load) == (0, 2)
    first.member.ready.set()
    async with asyncio.timeout(PATIENCE):
        while not first.member.load:
            await asyncio.sleep(0.01)
    assert first.take() == 2


async def test_a_supervisor_without_a_free_descriptor_waits_and_then_accepts_the_queued_ones(
    port: Port, takers: tuple[Taker, Taker], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(load_balancer, "_NO_FILE_SECONDS", 0.05)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    port.come()  # the kernel has it; nobody has accepted it yet
    with socket.socket() as last:
        free = last.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        looked = await _turns_for(0.12)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sum(taker.member.load for taker in takers) == 0
    assert looked < 50, "it does not look again at every turn of the loop"
    async with asyncio.timeout(PATIENCE):
        while sum(taker.member.load for taker in takers) == 0:
            await asyncio.sleep(0.01)


async def _turns_for(seconds: float) -> int:
    """How often the loop has turned by then, while nothing here has it turn."""
    loop, over, turns = asyncio.get_running_loop(), asyncio.Event(), 0
    loop.call_later(seconds, over.set)
    select = loop._selector.select  # type: ignore[attr-defined]

    def counted(timeout: float | None) -> object:
        nonlocal turns
        turns += 1
        return select(timeout)

    loop._selector.select = counted  # type: ignore[attr-defined]
    try:
        await over.wait()
    finally:
        loop._selector.select = select  # type: ignore[attr-defined]
    return turns
