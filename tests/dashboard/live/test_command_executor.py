"""What is in flight of a turn, and how it is ended."""

import asyncio
from uuid import uuid4

import pytest

from agentcore.events import Event, WokeUp
from dashboard.live.command_executor import CommandExecutor
from dashboard.live.slots import Slots
from dashboard.live.transport import Transport


class Slow:
    """A command that takes its time to end, unless it is told to twice."""

    def __init__(self) -> None:
        self.told, self.ends = asyncio.Event(), asyncio.Event()
        self.times = 0

    async def run(self) -> Event:
        while self.times < 2 and not self.ends.is_set():
            try:
                await self.ends.wait()
            except asyncio.CancelledError:
                self.times += 1
                self.told.set()
        return WokeUp(1.0)


async def test_a_worker_stopped_while_a_command_ends_stops_and_the_command_ends_undisturbed():
    async with Transport() as transport:
        performer, slow = CommandExecutor(uuid4(), transport, Slots(), lambda: 0.0), Slow()
        performer.work = work = asyncio.create_task(slow.run())
        await asyncio.sleep(0)
        dropping = asyncio.create_task(performer.drop())
        await slow.told.wait()
        dropping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dropping
        assert performer.work is work
        slow.ends.set()
        await performer.drop()
    assert (performer.work, work.done(), slow.times) == (None, True, 1)


async def test_an_error_of_a_dropped_command_is_ignored():
    async def fails() -> Event:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("the line is cut")

    async with Transport() as transport:
        performer = CommandExecutor(uuid4(), transport, Slots(), lambda: 0.0)
        performer.work = asyncio.create_task(fails())
        await asyncio.sleep(0)
        await performer.drop()
        await performer.drop()
    assert performer.work is None
