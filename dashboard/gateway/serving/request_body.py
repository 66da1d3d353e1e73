"""Reads a request's body within bounds, decompressed, and watches whether the client is still there."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.number_format import seconds
from dashboard.agents.json_value_count import holds_more_values
from dashboard.gateway.wire.decompression import KNOWN, PackedError, TooLargeError, unpacked
from dashboard.gateway.wire.faults import INVALID, Fault

MOST_BYTES = 16 * 1024 * 1024
LARGE = 100_000  #: bytes of a body that takes milliseconds to read, which is done in a thread
MOST_VALUES = 200_000  #: in the JSON of a turn; they are made in one piece, and all others wait for the interpreter
MOST_VALUES_RELAYED = 400_000  #: of what is no turn: some 300,000 token ids may be embedded at once
MOST_SECONDS = 60.0  #: that a body may take to come
WATCHED_FROM = 0.02  #: seconds after a call has begun

Receive = Callable[[], Awaitable[Mapping[str, Any]]]

_TOO_LARGE = Fault(413, f"The request is larger than {MOST_BYTES // 2**20} MiB.", INVALID, "request_too_large")
_TOO_SLOW = Fault(408, f"The request's body did not arrive within {seconds(MOST_SECONDS)}.", INVALID, "request_timeout")


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """What a request's body may be, and how one that is more is refused."""

    size: int  #: bytes
    seconds: float  #: in which all of it must come
    too_large: Fault
    too_slow: Fault


_BOUNDS = BodyBounds(MOST_BYTES, MOST_SECONDS, _TOO_LARGE, _TOO_SLOW)


async def read_body(
    headers: Iterable[tuple[bytes, bytes]], receive: Receive, *, most_values: int = MOST_VALUES
) -> bytes | Fault | None:
    """The body, unpacked and not yet parsed; None where the client has gone before it was whole."""
    body = await _unpacked_body(headers, receive)
    if isinstance(body, bytes) and await _holds_more(body, most_values):
        message = f"The request holds more than {most_values:,} JSON values. Send less at a time."
        return Fault(413, message, INVALID, "request_too_large")
    return body


async def _holds_more(body: bytes, most_values: int) -> bool:
    if len(body) > LARGE:
        return await asyncio.to_thread(holds_more_values, body, most_values)
    return holds_more_values(body, most_values)


async def _unpacked_body(headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> bytes | Fault | None:
    told = dict(headers)
    length, coding = told.get(b"content-length", b""), told.get(b"content-encoding", b"").decode("latin-1")
    if length.isdigit() and int(length[:12]) > MOST_BYTES:
        return _TOO_LARGE
    pieces: list[bytes] = []
    received = await receive_pieces(receive, pieces.append, _BOUNDS)
    if received is not True:
        return received or None
    body = b"".join(pieces)
    if coding in {"", "identity"}:
        return body
    return await asyncio.to_thread(_unpacked, body, coding)


def _unpacked(body: bytes, coding: str) -> bytes | Fault:
    try:
        return unpacked(body, coding, most=MOST_BYTES)
    except KeyError:
        message = f"The request's body is encoded as '{coding[:40]}', which is not supported: send {KNOWN}, or none."
        return Fault(415, message, INVALID, "unsupported_content_encoding")
    except TooLargeError as error:
        return Fault(413, str(error), INVALID, "request_too_large")
    except PackedError as error:
        return Fault(400, str(error), INVALID)


async def receive_pieces(receive: Receive, take: Callable[[bytes], Any], bounds: BodyBounds) -> Fault | bool:
    """Give each piece of a request's body to `take` as it comes. True: all have come; False: the client has gone."""
    size = 0
    try:
        async with asyncio.timeout(bounds.seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return False
                piece = message.get("body", b"")
                size += len(piece)
                if size > bounds.size:
                    return bounds.too_large
                take(piece)
                if not message.get("more_body"):
                    return True
    except TimeoutError:
        return bounds.too_slow


class DisconnectWatch:
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
