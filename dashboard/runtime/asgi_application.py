"""The ASGI application: first who asks is settled, then a guard stands before all of it; over http the ingest, the
gateway, static files, then Django; over websockets the Channels consumers.

Also here: Django's ASGI application, which lets go of an answer once it was sent, or once its client has gone.

Also here: which consumer a websocket goes to, by its address (design §4.2).
"""

from typing import Any

import django
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
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


class LeanHandler(ASGIHandler):
    """A request and its answer refer to each other, by the tasks that work on them: their memory becomes free when
    Python looks for such rings, which may be minutes later. The content is the most of it, and counted nowhere by then.
    """

    async def send_response(self, response: Any, send: Any) -> None:
        try:
            await super().send_response(response, send)
        finally:
            if not response.streaming:
                response.content = b""


def django_application() -> LeanHandler:
    """The application, with all apps loaded."""
    django.setup(set_prefix=False)
    return LeanHandler()


_django = django_application()

# Only now are the apps loaded that these import.
from dashboard.accounts.websocket import AccessStack  # noqa: E402
from dashboard.gateway.app import Gateway  # noqa: E402
from dashboard.ingest.app import Ingest  # noqa: E402
from dashboard.platform.cross_origin import CrossOrigin  # noqa: E402
from dashboard.platform.path_alias import PathAlias  # noqa: E402
from dashboard.platform.process_identity import PLACE  # noqa: E402
from dashboard.platform.statement_timeout import timed  # noqa: E402
from dashboard.runtime.health import Health  # noqa: E402
from dashboard.runtime.replay_processes import apart  # noqa: E402
from dashboard.runtime.request_guard.client_identity import ClientIdentity  # noqa: E402
from dashboard.runtime.request_guard.guard import Guard  # noqa: E402
from dashboard.runtime.request_guard.guess_limits import MOST, GuessCounter, GuessLimits  # noqa: E402
from dashboard.runtime.static_files import with_static_files  # noqa: E402

_gateway = Gateway(with_static_files(_django), passes_unstored=settings.GATEWAY_PASSES_UNSTORED)
_http = Health(Ingest(_gateway))
_timed = timed(ProtocolTypeRouter({"http": apart(_http), "websocket": AccessStack(router())}), "page")
# Wrong tokens and strangers are counted in each process; its share of a limit is such that all together keep it.
_processes = PLACE.processes if PLACE else 1
_guarded = GuessCounter(Guard(_timed, processes=_processes), GuessLimits(most=MOST // _processes))
guarded = CrossOrigin(_guarded, settings.ENVIRONMENT.cors_origins)
application = ClientIdentity(PathAlias(guarded), settings.TRUSTED_PROXIES, https=settings.SECURE_SSL_REDIRECT)
