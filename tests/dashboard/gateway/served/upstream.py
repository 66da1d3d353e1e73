"""An upstream of a test's own, which says exactly the bytes it is told to and remembers what it was asked."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.dashboard.serving import provider_of

DONE = b"data: [DONE]\n\n"


def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
    """One event of a stream."""
    choice = {"index": more.pop("index", 0), "delta": delta, "finish_reason": reason}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
        **more,
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def said(*words: str, reason: str = "stop") -> list[bytes]:
    """A stream of these words that ends well."""
    role = chunk({"role": "assistant", "content": ""})
    return [role, *(chunk({"content": word}) for word in words), chunk({}, reason), DONE]


def whole(text: str | None = "Hello.", reason: str = "stop", **more: Any) -> bytes:
    """A whole answer; `more`: of its message."""
    message = {"role": "assistant", "content": text, **more}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }
    return json.dumps(body).encode()


def called(*arguments: str, name: str = "look") -> list[dict[str, Any]]:
    """Calls with these arguments."""
    functions = enumerate({"name": name, "arguments": given} for given in arguments)
    return [{"id": f"call_{n}", "type": "function", "function": function} for n, function in functions]


@dataclass
class Reply:
    """What is sent: at once, or piece by piece with a pause (seconds) before each; `breaks`: closed before the end."""

    pieces: list[bytes]
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    breaks: bool = False
    waits: bool = False  #: until the caller goes
    silent: bool = False  #: and nothing is sent before that


@dataclass
class Upstream:
    """The replies, one for each call; the last one again for all that follow."""

    replies: list[Reply] = field(default_factory=list)
    address: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)  #: of each call
    headers: list[dict[str, str]] = field(default_factory=list)  #: of each call, under lower-case names
    left: int = 0  #: callers that went before the end

    def says(self, *replies: Reply | bytes | list[bytes]) -> None:
        self.replies = [_reply(reply) for reply in replies]
        for kept in (self.asked, self.paths, self.headers):
            kept.clear()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(json.loads(await request.read()))
        self.paths.append(request.path)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if reply.silent:
            await self._wait(request)
        headers = {"content-type": reply.content_type, **reply.headers}
        response = web.StreamResponse(status=reply.status, headers=headers)
        await response.prepare(request)
        for piece in reply.pieces:
            await asyncio.sleep(reply.pause)
            await response.write(piece)
        if reply.waits:
            await self._wait(request)
        if reply.breaks:
            assert request.transport is not None
            request.transport.close()
        return response

    async def _wait(self, request: web.Request) -> None:
        while request.transport is not None and not request.transport.is_closing():
            await asyncio.sleep(0.01)
        self.left += 1


def _reply(reply: Reply | bytes | list[bytes]) -> Reply:
    if isinstance(reply, bytes):
        return Reply([reply], content_type="application/json")
    return Reply(reply) if isinstance(reply, list) else reply


@contextmanager
def upstream_served() -> Iterator[Upstream]:
    upstream = Upstream()
    with provider_of(upstream.answer) as address:
        upstream.address = address
        yield upstream
