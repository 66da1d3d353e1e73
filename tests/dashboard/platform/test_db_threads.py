"""Users take turns at the threads that read the database for sockets and streams."""

import asyncio
import threading
import time
from dataclasses import replace

import pytest

from dashboard.platform.db_threads import COMMANDS, LOOKS, in_turn
from dashboard.platform.fair_queue import FullError


async def test_a_user_with_many_pages_uses_one_thread_and_another_user_is_next():
    began: list[str] = []
    inside, most, lock = 0, 0, threading.Lock()
    over = threading.Event()

    def look(who: str) -> None:
        nonlocal inside, most
        with lock:
            began.append(who)
            inside += who == "many"
            most = max(most, inside)
        if len(began) == 1:
            over.wait(20)
        inside -= who == "many"

    many = [asyncio.create_task(in_turn(LOOKS, "many", look, "many")) for _ in range(50)]
    await asyncio.sleep(0)
    await in_turn(LOOKS, "one", look, "one")
    assert began == ["many", "one"]
    over.set()
    await asyncio.gather(*many)
    assert (most, len(began)) == (1, 51)


async def test_a_user_with_too_many_waiting_requests_is_refused():
    size, over = replace(COMMANDS, waiting_of_one=1), threading.Event()
    tasks = [asyncio.create_task(in_turn(size, 1, over.wait, 20)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(FullError):
        await in_turn(size, 1, over.wait, 20)
    over.set()
    assert await asyncio.gather(*tasks) == [True, True]


async def test_a_slot_is_kept_until_the_thread_has_ended():
    size, over = replace(COMMANDS, places=1, seconds=0.05), threading.Event()
    gone = asyncio.create_task(in_turn(size, 1, over.wait, 20))
    await asyncio.sleep(0.01)
    gone.cancel()
    with pytest.raises(FullError):
        await in_turn(size, 2, over.is_set)
    over.set()
    size = replace(size, seconds=20.0)
    assert await in_turn(size, 2, over.is_set)


async def test_the_slot_of_an_idle_user_goes_to_the_next():
    size = replace(COMMANDS, places=1, seconds=5.0)
    await in_turn(size, 1, time.sleep, 0.5)
    begun = time.monotonic()
    await in_turn(size, 2, int)
    other = time.monotonic() - begun
    await in_turn(size, 1, int)
    assert other < 0.3 < time.monotonic() - begun
