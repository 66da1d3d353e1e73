"""Reads the body of an answer in parts that take little time each, into however small chunks its server cuts it."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from itertools import islice

import aiohttp

AFTER_ITS_END = 2.0  #: seconds that a server is listened to which does not close behind the end of its answer
FIRST_BYTES = 4 * 1024  #: of an answer at once, so that its first words need not wait for all that came with them
CHUNK_BYTES = 64 * 1024  #: after those
#: Chunks of an answer at once. Each takes some microseconds however short it is, and aiohttp (3.14) takes further ones
#: from the network while it joins them, so 64 KB in chunks of one byte would hold the event loop up for 0.4 s.
MOST_PIECES = 1_000
REST = 4  #: times as long as so many chunks took is left to others


class BodyReader:
    """The body of one answer. `ended`: whether what has come is a whole answer; not every server closes behind one."""

    def __init__(self, answer: aiohttp.ClientResponse, ended: Callable[[], bool]) -> None:
        self._content, self._ended = answer.content, ended
        self.received = 0  #: bytes

    async def read(self) -> bytes:
        """The next bytes; none at the end of the body, and where nothing follows the end of the answer in it."""
        most, began = self._most(), self._time_of_many()
        part = await self._read(most)
        self.received += len(part)
        if began is not None:
            await asyncio.sleep((time.thread_time() - began) * REST)
        return part

    def _most(self) -> int:
        """The bytes to ask for: no more than there are of the next chunks, or few where there are none yet."""
        if not (pieces := self._pieces()):
            return FIRST_BYTES
        there = sum(map(len, islice(pieces, MOST_PIECES))) - self._content._buffer_offset
        return min(there, CHUNK_BYTES if self.received else FIRST_BYTES)

    def _time_of_many(self) -> float | None:
        """The time of this thread, where more chunks wait than are taken at once. Nobody else runs during that read."""
        return time.thread_time() if len(self._pieces()) > MOST_PIECES else None

    def _pieces(self) -> deque[bytes] | tuple[()]:
        return getattr(self._content, "_buffer", ())  # an answer that has no body has none

    async def _read(self, most: int) -> bytes:
        if not self._ended():
            return await self._content.read(most)
        try:
            async with asyncio.timeout(AFTER_ITS_END):
                return await self._content.read(most)
        except TimeoutError:
            return b""
