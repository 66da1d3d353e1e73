"""The addresses of the live sockets (design §4.2)."""

from typing import Any

from django.urls import path

from dashboard.live import consumers
from dashboard.replay.consumers import RerunConsumer
from dashboard.timeline.consumers import TimelineConsumer

websocket_urlpatterns: list[Any] = [
    path("ws/timeline/", TimelineConsumer.as_asgi()),
    path("ws/turns/<uuid:turn_id>/", consumers.TurnConsumer.as_asgi()),
    path("ws/turns/<uuid:turn_id>/rerun/", RerunConsumer.as_asgi()),
    path("ws/agents/<str:name>/", consumers.AgentConsumer.as_asgi()),
]
