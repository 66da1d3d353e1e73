"""A provider of a test's own: a handler behind a real port, in a thread, while a turn is driven against it."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextmanager
def provider_of(handler: Handler, *, most: int = 2**24) -> Iterator[str]:
    """Its address while it serves; every request goes to the handler. `most`: bytes of a body."""
    loop = asyncio.new_event_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        application = web.Application(client_max_size=most)
        application.router.add_route("*", "/{path:.*}", handler)
        runner = web.AppRunner(application)
        loop.run_until_complete(runner.setup())
        loop.run_until_complete(web.SockSite(runner, listener).start())
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            loop.close()
