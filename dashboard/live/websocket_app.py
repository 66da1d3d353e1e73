"""The sockets of rooms, as an ASGI application: it lets a page in, hears what it says, and writes what its room gives.

Channels' consumers take one message at a time from the layer each, which is what a delivery costs most of; here the
layer is the room's, and a viewer is only written to.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from typing import Any

from django.http import QueryDict

from dashboard.live.broadcast_hub import CLOSE, BroadcastHub, Send, Subscriber, hub_of
from dashboard.live.scenes import Scene
from dashboard.platform.unread_responses import kept_of

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Enter = Callable[..., tuple[Scene, Hashable]]

REFUSED = 4401
MOST_SAID = 1_000  #: characters; a page has not more to say at once


class SceneSocketApp:
    """Made of `enter(given, **route)`: the scene an address is about, and what the page shows that comes by it."""

    def __init__(self, enter: Enter) -> None:
        self._enter = enter

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """ASGI."""
        await receive()  # the handshake's `websocket.connect`
        user = scope.get("user")
        if user is None or not user.is_authenticated:
            await send({"type": CLOSE, "code": REFUSED})
            return
        given = QueryDict(scope.get("query_string", b"").decode("latin1"))
        scene, shows = self._enter(given, **scope["url_route"]["kwargs"])
        await send({"type": "websocket.accept"})
        await _Visit(scene, Subscriber(send, shows, user.pk, kept_of(scope))).stay(receive)


class _Visit:
    """One socket from its first moment in a room to its last; by what it says it may change rooms."""

    def __init__(self, scene: Scene, viewer: Subscriber) -> None:
        self._viewer = viewer
        self._room = self._joined(scene)

    def _joined(self, scene: Scene) -> BroadcastHub:
        room = hub_of(scene)
        room.join(self._viewer)
        return room

    async def stay(self, receive: Receive) -> None:
        """Until either side closes, or the server's own end cancels it."""
        tasks = [asyncio.create_task(self._viewer.write()), asyncio.create_task(self._hear(receive))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._room.leave(self._viewer)
            for task in tasks:
                task.cancel()
            # A socket that is gone ends the writing with whatever the server raises for it.
            await asyncio.gather(*tasks, return_exceptions=True)
            self._viewer.left()  # the room may have told it more since its connection was lost

    async def _hear(self, receive: Receive) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            # What a page says is about what it shows, so that is to be known first.
            await self._viewer.level.wait()
            said = message.get("text") or ""
            scene = self._room.scene.heard(said, self._viewer.shows) if len(said) <= MOST_SAID else None
            if scene is not None:
                self._room.leave(self._viewer)
                self._room = self._joined(scene)
