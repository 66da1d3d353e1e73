"""The two ways to a server. Each is a context manager that gives the streams the SDK's client speaks over."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from dashboard.agents.json_value_count import ValueCount
from dashboard.platform.egress.hidden_keys import KeyHider, long_enough
from dashboard.platform.egress.keys import key_for
from dashboard.tools.mcp.guarded_transport import GuardedTransport
from dashboard.tools.mcp.servers import Server
from dashboard.tools.tool import ToolProblem

MAX_ANSWER_BYTES = 8_000_000  #: of one HTTP answer
MAX_VISIT_BYTES = 24_000_000  #: of all answers of one visit, such as the pages of a list
#: JSON values in all answers of a visit. Each takes up to a kilobyte of memory once the SDK has read it, and meanwhile
#: no other thread runs.
MAX_VALUES = 300_000
MAX_LAST_WORDS = 2_000  #: bytes of what a command said on its standard error


@asynccontextmanager
async def dialed(server: Server, heard: list[str]) -> AsyncIterator[Any]:
    """The streams to a server. `heard` is given what may explain a failure: statuses, a program's last words."""
    way = _over_stdio(server, heard) if server.transport == "stdio" else _over_http(server, heard)
    async with way as streams:
        yield streams


def _key(server: Server) -> str | None:
    if not server.key_env:
        return None
    key = key_for(server.key_env, server.url if server.transport == "http" else "")
    if key is None:
        # Whether the variable is there is told to those alone who may name one: on the server's page in the admin.
        raise ToolProblem(f"MCP server “{server.name}” has no usable key. Its page in the admin gives the reason.")
    return key


@asynccontextmanager
async def _over_http(server: Server, heard: list[str]) -> AsyncIterator[Any]:
    key = _key(server)
    bearer = server.key_header.lower() == "authorization"
    headers = {"Accept-Encoding": "identity"}
    if key is not None:
        headers[server.key_header] = f"Bearer {key}" if bearer else key
    async with (
        httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(server.timeout),
            event_hooks={"response": [_bounding(key), _noting(heard)]},
            transport=GuardedTransport(),
            trust_env=False,
        ) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_ANSWER_BYTES) as streams,
    ):
        yield streams


@dataclass(slots=True)
class _Heard:
    """What a server has sent during a visit."""

    size: int = 0  #: bytes
    values: int = 0

    def add(self, part: bytes, count: ValueCount) -> None:
        """Another part of an answer, whose values are counted by `count`. Raises `StreamError` where it is more than a
        visit may bring."""
        self.size += len(part)
        self.values += count.add(part)
        if self.size > MAX_VISIT_BYTES:
            raise httpx2.StreamError(f"Its answers are longer than {MAX_VISIT_BYTES:,} bytes together.")
        if self.values > MAX_VALUES:
            raise httpx2.StreamError(f"Its answers hold more than {MAX_VALUES:,} values.")


def _bounding(key: str | None) -> Callable[[httpx2.Response], Awaitable[None]]:
    heard = _Heard()

    async def bound(response: httpx2.Response) -> None:
        """Give up on an answer that is too long, and hide our key in it. A compressed one was not asked for, and could
        be any length."""
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("The answer is compressed, which was not requested.")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        hider = KeyHider(long_enough([key or ""]))
        response.headers = httpx2.Headers([(name, hider.text(value)) for name, value in response.headers.multi_items()])
        response.encoding = "utf-8"  # as MCP and event streams have it; in others a count of bytes would be wrong
        response.stream = _BoundedStream(response.stream, hider, heard)

    return bound


def _noting(heard: list[str]) -> Callable[[httpx2.Response], Awaitable[None]]:
    async def note(response: httpx2.Response) -> None:
        if response.request.method == "POST" and response.status_code >= 400:
            heard.append(f"HTTP status {response.status_code}")

    return note


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, hider: KeyHider, heard: _Heard) -> None:
        self._stream, self._hider, self._heard = stream, hider, heard

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received, count = 0, ValueCount()
        async for part in self._stream:
            received += len(part)
            if received > MAX_ANSWER_BYTES:
                raise httpx2.StreamError(f"The answer is longer than {MAX_ANSWER_BYTES:,} bytes.")
            self._heard.add(part, count)
            yield self._hider.piece(part)
        yield self._hider.end()

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def _over_stdio(server: Server, heard: list[str]) -> AsyncIterator[Any]:
    """The SDK gives the program PATH, HOME and the like of our environment, and we the key; nothing else. Where the
    program connects to is its own affair: WHYSTOP_EGRESS does not hold it.
    """
    if not server.stdio_allowed:
        raise ToolProblem(f"MCP server “{server.name}” is a command, and WHYSTOP_MCP_STDIO is not 1: it is not run.")
    key = _key(server)
    parameters = StdioServerParameters(
        command=server.command,
        args=list(server.args),
        env=None if key is None else {server.key_env: key},
        encoding_error_handler="replace",
    )
    async with _listening(heard) as errors, stdio_client(parameters, errlog=errors) as streams:
        yield streams


@asynccontextmanager
async def _listening(heard: list[str]) -> AsyncIterator[Any]:
    """A file for a program's standard error, of which the end is kept."""
    reading, writing = os.pipe()
    words = _LastWords(heard)
    loop = asyncio.get_running_loop()
    with os.fdopen(writing, "w") as file:
        transport, _ = await loop.connect_read_pipe(lambda: words, os.fdopen(reading, "rb", buffering=0))
        try:
            yield file
        finally:
            transport.close()


class _LastWords(asyncio.Protocol):
    def __init__(self, heard: list[str]) -> None:
        self._heard, self._said = heard, b""

    def data_received(self, data: bytes) -> None:
        self._said = (self._said + data)[-MAX_LAST_WORDS:]
        self._heard[:] = [self._said.decode(errors="replace").strip()]
