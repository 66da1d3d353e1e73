"""Memory of what has ended becomes free, and goes back to the system."""

import asyncio
import ctypes
import gc
import subprocess
import sys
import time
import weakref

import pytest

from dashboard.platform import garbage_collection

#: Frees a large piece, after which glibc by itself keeps those below; then takes and frees many of half its size, each
#: between two that stay. Prints how much is held beside what stays, in bytes.
HELD = """
import resource, sys
from dashboard.runtime.server import give_back_memory
def held():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
if sys.argv[1] == "given":
    assert give_back_memory()
del (piece := [bytes(8_000_000)])[:]
before = held()
pieces = [b"x" * (2_000_000 if n % 2 else 1_000) for n in range(40)]
pieces[1::2] = [None] * 20
print(held() - before)
"""


def held(how: str) -> int:
    command = [sys.executable, "-c", HELD, how]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def test_memory_freed_between_retained_blocks_returns_to_the_system():
    assert held("given") < 4_000_000


#: Starts with eight threads where the pool of connections begins; malloc_stats tells of each arena on stderr.
STARTED = """
import ctypes, os, threading, types
os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
import django
django.setup()
from dashboard.runtime import startup
def pool(_):
    together = threading.Barrier(9)
    for _ in range(8):
        threading.Thread(target=lambda: [bytearray(2_000), together.wait()]).start()
    together.wait()
    ctypes.CDLL(None).malloc_stats()
    raise KeyboardInterrupt
startup.check_server = pool
startup.start(types.SimpleNamespace(egress="any", database_url="given"), web=False, simulator=False, worker=True)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_stats"), reason="another C library than glibc")
def test_threads_that_exist_before_the_server_does_share_two_arenas():
    """Where the bound was set once the pool had its threads, each of them had an arena of its own by then."""
    told = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, check=True, text=True).stderr
    assert told.count("Arena ") == 2, told


class Node:
    """One that refers to itself: only a collection finds that nobody else does."""

    def __init__(self) -> None:
        self.itself = self


async def test_reference_cycles_are_freed_even_if_few_objects_are_new(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(garbage_collection, "_EVERY", 0.01)
    monkeypatch.setattr(garbage_collection, "_SHARE", 1.0)
    stop = asyncio.Event()
    gc.disable()
    try:
        ended = weakref.ref(Node())
        collecting = asyncio.create_task(garbage_collection.collect_garbage(stop))
        async with asyncio.timeout(30):
            while ended() is not None:
                await asyncio.sleep(0.01)
            stop.set()
            await collecting
    finally:
        gc.enable()


def test_slow_collections_become_rarer():
    assert [garbage_collection._seconds_between(took) for took in (0.001, 0.06, 0.6)] == [30, 30, pytest.approx(300)]


async def test_a_collection_on_a_busy_machine_is_not_counted_as_slow(monkeypatch: pytest.MonkeyPatch):
    took = list[float]()
    stop = asyncio.Event()

    def told(seconds: float) -> float:
        took.append(seconds)
        stop.set()
        return 0.01

    monkeypatch.setattr(garbage_collection, "_EVERY", 0.01)
    monkeypatch.setattr(garbage_collection, "_seconds_between", told)
    monkeypatch.setattr("gc.collect", lambda _: time.sleep(1.0))  # others have the core meanwhile
    await garbage_collection.collect_garbage(stop)
    assert took[0] < 0.5
