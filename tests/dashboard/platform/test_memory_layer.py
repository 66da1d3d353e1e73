"""A change that 400 pages hear costs 400 messages, and not the square of that."""

import asyncio
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer

from dashboard.platform import memory_layer
from dashboard.platform.memory_layer import MemoryChannelLayer

ROOMS, CHANGES = 50, 10


async def test_sending_a_message_does_not_scan_all_stored_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_layer, "_CLEAN_EVERY", 3600.0)
    looks: list[object] = []
    monkeypatch.setattr(InMemoryChannelLayer, "_clean_expired", lambda layer: looks.append(layer))
    layer = MemoryChannelLayer()
    heard = [asyncio.Event() for _ in range(ROOMS)]
    rooms = [asyncio.create_task(_room(layer, event)) for event in heard]
    async with asyncio.timeout(60):
        while len(layer.groups.get("pages", ())) < ROOMS:
            await asyncio.sleep(0)
        for _ in range(CHANGES):
            await layer.group_send("pages", {"type": "changed"})
            await asyncio.gather(*(event.wait() for event in heard))
            for event in heard:
                event.clear()
    for room in rooms:
        room.cancel()
    assert len(looks) == 1


async def _room(layer: MemoryChannelLayer, heard: asyncio.Event) -> None:
    channel = await layer.new_channel()
    await layer.group_add("pages", channel)
    while True:
        await layer.receive(channel)
        heard.set()


async def test_a_member_that_reads_nothing_blocks_nobody() -> None:
    layer = MemoryChannelLayer(capacity=2)
    for channel in ("specific.idle!a", "specific.awake!b"):
        await layer.group_add("pages", channel)
    for number in range(5):
        await layer.group_send("pages", {"type": "changed", "number": number})
        assert (await layer.receive("specific.awake!b"))["number"] == number


async def test_unread_messages_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_layer, "_CLEAN_EVERY", 0.0)
    layer = MemoryChannelLayer(expiry=-1)
    message: dict[str, Any] = {"type": "changed"}
    await layer.group_add("pages", "specific.idle!a")
    await layer.group_send("pages", message)
    await layer.group_send("pages", message)
    assert not layer.channels
    assert not layer.groups["pages"]
