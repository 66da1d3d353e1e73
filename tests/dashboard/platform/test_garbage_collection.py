"""Looks for garbage seldom go through everything, for all calls wait meanwhile."""

import asyncio
import gc
from itertools import pairwise
from typing import Any

from dashboard.platform import garbage_collection


async def test_most_collections_cover_new_objects_only(monkeypatch):
    monkeypatch.setattr(garbage_collection, "_EVERY", 0.005)
    monkeypatch.setattr(garbage_collection, "_seconds_between", lambda took: 0.005)
    monkeypatch.setattr(garbage_collection, "_ALL_EVERY", 3)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(len(looked)))
    looked: list[int] = []
    frozen: list[int] = []
    stop = asyncio.Event()

    def told(generation: int = 2) -> int:
        looked.append(generation)
        if len(looked) == 8:
            stop.set()
        return 0

    monkeypatch.setattr(gc, "collect", told)
    await asyncio.wait_for(garbage_collection.collect_garbage(stop), 20)
    assert looked == [2, 1, 1, 2, 1, 1, 2, 1]
    assert frozen == [1]


async def test_no_two_minutes_pass_without_a_collection_of_all_objects(monkeypatch):
    """What survives the looks at new objects is freed by that collection alone: in ten minutes, connections and pages
    that had ended held 15 MB, and what was allocated between them kept the pages in use afterwards."""
    seconds = garbage_collection._EVERY
    monkeypatch.setattr(garbage_collection, "_EVERY", 0.001)
    monkeypatch.setattr(garbage_collection, "_seconds_between", lambda took: 0.001)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    looked: list[int] = []
    stop = asyncio.Event()

    def told(generation: int = 2) -> int:
        looked.append(generation)
        if len(looked) == 50:
            stop.set()
        return 0

    monkeypatch.setattr(gc, "collect", told)
    await asyncio.wait_for(garbage_collection.collect_garbage(stop), 20)
    all_objects = [n for n, generation in enumerate(looked) if generation == 2]
    assert max(later - before for before, later in pairwise(all_objects)) * seconds <= 120


async def test_reference_cycles_are_freed_by_the_next_collection(monkeypatch):
    class Page:
        itself: Any = None

    def pages() -> int:
        return sum(isinstance(one, Page) for one in gc.get_objects())

    monkeypatch.setattr(garbage_collection, "_seconds_between", lambda took: 0.01)
    monkeypatch.setattr(garbage_collection, "_EVERY", 0.01)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    stop = asyncio.Event()
    looking = asyncio.create_task(garbage_collection.collect_garbage(stop))
    await asyncio.sleep(0.1)
    page = Page()
    page.itself = page
    del page
    async with asyncio.timeout(20):
        while pages():
            await asyncio.sleep(0.01)
        stop.set()
        await looking


def test_new_objects_are_collected_before_a_pause_of_a_tenth_of_a_second_is_needed():
    """Where 400,000 objects were looked through at once, every call of the gateway waited for up to 0.3 s."""
    youngest, times, _ = garbage_collection._THRESHOLDS
    assert youngest * times <= 100_000
