"""A server on raw sockets for tests: whatever its handler did, no connection outlives it."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]

BROKEN = (asyncio.IncompleteReadError, OSError)  #: what a handler meets when its client goes


@contextlib.asynccontextmanager
async def raw_server(handle: Handle, *, tls: ssl.SSLContext | None = None, limit: int = 1 << 16) -> AsyncIterator[int]:
    """Serve with `handle`, and give the port.

    A connection is closed once its handler ends. Handlers that still run at the end are cancelled. `limit`: the most
    bytes that wait to be read.
    """
    tasks = set[asyncio.Task[None]]()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(_to_the_end(handle, reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0, ssl=tls, limit=limit, backlog=512)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # aborted transports close their sockets in the loop's next round


async def _to_the_end(handle: Handle, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await handle(reader, writer)
        writer.close()
        await writer.wait_closed()
    except BROKEN:
        pass
    finally:
        writer.transport.abort()
