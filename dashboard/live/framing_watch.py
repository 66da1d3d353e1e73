"""Watches the body of an answer whose framing may break, or be all that comes."""

import asyncio

import aiohttp

LOOK_SECONDS = 0.5  #: between two looks whether a body that is waited for can still come


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
