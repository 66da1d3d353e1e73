"""Waiting for something that nobody tells of, and for a database that does not answer."""

import asyncio
import time
from collections.abc import Callable

import structlog

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.02  #: between two looks


async def until(holds: Callable[[], bool], *, seconds: float) -> bool:
    """Whether it held within so many seconds; at once where it does already."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while not holds():
        if loop.time() >= ends:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True


class Outage:
    """A database that does not answer: since when."""

    def __init__(self) -> None:
        self._since: float | None = None

    def __bool__(self) -> bool:
        return self._since is not None

    def begin(self, why: str) -> None:
        if self._since is None:
            self._since = time.monotonic()
            log.warning("gateway_database_away", error=why)

    def end(self) -> None:
        if self._since is not None:
            log.info("gateway_database_back", seconds=round(time.monotonic() - self._since, 1))
        self._since = None
