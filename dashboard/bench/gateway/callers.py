"""`python -m dashboard.bench.gateway.callers PORT CALLERS SECONDS HOW TOKEN MODEL DOOR`: asks, and times it.

HOW: `whole`, `streamed` in one go, or `each`: a stream whose chunks come one by one.

Callers do next to nothing, or they would be what is measured. Prints one JSON object: see `Heard`.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from dashboard.bench.gateway.bench_process import run

CHAT, RESPONSES, GEMINI = "/v1/chat/completions", "/v1/responses", "/v1beta/models"
WARM_SECONDS = 0.3  #: before anything counts
_TEXT = (b'"content":"', b'"content": "', b'"delta":"', b'"text":"')  #: begins an answer's first words
_LAST = b"0\r\n\r\n"  #: of a body in frames
PROMPT = "Why did this agent stop, and which limit would have let it finish? Say it in one sentence."


@dataclass(slots=True)
class Heard:
    """All that counted. Times are in milliseconds: to the first of an answer's text, and to its end."""

    seconds: float = 0.0
    chunks: int = 0
    failed: str = ""  #: the first answer that was none
    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)


class Caller(asyncio.Protocol):
    """One caller: asks again as soon as it is answered."""

    def __init__(self, request: bytes, heard: Heard, span: tuple[float, float], *, streamed: bool) -> None:
        self._request, self._heard, self._span, self._streamed = request, heard, span, streamed
        self._came: list[bytes] = []
        self._left: int | None = None  #: bytes of the body that are still to come; None: not known
        self._first = 0.0
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self._heard.failed = self._heard.failed or f"closed: {error}"
            self.done.set_result(None)

    def _ask(self) -> None:
        self._came, self._left, self._first = [], None, 0.0
        self._asked = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self._first and (not self._streamed or any(mark in data for mark in _TEXT)):
            self._first = time.perf_counter()
        self._came.append(data)
        if self._is_whole(data):
            self._answered(time.perf_counter())

    def _is_whole(self, data: bytes) -> bool:
        if self._streamed:
            return data.endswith(_LAST)
        if self._left is None:
            came = b"".join(self._came)
            head, _, body = came.partition(b"\r\n\r\n")
            at = head.lower().find(b"content-length:")
            if at < 0:
                return False
            self._left = int(head[at + 15 :].split(b"\r\n", 1)[0]) - len(body)
        else:
            self._left -= len(data)
        return self._left <= 0

    def _answered(self, now: float) -> None:
        if self._span[0] <= self._asked and now <= self._span[1]:
            self._count(now)
        if now >= self._span[1]:
            self.done.set_result(None)
            self._transport.close()
        else:
            self._ask()

    def _count(self, now: float) -> None:
        heard = self._heard
        heard.whole.append(1000 * (now - self._asked))
        heard.first.append(1000 * ((self._first or now) - self._asked))
        if self._streamed:
            heard.chunks += sum(part.count(b"data: {") for part in self._came)
        if not self._came[0].startswith(b"HTTP/1.1 200"):
            heard.failed = heard.failed or b"".join(self._came)[:500].decode(errors="replace")


async def ask(port: int, callers: int, seconds: float, request: bytes, *, streamed: bool) -> Heard:
    """That many callers for so long."""
    loop, heard, now = asyncio.get_running_loop(), Heard(seconds=seconds), time.perf_counter()
    span = (now + WARM_SECONDS, now + WARM_SECONDS + seconds)
    made = [
        await loop.create_connection(lambda: Caller(request, heard, span, streamed=streamed), "127.0.0.1", port)
        for _ in range(callers)
    ]
    await asyncio.gather(*(caller.done for _, caller in made))
    return heard


def request_of(token: str, model: str, *, streamed: bool, door: str = CHAT) -> bytes:
    """A request, to the byte."""
    path, asked = _asked(model, door, streamed=streamed)
    body = json.dumps(asked, separators=(",", ":")).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {token}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _asked(model: str, door: str, *, streamed: bool) -> tuple[str, dict[str, Any]]:
    """The address, and the body."""
    if door == GEMINI:
        method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
        contents = [{"role": "user", "parts": [{"text": PROMPT}]}]
        return f"{door}/{model}:{method}", {"contents": contents, "generationConfig": {"maxOutputTokens": 400}}
    said, cap = ("messages", "max_tokens") if door == CHAT else ("input", "max_output_tokens")
    return door, {"model": model, said: [{"role": "user", "content": PROMPT}], cap: 400, "stream": streamed}


async def _main(port: str, callers: str, seconds: str, how: str, token: str, model: str, door: str) -> None:
    streamed = how != "whole"
    request = request_of(token, model, streamed=streamed, door=door)
    heard = await ask(int(port), int(callers), float(seconds), request, streamed=streamed)
    sys.stdout.write(json.dumps(asdict(heard)))


if __name__ == "__main__":
    run(_main(*sys.argv[1:8]))
