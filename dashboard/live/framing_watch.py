"""Watches the body of an answer whose framing may break."""

import asyncio

import aiohttp

LOOK_SECONDS = 0.5  #: between two looks whether a body that is waited for can still come


class FramingWatch:
    """Ends the wait for a body whose framing broke; for one answer, while its body is read.

    aiohttp (3.14) closes the connection when a chunk's length in the middle of a body is no number, and tells the
    connection but not its body: who reads that waits forever, for the timeout on silence ends with the connection. So
    somebody looks whether the connection is gone while the body still waits.
    """

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._content = answer.content
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
        else:
            self._look_later()
