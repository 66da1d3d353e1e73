"""The other end of `manage.py bench live`: many bare WebSocket clients in one process, which only take the time.

    python -m dashboard.bench.websocket_clients PORT VIEWERS

A message begins with the letter of its phase and the time it was begun. Prints, as JSON, by phase: how many messages
came, the seconds from the first one's beginning to the last one's arrival, and what one took, in milliseconds.
"""

import asyncio
import base64
import json
import secrets
import sys
import time
from dataclasses import dataclass, field
from typing import cast

import uvicorn

#: The credentials are nobody's: the server refuses a websocket without any, and the bench looks at none.
_ASKED = (
    "GET /ws/bench/ HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nAuthorization: Bearer bench\r\n"
)
_TEXT = 0x81  #: a whole text frame
_EXTENDED = 126  #: the length is in the two bytes that follow


@dataclass(slots=True)
class Heard:
    """What all clients heard in one phase; times in nanoseconds."""

    first_begun: int = 2**63
    last_came: int = 0
    took: list[int] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        took, last = sorted(self.took), len(self.took) - 1
        seconds = (self.last_came - self.first_begun) / 1e9
        p50, p99 = took[last // 2] / 1e6, took[round(0.99 * last)] / 1e6
        return {"count": len(took), "seconds": seconds, "p50": p50, "p99": p99}


class Client(asyncio.Protocol):
    """One viewer. Frames of a server are not masked, so that reading them is little work."""

    def __init__(self, heard: dict[str, Heard], gone: asyncio.Semaphore) -> None:
        self._heard, self._gone = heard, gone
        self._rest = b""
        self._open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        asked = f"{_ASKED}Sec-WebSocket-Key: {key}\r\n\r\n"
        cast("asyncio.Transport", transport).write(asked.encode())

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._gone.release()

    def data_received(self, data: bytes) -> None:
        came = time.perf_counter_ns()
        data = self._rest + data
        if not self._open:
            head, end, data = data.partition(b"\r\n\r\n")
            self._open = bool(end)
            if not end:
                self._rest = head
                return
        at = 0
        while (frame := _frame(data, at)) is not None:
            kind, begin, at = frame
            if kind == _TEXT:
                self._take(data[begin : begin + 32], came)
        self._rest = data[at:]

    def _take(self, head: bytes, came: int) -> None:
        phase, begun = chr(head[0]), int(head[1:].split(b" ", 1)[0])
        heard = self._heard.setdefault(phase, Heard())
        heard.first_begun = min(heard.first_begun, begun)
        heard.last_came = came
        heard.took.append(came - begun)


def _frame(data: bytes, at: int) -> tuple[int, int, int] | None:
    """Kind, beginning of the content and end of the frame at this place; None where it is not whole."""
    if len(data) - at < 4:
        return None
    length, begin = data[at + 1], at + 2
    if length == _EXTENDED:
        length, begin = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
    end = begin + length
    return (data[at], begin, end) if end <= len(data) else None


async def listen(port: int, viewers: int) -> dict[str, Heard]:
    """Connects so many, and listens until the server has closed them all."""
    heard: dict[str, Heard] = {}
    gone = asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()
    for _ in range(viewers):
        await loop.create_connection(lambda: Client(heard, gone), "127.0.0.1", port)
    for _ in range(viewers):
        await gone.acquire()
    return heard


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()) as runner:
        phases = runner.run(listen(int(sys.argv[1]), int(sys.argv[2])))
    if not phases:
        sys.exit("The server closed every connection before it sent anything.")
    sys.stdout.write(json.dumps({phase: heard.figures() for phase, heard in phases.items()}))
