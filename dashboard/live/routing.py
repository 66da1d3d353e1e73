"""The addresses of the live sockets (design §4.2)."""

from typing import Any

from django.urls import path

from dashboard.live import consumers
from dashboard.live.entering import Enter, Entrance
from dashboard.replay.consumers import watch_rerun
from dashboard.timeline.consumers import watch_timeline


def _room(address: str, enter: Enter) -> Any:
    """Django's types know views only; its router takes any application."""
    entrance: Any = Entrance(enter)
    return path(address, entrance)


websocket_urlpatterns: list[Any] = [
    _room("ws/timeline/", watch_timeline),
    _room("ws/turns/<uuid:turn_id>/", consumers.watch_turn),
    _room("ws/turns/<uuid:turn_id>/rerun/", watch_rerun),
    _room("ws/agents/<str:name>/", consumers.watch_agent),
]
