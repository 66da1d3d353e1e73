"""Which consumer a websocket goes to, by its address (design §4.2)."""

from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import URLRouter
from django.urls import path, re_path

from dashboard.api.sockets import by_format
from dashboard.inbox.consumers import watch_inbox
from dashboard.live import consumers
from dashboard.live.conversations.consumers import watch_conversation
from dashboard.live.websocket_app import SceneSocketApp
from dashboard.replay.consumers import watch_rerun
from dashboard.timeline.consumers import watch_timeline
from dashboard.timeline.runs.consumers import watch_run


def _socket(address: str, entrance: Any) -> Any:
    """Django's types know views only; its router takes any application."""
    return path(address, entrance)


websocket_urlpatterns: list[Any] = [
    _socket("ws/inbox/", SceneSocketApp(watch_inbox)),
    _socket("ws/timeline/", SceneSocketApp(watch_timeline)),
    _socket("ws/turns/<uuid:turn_id>/", by_format(SceneSocketApp(consumers.watch_turn))),
    _socket("ws/turns/<uuid:turn_id>/rerun/", SceneSocketApp(watch_rerun)),
    _socket("ws/runs/<uuid:run_id>/", SceneSocketApp(watch_run)),
    _socket("ws/agents/<str:name>/", SceneSocketApp(watch_conversation)),
]


class Nowhere(AsyncWebsocketConsumer):  # type: ignore[misc] # channels is untyped
    """Closes a socket to an address nobody serves, where the router alone would raise."""

    channel_layer_alias = "none"  # there is none of that name: one that is away would fail the socket

    async def connect(self) -> None:
        await self.close()


def router() -> Any:
    """The consumers by path. Nobody serves an address with U+0000, which the database refuses."""
    nowhere = Nowhere.as_asgi()
    return URLRouter([re_path("\0", nowhere), *websocket_urlpatterns, re_path("", nowhere)])
