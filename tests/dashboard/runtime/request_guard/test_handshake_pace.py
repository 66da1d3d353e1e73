"""Handshakes are answered one after another, and each address has its turn."""

import asyncio
import time

import pytest

from dashboard.runtime.request_guard.handshake_pace import TASK_SECONDS, HandshakePace


async def answered(pace: HandshakePace, addresses: str) -> str:
    order: list[str] = []
    for address in addresses:
        pace.answer(address, lambda address=address: order.append(address))
    async with asyncio.timeout(20):
        while len(order) < len(addresses):
            await asyncio.sleep(0.001)
    return "".join(order)


async def test_a_handshake_that_comes_alone_is_answered_at_once():
    done: list[int] = []
    HandshakePace(share=0.1).answer("", lambda: done.append(1))
    assert done == [1]


async def test_addresses_take_turns_however_many_handshakes_one_has():
    assert await answered(HandshakePace(share=0.5), "aaaabbc") == "aabcaba"


async def test_handshakes_take_their_share_of_the_loop_and_no_more():
    begun = time.perf_counter()
    await answered(HandshakePace(share=0.05), "aaaaaa")
    assert time.perf_counter() - begun >= 5 * TASK_SECONDS / 0.05


async def test_one_that_fails_holds_up_no_other():
    pace, done = HandshakePace(share=0.5), asyncio.Event()

    def failing() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        pace.answer("", failing)
    pace.answer("", done.set)
    async with asyncio.timeout(20):
        await done.wait()
