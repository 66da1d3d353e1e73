"""Live sockets in tests, as a signed-in page has them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.db import database_sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR
from dashboard.runtime.websocket_routes import websocket_urlpatterns

PATIENCE = 60  #: seconds; a machine that is busy is not at fault


class Dialled(WebsocketCommunicator):
    """A socket that is waited for; Channels' own gives up after a second."""

    async def connect(self, seconds: float = PATIENCE) -> tuple[bool, Any]:
        return await super().connect(seconds)

    async def receive_output(self, seconds: float = PATIENCE) -> dict[str, Any]:
        return await super().receive_output(seconds)

    async def receive_from(self, seconds: float = PATIENCE) -> str | bytes:
        return await super().receive_from(seconds)

    async def disconnect(self, code: int = 1000, seconds: float = PATIENCE) -> None:
        await super().disconnect(code, seconds)

    async def wait(self, seconds: float = PATIENCE) -> None:
        await super().wait(seconds)


@asynccontextmanager
async def dialled(address: str) -> AsyncIterator[Dialled]:
    """A signed-in page's socket."""
    socket = Dialled(URLRouter(websocket_urlpatterns), address)
    socket.scope["user"] = await database_sync_to_async(User.objects.get)(username=OPERATOR)
    accepted, _ = await socket.connect()
    assert accepted
    try:
        yield socket
    finally:
        await socket.disconnect()


async def everything(socket: Dialled, *, until: str) -> list[str]:
    """What is pushed until a push says `until`."""
    pushed: list[str] = []
    while not pushed or until not in pushed[-1]:
        pushed.append(await socket.receive_from())
    return pushed
