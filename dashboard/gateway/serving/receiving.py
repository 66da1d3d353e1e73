"""A request's body as it comes in, within bounds; and whether its client is still there."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from dashboard.gateway.wire.faults import INVALID, Fault

MOST_BYTES = 16 * 1024 * 1024
MOST_SECONDS = 60.0  #: that a body may take to come
WATCHED_FROM = 0.02  #: seconds after a call has begun

Receive = Callable[[], Awaitable[Mapping[str, Any]]]

_TOO_LARGE = Fault(413, f"The request is larger than {MOST_BYTES // 2**20} MiB.", INVALID, "request_too_large")
_TOO_SLOW = Fault(408, f"The request's body did not come within {MOST_SECONDS:.0f} s.", INVALID, "request_timeout")


async def read_body(headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> bytes | Fault | None:
    """The body; None where the client has gone before it was whole."""
    told = dict(headers)
    length, coding = told.get(b"content-length", b""), told.get(b"content-encoding", b"identity")
    if coding.lower() != b"identity":
        return _packed(coding)
    if length.isdigit() and int(length[:12]) > MOST_BYTES:
        return _TOO_LARGE
    try:
        async with asyncio.timeout(MOST_SECONDS):
            return await _gather(receive)
    except TimeoutError:
        return _TOO_SLOW


def _packed(coding: bytes) -> Fault:
    named = coding[:40].decode("latin-1")
    message = f"The request's body is encoded as '{named}', which is not unpacked here: send the JSON as it is."
    return Fault(415, message, INVALID, "unsupported_content_encoding")


async def _gather(receive: Receive) -> bytes | Fault | None:
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece = message.get("body", b"")
        size += len(piece)
        if size > MOST_BYTES:
            return _TOO_LARGE
        pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces)


class Watch:
    """Calls `gone` once the client has gone; until it is stopped.

    It begins a moment late, with a timer: most calls that are quick are answered by then, and a task costs them more.
    """

    def __init__(self, receive: Receive, gone: Callable[[], None]) -> None:
        self._receive = receive
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(WATCHED_FROM, self._begin)

    def stop(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        # What the timer and the task know holds the call and its answer: let go of now, not at the next collection.
        del self._timer, self._task, self._gone

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._look())

    async def _look(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone()
