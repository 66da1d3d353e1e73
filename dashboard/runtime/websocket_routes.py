"""Which consumer a websocket goes to."""

from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import URLRouter
from django.urls import re_path

from dashboard.runtime.routing import websocket_urlpatterns


class Nowhere(AsyncWebsocketConsumer):  # type: ignore[misc] # channels is untyped
    """Closes a socket to an address nobody serves, where the router alone would raise."""

    channel_layer_alias = "none"  # there is none of that name: one that is away would fail the socket

    async def connect(self) -> None:
        await self.close()


def router() -> Any:
    """The consumers of `dashboard.live`, by path. Nobody serves an address with U+0000, which the database refuses."""
    nowhere = Nowhere.as_asgi()
    return URLRouter([re_path("\0", nowhere), *websocket_urlpatterns, re_path("", nowhere)])
