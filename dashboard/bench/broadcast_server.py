"""The near end of `manage.py bench live`: a server that tells all its viewers something, in one of three ways.

    python -m dashboard.bench.broadcast_server WAY VIEWERS LEISURELY FLOOD

All are served by uvicorn as the dashboard is. `bare` makes a frame once and writes it to every socket, with nothing
between; `channels` is a plain consumer for each viewer and the layer's `group_send`; `room` is the dashboard's room and
its way in, over a subject that is in memory instead of the database. Prints its port first.

It begins once all are there: so many messages at leisure, to take the time of each; then so many as fast as all can be
handed one after the other. Prints the seconds of processor time of that.
"""

import asyncio
import gc
import logging
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from typing import Any

import django
import uvicorn
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django.setup()

from dashboard.accounts.models import User  # noqa: E402 - the apps had to be there
from dashboard.bench.live import CHARACTERS  # noqa: E402
from dashboard.live.scenes import Scene  # noqa: E402
from dashboard.live.websocket_app import SceneSocketApp  # noqa: E402
from dashboard.runtime.ports import listen, port_of  # noqa: E402
from dashboard.runtime.server import config_of  # noqa: E402

LEISURE = 0.05  #: seconds from message to message
GROUP = "bench"

Scope = MutableMapping[str, Any]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[..., Awaitable[None]]


class Tally:
    """Counts, and tells when it has come to so many."""

    def __init__(self) -> None:
        self._count = self._wanted = 0
        self._reached = asyncio.Event()

    def add(self, more: int = 1) -> None:
        self._count += more
        if self._count >= self._wanted:
            self._reached.set()

    def expect(self, more: int) -> None:
        """Beyond what was expected before."""
        self._wanted += more
        if self._count < self._wanted:
            self._reached.clear()

    async def reached(self) -> None:
        await self._reached.wait()


class Way(ABC):
    """A way of telling all viewers: how many are there, and how many were written to."""

    def __init__(self) -> None:
        self.arrived = Tally()
        self.delivered = Tally()

    @abstractmethod
    def application(self) -> Application:
        """What the server serves."""

    @abstractmethod
    async def tell(self, text: str) -> None:
        """All viewers, once."""

    def counting(self, inner: Application) -> Application:
        """The application, its viewers and what is written to them counted where the server takes it."""

        async def counted(scope: Scope, receive: Any, send: Send) -> None:
            async def counted_send(message: Any) -> None:
                await send(message)
                if message["type"] == "websocket.send":
                    self.delivered.add()
                elif message["type"] == "websocket.accept":
                    self.arrived.add()

            await inner(scope, receive, counted_send)

        return counted


class Bare(Way):
    def __init__(self) -> None:
        super().__init__()
        self._transports: list[asyncio.Transport] = []

    def application(self) -> Application:
        async def stay(_scope: Scope, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "websocket.accept"})
            self._transports.append(send.__self__.transport)
            self.arrived.add()
            while (await receive())["type"] != "websocket.disconnect":
                pass

        return stay

    async def tell(self, text: str) -> None:
        content = text.encode()
        frame = bytes((0x81, 126)) + len(content).to_bytes(2, "big") + content
        for transport in self._transports:
            transport.write(frame)
        self.delivered.add(len(self._transports))


class Channels(Way):
    class Consumer(AsyncWebsocketConsumer):  # type: ignore[misc] # channels is untyped
        groups = [GROUP]

        async def told(self, message: dict[str, str]) -> None:
            await self.send(text_data=message["text"])

    def application(self) -> Application:
        return self.counting(self.Consumer.as_asgi())

    async def tell(self, text: str) -> None:
        await get_channel_layer().group_send(GROUP, {"type": "told", "text": text})


class Latest(Scene):
    """The newest message."""

    group = GROUP
    pace = 0.0

    def __init__(self) -> None:
        self.subject = ""
        self.text = ""
        self.now = ""

    def look(self) -> None:
        self.now = self.text

    def since(self, shows: Hashable) -> tuple[list[str], Hashable]:
        return ([self.now] if self.now != shows else []), self.now


class Room(Way):
    def __init__(self) -> None:
        super().__init__()
        self._scene = Latest()

    def application(self) -> Application:
        return self.counting(self._signed_in)

    async def _signed_in(self, scope: Scope, receive: Any, send: Send) -> None:
        known = {**scope, "user": User(pk=1), "url_route": {"kwargs": {}}}
        await SceneSocketApp(lambda _given: (self._scene, ""))(known, receive, send)

    async def tell(self, text: str) -> None:
        self._scene.text = text
        await get_channel_layer().group_send(GROUP, {"type": "turn.changed"})


WAYS: dict[str, type[Way]] = {"bare": Bare, "channels": Channels, "room": Room}


async def broadcast(way: Way, viewers: int, leisurely: int, flood: int) -> float:
    """Both phases, once all viewers are there; the seconds of processor time of the second."""
    way.arrived.expect(viewers)
    await way.arrived.reached()
    await asyncio.sleep(LEISURE)
    gc.collect()
    gc.freeze()
    for _ in range(leisurely):
        await _tell_all(way, viewers, "l")
        await asyncio.sleep(LEISURE)
    began = time.process_time()
    for _ in range(flood):
        await _tell_all(way, viewers, "f")
    return time.process_time() - began


async def _tell_all(way: Way, viewers: int, phase: str) -> None:
    """Returns once it was handed to every socket."""
    way.delivered.expect(viewers)
    await way.tell(f"{phase}{time.perf_counter_ns()} ".ljust(CHARACTERS, "x"))
    await way.delivered.reached()


async def serve(way: Way, viewers: int, leisurely: int, flood: int) -> None:
    with listen("127.0.0.1", 0, variable="") as opened:
        server = uvicorn.Server(config_of(way.application()))
        serving = asyncio.create_task(server.serve([opened]))
        sys.stdout.write(f"{port_of(opened)}\n")
        sys.stdout.flush()
        sys.stdout.write(f"{await broadcast(way, viewers, leisurely, flood)}\n")
        sys.stdout.flush()
        # From here on uvicorn only complains of the sockets it closes.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        server.should_exit = True
        await serving


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()) as runner:
        runner.run(serve(WAYS[sys.argv[1]](), *map(int, sys.argv[2:])))
