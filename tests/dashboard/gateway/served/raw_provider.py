"""A provider that sends exactly the bytes it is told to, with the pauses and breaks it is told to make."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.dashboard.raw_server import raw_server

CUT = object()  #: the connection is reset here
OPEN = object()  #: it stays open until the caller closes it
DONE = b"data: [DONE]\n\n"

#: Bytes are written, a number waits so many seconds, `CUT` ends it at once, `OPEN` waits for the caller to go. At the
#: end the connection is closed.
Steps = Sequence[Any]


@dataclass(slots=True)
class RawProvider:
    """`streams` and `bodies`: what a request for a stream, or for a whole answer, gets; by model.

    `always`: what any request gets, also one of a dialect that names its model elsewhere.
    """

    url: str
    always: Steps | None = None
    streams: dict[str, Steps] = field(default_factory=dict)
    bodies: dict[str, Steps] = field(default_factory=dict)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _request(reader)
        answers = self.streams if request.get("stream") else self.bodies
        for step in answers[request["model"]] if self.always is None else self.always:
            if step is CUT:
                await writer.drain()
                await asyncio.sleep(0.02)  # else what was written is lost with the connection
                writer.transport.abort()
                return
            if step is OPEN:
                await reader.read()
            elif isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            else:
                await asyncio.sleep(step)


async def _request(reader: asyncio.StreamReader) -> dict[str, Any]:
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
    return json.loads(await reader.readexactly(int(fields[b"content-length"])))


@contextmanager
def raw_provider() -> Iterator[RawProvider]:
    """It, while it serves; its loop is a thread of its own."""
    provider, begun = RawProvider(""), Future[Callable[[], object]]()

    async def serve() -> None:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        async with raw_server(provider.serve) as port:
            provider.url = f"http://127.0.0.1:{port}"
            begun.set_result(lambda: loop.call_soon_threadsafe(over.set))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    end = begun.result(10)
    try:
        yield provider
    finally:
        end()
        thread.join(10)


def head(kind: str = "text/event-stream", *fields: str, status: str = "200 OK") -> bytes:
    """The head of an answer that ends with its connection."""
    told = [f"HTTP/1.1 {status}", *([f"Content-Type: {kind}"] if kind else []), "Connection: close", *fields]
    return "\r\n".join([*told, "", ""]).encode("latin-1")


def chunked(*pieces: bytes, last: bytes = b"0\r\n\r\n") -> bytes:
    """A body in HTTP's own chunks."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + last


def event(delta: Any, reason: Any = None, **more: Any) -> bytes:
    """One event of a stream."""
    return data({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more})


def data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def body(message: Mapping[str, Any], reason: Any = "stop", **more: Any) -> bytes:
    """A whole answer."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    return json.dumps({"id": "c", "object": "chat.completion", "choices": [choice], **more}).encode()
