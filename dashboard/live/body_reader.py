"""Reads the body of an answer: in parts that take little time each, and to its end even where its framing broke."""

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
LOOK_SECONDS = 0.5  #: between two looks whether a body that is waited for can still come


class BodyReader:
    """The body of one answer, however small the chunks are that its server cuts it into.

    `ended`: whether what has come is a whole answer; not every server closes behind one.
    """

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


class FramingWatch:
    """Ends the wait for a body whose framing broke; for one answer, while its body is read.

    aiohttp (3.14) closes the connection when a chunk's length in the middle of a body is no number, and tells the
    connection but not its body: who reads that waits forever, for the timeout on silence ends with the connection. So
    somebody looks whether the connection is gone while the body still waits.

    That timeout counts every byte, those of a chunk's extension too. So it is also looked whether the body has grown
    within so many seconds, while somebody waits for it.
    """

    def __init__(self, answer: aiohttp.ClientResponse, silence: float) -> None:
        self._content, self._silence = answer.content, silence
        self._size, self._grown = answer.content.total_bytes, asyncio.get_running_loop().time()
        connection = answer.connection  # gone already where the whole answer came at once
        self._protocol = connection.protocol if connection is not None else None
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        if self._protocol is not None:
            self._look_later()

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        content, protocol = self._content, self._protocol
        if content.is_eof() or content.exception() is not None or protocol is None:
            return
        if protocol.transport is None:
            content.set_exception(aiohttp.ClientPayloadError("the connection is gone, and its body has no end"))
        elif self._is_silent(asyncio.get_running_loop().time()):
            content.set_exception(aiohttp.SocketTimeoutError("nothing of its body came"))
        else:
            self._look_later()

    def _is_silent(self, now: float) -> bool:
        waited_for = self._content._waiter is not None  # nobody else tells whether it is being read
        if self._content.total_bytes != self._size or not waited_for:
            self._size, self._grown = self._content.total_bytes, now
        return now - self._grown > self._silence + LOOK_SECONDS
