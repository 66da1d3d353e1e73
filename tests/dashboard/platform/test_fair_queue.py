"""Callers take turns at the places, however many requests each has waiting."""

import asyncio
from dataclasses import replace

import pytest

from dashboard.platform.fair_queue import FairQueue, FullError, QueueSize

WIDTH = QueueSize(places=3, of_one=2, waiting=6, waiting_of_one=4, seconds=60)


class Hall:
    """A line, and who was let in, in their order."""

    def __init__(self, width: QueueSize = WIDTH) -> None:
        self.line = FairQueue(width)
        self.entered: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def comes(self, *callers: str) -> None:
        self.tasks += [asyncio.create_task(self._enter(who)) for who in callers]
        await self.settled()

    async def leaves(self, who: str) -> None:
        self.line.leave(who)
        await self.settled()

    async def settled(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def _enter(self, who: str) -> None:
        await self.line.enter(who)
        self.entered.append(who)


async def test_the_slots_of_one_caller_are_limited():
    hall = Hall()
    await hall.comes("a", "a", "a", "b")
    assert hall.entered == ["a", "a", "b"]
    await hall.leaves("a")
    assert hall.entered == ["a", "a", "b", "a"]


async def test_a_caller_with_one_request_waits_for_at_most_one_of_a_caller_with_many():
    hall = Hall()
    await hall.comes("a", "a", "b", "a", "a", "c", "a")
    assert hall.entered == ["a", "a", "b"]
    await hall.leaves("a")
    await hall.leaves("a")
    await hall.leaves("b")
    assert hall.entered == ["a", "a", "b", "a", "c", "a"]


async def test_only_a_caller_with_too_many_queued_requests_is_refused():
    hall = Hall()
    await hall.comes("a", "a", "a", "a", "a", "a")
    with pytest.raises(FullError) as refused:
        await hall.line.enter("a")
    assert (refused.value.own, refused.value.ahead) == (True, 2)
    await hall.comes("b")
    assert hall.entered[-1] == "b"


async def test_a_full_queue_accepts_nobody():
    hall = Hall(replace(WIDTH, places=1, of_one=1, waiting=2))
    await hall.comes("a", "b", "c")
    with pytest.raises(FullError) as refused:
        await hall.line.enter("d")
    assert (refused.value.own, refused.value.ahead) == (False, 3)


async def test_requests_ahead_of_a_caller_with_a_full_queue_count_callers_in_turn():
    hall = Hall(replace(WIDTH, places=1, of_one=1, waiting_of_one=1))
    await hall.comes("a", "b", "c")
    with pytest.raises(FullError) as refused:
        await hall.line.enter("c")
    assert (refused.value.own, refused.value.ahead) == (True, 3)


async def test_a_caller_that_waited_too_long_is_told_and_keeps_no_slot():
    hall = Hall(replace(WIDTH, places=1, of_one=1, seconds=0.01))
    await hall.comes("a")
    with pytest.raises(FullError) as refused:
        await hall.line.enter("b")
    assert refused.value.ahead == 1
    await hall.leaves("a")
    await hall.comes("c")
    assert hall.entered == ["a", "c"]


@pytest.mark.parametrize("granted", [False, True])
async def test_a_leaving_caller_passes_its_slot_to_the_next(granted: bool):
    hall = Hall(replace(WIDTH, places=1, of_one=1))
    await hall.comes("a", "b", "c")
    if granted:
        hall.line.leave("a")  # b has the place, and has not heard of it yet
    hall.tasks[1].cancel()
    await hall.settled()
    if not granted:
        await hall.leaves("a")
    assert hall.entered == ["a", "c"]


async def test_a_caller_that_leaves_when_its_slot_is_granted_takes_none_from_others():
    hall = Hall(replace(WIDTH, places=1, of_one=1))
    await hall.comes("a", "b", "b", "c")
    hall.tasks[1].cancel()
    hall.line.leave("a")  # before the one who goes has heard of it
    await hall.settled()
    assert hall.entered == ["a", "c"]
    await hall.leaves("c")
    assert hall.entered == ["a", "c", "b"]
    assert not hall.line.enter_now("d")
    await hall.leaves("b")
    assert hall.line.enter_now("d")


async def test_a_context_manager_returns_its_slot_after_any_error():
    hall = Hall(replace(WIDTH, places=1, of_one=1))
    with pytest.raises(ValueError, match="broken"):
        async with hall.line.place("a"):
            raise ValueError("broken")
    await hall.comes("b")
    assert hall.entered == ["b"]
