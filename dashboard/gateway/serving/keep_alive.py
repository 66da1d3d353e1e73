"""Sends keep-alive comments on idle streams, so that no proxy closes them."""

import asyncio
import contextlib

from dashboard.gateway.serving.response_writer import ResponseWriter
from dashboard.gateway.wire.answer_values import EMPTY_LINE, KEEP_ALIVE

SILENCE_SECONDS = 10.0


class KeepAlive:
    """Looks after one stream until it is stopped. By a timer: a task for each stream would cost more than most say."""

    def __init__(self, outgoing: ResponseWriter) -> None:
        self._outgoing = outgoing
        self._loop = asyncio.get_running_loop()
        self._saying: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(SILENCE_SECONDS, self._look)

    def _look(self) -> None:
        silent = self._loop.time() - self._outgoing.last
        if silent >= SILENCE_SECONDS:
            self._saying = self._loop.create_task(self._say())
            silent = 0.0
        self._timer = self._loop.call_later(max(0.01, SILENCE_SECONDS - silent), self._look)

    async def _say(self) -> None:
        if not (self._outgoing.ended or self._outgoing.within):
            with contextlib.suppress(OSError):
                await self._outgoing.more(KEEP_ALIVE if self._outgoing.door.comments else EMPTY_LINE)

    def stop(self) -> None:
        """The stream is at its end."""
        self._timer.cancel()
        if self._saying is not None:
            self._saying.cancel()
