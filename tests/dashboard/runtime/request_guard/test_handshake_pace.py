"""Handshakes are answered one after another, each client has its turn, and how many wait is bounded."""

import asyncio
import time
from typing import Any

import pytest

from dashboard.runtime.request_guard.connection_census import TASK_SECONDS, HandshakePace


class One:
    """A handshake that only remembers what became of it, and when, among all."""

    def __init__(self, client: str, told: list[str]) -> None:
        self.client, self.told, self.away = client, told, False

    def shake_hands(self) -> None:
        self.told.append(self.client)

    def turn_away(self) -> None:
        self.away = True


class Failing(One):
    def shake_hands(self) -> None:
        raise LookupError


class Queue:
    """A pace, and who has come to it."""

    def __init__(self, clients: str, **bounds: Any) -> None:
        self.pace, self.answered = HandshakePace(**bounds), list[str]()
        self.ones = [self.comes(client) for client in clients]

    def comes(self, client: str) -> One:
        one = One(client, self.answered)
        self.pace.join(client, one)
        return one

    async def until(self, many: int) -> str:
        async with asyncio.timeout(20):
            while len(self.answered) < many:
                await asyncio.sleep(0.001)
        return "".join(self.answered)

    @property
    def refused(self) -> list[int]:
        return [number for number, one in enumerate(self.ones) if one.away]


async def test_a_single_handshake_is_answered_at_once():
    assert Queue("a", share=0.1).answered == ["a"]


async def test_clients_alternate_however_many_handshakes_one_has():
    assert await Queue("aaaabbc", share=0.5).until(7) == "aabcaba"


async def test_handshakes_take_only_their_share_of_the_loop():
    begun = time.perf_counter()
    await Queue("aaaaaa", share=0.05).until(6)
    assert time.perf_counter() - begun >= 5 * TASK_SECONDS / 0.05


async def test_a_failing_handshake_delays_no_other():
    queue = Queue("", share=0.5)
    with pytest.raises(LookupError):
        queue.pace.join("a", Failing("a", []))
    queue.comes("b")
    assert await queue.until(1) == "b"


async def test_waiting_handshakes_per_client_are_limited():
    queue = Queue("aaaab", share=0.000_01, most_of_one=2)  # the first is answered
    assert (queue.refused, len(queue.pace)) == ([3], 3)


async def test_in_a_full_queue_the_largest_holder_gives_its_latest_slot_to_one_with_fewer():
    queue = Queue("aaaabbccd", share=0.000_01, most=4)
    assert (queue.refused, await queue.until(1)) == ([2, 3, 5, 7], "a")
    assert {who: len(theirs) for who, theirs in queue.pace._waiting.items()} == {"a": 1, "b": 1, "c": 1, "d": 1}


async def test_a_disconnected_client_is_forgotten_at_no_cost_to_others():
    queue = Queue("a" + "b" * 50 + "c", share=0.01)
    for one in queue.ones[1:51]:
        queue.pace.leave("b", one)
        queue.pace.leave("b", one)
    assert (len(queue.pace), list(queue.pace._waiting)) == (1, ["c"])
    assert await queue.until(2) == "ac"
