"""`python -m dashboard.bench.gateway.upstream`: an OpenAI-style provider that answers at once, at no cost,
or, where its model is called so, chunk by chunk.

It knows of HTTP what the benchmark needs: requests one after another on a connection, with a content-length.
"""

import asyncio
import json
from typing import Any

from dashboard.bench.gateway.bench_process import run, say_port

CHUNKS = 200  #: of a stream, before the one that ends it
ONE_BY_ONE = b'each"'  #: ends the name of a model whose chunks are sent one by one,
PAUSE_SECONDS = 0.001  #: with as much between two, so that each is received by itself where nobody is behind
TEXT = "An agent stops when its policy, its budget or its model says so; which of them it was is what a turn records. "
_NAMED = {"id": "chatcmpl-bench", "created": 1_767_225_600, "model": "m"}
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: "


def _whole() -> bytes:
    message = {"role": "assistant", "content": TEXT, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 19, "completion_tokens": 24, "total_tokens": 43}
    body = json.dumps({**_NAMED, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    return b"%sapplication/json\r\ncontent-length: %d\r\n\r\n%s" % (_HEAD, len(body), body)


def _streamed() -> list[bytes]:
    """The head, then each event in a frame of its own."""
    told = [_event({"role": "assistant", "content": ""}, None)]
    told += [_event({"content": f"word{n} "}, None) for n in range(CHUNKS - 1)]
    told += [_event({}, "stop"), b"data: [DONE]\n\n"]
    frames = [b"%x\r\n%s\r\n" % (len(event), event) for event in told]
    head = _HEAD + b"text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *frames, b"0\r\n\r\n"]


def _event(delta: dict[str, str], reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return b"data: %s\n\n" % json.dumps({**_NAMED, "object": "chat.completion.chunk", "choices": [choice]}).encode()


WHOLE, STREAMED = _whole(), _streamed()


class Answering(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._came = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._came += data
        while (end := self._came.find(b"\r\n\r\n")) >= 0:
            head = self._came[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._came) < end + 4 + length:
                return
            body, self._came = self._came[end + 4 : end + 4 + length], self._came[end + 4 + length :]
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        streamed = b'"stream":true' in body
        if streamed and ONE_BY_ONE in body:
            self._sending = asyncio.create_task(self._one_by_one())
        else:
            self._transport.writelines(STREAMED if streamed else [WHOLE])

    async def _one_by_one(self) -> None:
        for frame in STREAMED:
            if self._transport.is_closing():
                return
            self._transport.write(frame)
            await asyncio.sleep(PAUSE_SECONDS)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=512)
    say_port(server.sockets[0].getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    run(serve())
