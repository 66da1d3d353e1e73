"""Polls a condition until it holds or a timeout passes."""

import asyncio
from collections.abc import Callable

LOOK_SECONDS = 0.02  #: between two looks


async def poll_until(holds: Callable[[], bool], *, seconds: float) -> bool:
    """Whether it held within so many seconds; at once where it does already."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while not holds():
        if loop.time() >= ends:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True
