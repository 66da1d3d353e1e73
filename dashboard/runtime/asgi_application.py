"""The ASGI application: first who asks is settled, then a guard stands before all of it; over http the ingest, the
gateway, static files, then Django; over websockets the Channels consumers."""

from channels.routing import ProtocolTypeRouter
from django.conf import settings

from dashboard.runtime.django_handler import django_application

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
from dashboard.runtime.websocket_routes import router  # noqa: E402

_gateway = Gateway(with_static_files(_django), passes_unstored=settings.GATEWAY_PASSES_UNSTORED)
_http = Health(Ingest(_gateway))
_timed = timed(ProtocolTypeRouter({"http": apart(_http), "websocket": AccessStack(router())}), "page")
# Wrong tokens and strangers are counted in each process; its share of a limit is such that all together keep it.
_processes = PLACE.processes if PLACE else 1
_guarded = GuessCounter(Guard(_timed, processes=_processes), GuessLimits(most=MOST // _processes))
guarded = CrossOrigin(_guarded, settings.ENVIRONMENT.cors_origins)
application = ClientIdentity(PathAlias(guarded), settings.TRUSTED_PROXIES, https=settings.SECURE_SSL_REDIRECT)
