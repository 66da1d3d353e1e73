"""How many may be connected, who makes room for whom, and what counts as one address."""

import asyncio
import contextlib
import time
from itertools import pairwise

import pytest

from dashboard.platform.trusted_proxies import Proxies
from dashboard.runtime.request_guard.connection_census import LOOKED_AT, ConnectionCensus, counted_address
from dashboard.runtime.request_guard.resource_limits import ResourceLimits

from .conftest import QUICK, Server, rest

ROOM = QUICK.connections
WHOLE = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
HALF = [
    b"",
    b"GET / HTTP/1.1\r\nx-a",
    b"POST / HTTP/1.1\r\ncontent-length: 99\r\n\r\nx",
    b"POST /deaf HTTP/1.1\r\ncontent-length: 99999\r\n\r\nx",  # answered, and given a moment to read it
]


class One:
    """A connection that only remembers what became of it."""

    def __init__(self, address: str | None = None) -> None:
        self.elsewhere = 0
        self.address, self.gone, self.looked = address, False, 0

    def make_room(self) -> None:
        self.gone = True

    def look(self, now: float) -> None:
        self.looked += 1


@pytest.mark.parametrize("half", HALF)
def test_incomplete_requests_make_room_for_complete_ones(patient: Server, half: bytes):
    with contextlib.ExitStack() as clients:
        held = [clients.enter_context(patient.dial(half)) for _ in range(3 * ROOM)]
        assert patient.told(WHOLE).startswith(b"HTTP/1.1 200 OK")
        assert len(patient.census) <= ROOM
        said = rest(held[0])  # the first of them has gone
        assert not said or said[9:12] in (b"503", b"200") or said == b"RESET"


def test_idle_connections_make_room(patient: Server):
    with contextlib.ExitStack() as clients:
        for _ in range(2 * ROOM):
            client = clients.enter_context(patient.dial(WHOLE.replace(b"connection: close\r\n", b"")))
            assert client.recv(1000).startswith(b"HTTP/1.1 200 OK")


def test_where_all_connections_are_busy_the_next_gets_a_retry_time(patient: Server):
    with contextlib.ExitStack() as clients:
        held = [clients.enter_context(patient.dial(SLOW)) for _ in range(ROOM)]
        time.sleep(0.3)
        said = patient.told()
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in said
        assert b"Try again in a moment" in said
        assert all(rest(client).startswith(b"HTTP/1.1 200 OK") for client in held)


async def test_connections_of_an_address_at_other_processes_count_too():
    census = ConnectionCensus(ResourceLimits(connections=10, per_address=3))
    first, second, third = (One("192.0.2.1") for _ in range(3))
    first.elsewhere = second.elsewhere = third.elsewhere = 1
    assert list(map(census.admit, (first, second, third))) == [True, True, False]
    census.waits(first)
    assert census.admit(third)
    assert first.gone


async def test_an_address_is_limited_and_makes_room_for_itself():
    census = ConnectionCensus(ResourceLimits(connections=10, per_address=2))
    near, far = [One() for _ in range(3)], [One("192.0.2.1") for _ in range(3)]
    assert all(map(census.admit, near))
    assert list(map(census.admit, far)) == [True, True, False]
    census.waits(near[0])
    census.waits(far[1])
    assert census.admit(far[2])
    assert [one.gone for one in (*near, *far)] == [False] * 4 + [True, False]
    assert not census.admit(One("192.0.2.1"))
    assert census.admit(One("192.0.2.2"))
    census.leave(far[0])
    census.leave(far[0])
    assert census.admit(One("192.0.2.1"))


async def test_the_longest_waiting_connection_ends_first():
    census = ConnectionCensus(ResourceLimits(connections=2))
    first, second = One(), One()
    for one in (first, second):
        census.admit(one)
        census.waits(one)
    census.works(first)
    census.waits(first)
    assert census.admit(One())
    assert (first.gone, second.gone) == (False, True)


async def test_an_address_without_limits_is_not_limited():
    census = ConnectionCensus(ResourceLimits(connections=300, per_address=0))
    assert all(census.admit(One("192.0.2.1")) for _ in range(300))


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("127.0.0.1", None),
        ("127.8.8.8", None),
        ("::1", None),
        ("::ffff:127.0.0.1", None),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::1", "2001:db8:1:2::"),
        ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ("fe80::1%eth0", "fe80::"),
        ("", None),
        (None, None),
        ("/run/x.sock", None),
    ],
)
def test_the_addresses_of_one_customer_count_as_one_and_those_of_this_machine_do_not_count(
    host: str | None, counted: str | None
):
    assert counted_address(host, Proxies()) == counted


@pytest.mark.parametrize("host", ["10.0.0.7", "::ffff:10.0.0.7", "2001:db8::5"])
def test_the_connections_of_a_trusted_proxy_are_not_counted_by_its_address(host: str):
    assert counted_address(host, Proxies.read("10.0.0.0/24, 2001:db8::5")) is None
    assert counted_address("10.0.1.7", Proxies.read("10.0.0.0/24, 2001:db8::5")) == "10.0.1.7"


async def test_many_connections_are_checked_a_few_per_loop_iteration():
    census, waiting = ConnectionCensus(ResourceLimits(sweep_seconds=0.01)), [One() for _ in range(10 * LOOKED_AT)]
    for one in waiting:
        census.join(one)
        census.waits(one)
    seen = [0]
    while seen[-1] < len(waiting):
        await asyncio.sleep(0)
        seen.append(sum(one.looked for one in waiting))
    assert max(after - before for before, after in pairwise(seen)) <= LOOKED_AT
    assert {one.looked for one in waiting} == {1}
    for one in waiting:
        census.leave(one)


async def test_a_connection_with_unread_data_is_measured_every_second_even_if_it_does_not_stall():
    """Nobody hears of it when a client takes the last of what was written."""

    class Reading(One):
        def weigh(self) -> None:
            census.has(self, 0)

    census, one = ConnectionCensus(QUICK), Reading()
    census.join(one)
    census.has(one, 50)
    while census.unread.holders():
        await asyncio.sleep(0.01)
    assert not one.looked, "it is not one that waits"
    census.leave(one)
