"""When Python looks for objects that only refer to each other, which is when their memory becomes free."""

import asyncio
import contextlib
import gc
import time
from itertools import count

#: New objects before the youngest are looked through: the default, 700, takes a tenth of a busy gateway. Then how often
#: that happens before those that survived it are looked through too, and so on. All threads stop meanwhile: for up to
#: 0.3 s where 400,000 were looked through at once, so it is a hundred thousand at most, four times as often.
_THRESHOLDS = (20_000, 5, 80)
_EVERY = 30.0  #: seconds between two looks at what is new
#: Looks, of which one is at all objects. Where it was every twentieth, what had ended within ten minutes held 15 MB.
_ALL_EVERY = 4
_SHARE = 0.002  #: of a core, that these looks take at most


def garbage_kept() -> None:
    """What has been loaded by now stays: else a full collection takes tenths of a second, not half a one."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


async def collect_garbage(stop: asyncio.Event) -> None:
    """At intervals, until the event is set.

    With these thresholds and a few calls a second Python itself looks every few minutes. Until then what ended holds
    some 20 MB, each peak a little more than the one before, of which the allocator returns nearly nothing. What is new
    takes 0.3 ms. To look at all takes 15 to 60 ms of two minutes of a soak's traffic, for which every call of the
    gateway waits, so that is done seldom. What the first requests have loaded is left out from then on.
    """
    wait = _EVERY
    for look in count():
        if stop.is_set():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await stop.wait()
        # Not by the clock: on a busy machine that counts the time of others, and the looks would become seldom there.
        began = time.thread_time()
        gc.collect(1 if look % _ALL_EVERY else 2)
        if look == 0:
            gc.freeze()
        wait = _seconds_between(time.thread_time() - began)


def _seconds_between(took: float) -> float:
    """Until the next look, where the last one took so much of a core: it stops all threads."""
    return max(_EVERY, took / _SHARE)
