"""The addresses of the live sockets (design §4.2)."""

from typing import Any

from django.urls import path

from dashboard.api.content_negotiation import by_format
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
