"""Live sockets in tests, as a signed-in page has them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from channels.db import database_sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR
from dashboard.live.routing import websocket_urlpatterns


@asynccontextmanager
async def dialled(address: str) -> AsyncIterator[WebsocketCommunicator]:
    """A signed-in page's socket."""
    socket = WebsocketCommunicator(URLRouter(websocket_urlpatterns), address)
    socket.scope["user"] = await database_sync_to_async(User.objects.get)(username=OPERATOR)
    accepted, _ = await socket.connect()
    assert accepted
    try:
        yield socket
    finally:
        await socket.disconnect()


async def everything(socket: WebsocketCommunicator, *, until: str) -> list[str]:
    """What is pushed until a push says `until`."""
    pushed: list[str] = []
    while not pushed or until not in pushed[-1]:
        pushed.append(await socket.receive_from(timeout=20))
    return pushed
