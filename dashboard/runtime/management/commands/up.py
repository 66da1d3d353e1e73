"""`manage.py up`: everything in one process."""

import contextlib
import ipaddress
import signal
import socket
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.accounts import services as accounts
from dashboard.postgres import Share
from dashboard.runtime import embedded
from dashboard.runtime.answering import reachable_address
from dashboard.runtime.database import check_server
from dashboard.runtime.environment import Environment
from dashboard.runtime.ports import listen, listen_for_simulator, port_of
from dashboard.runtime.preparing import prepare
from dashboard.runtime.serving import Parts, serve


class Command(BaseCommand):
    help = "Runs the whole of Whystop: database, web server, worker and simulator. Ctrl-C stops it."
    requires_system_checks = ()
    requires_migrations_checks = False

    def handle(self, *_args: Any, **_options: Any) -> None:
        # Until the loop has its own handlers, a signal unwinds what was begun.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                self._up(settings.ENVIRONMENT)
        finally:
            # The database is left whole, however often Ctrl-C is pressed.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            embedded.leave()

    def _up(self, environment: Environment) -> None:
        with (
            listen(environment.host, environment.port, variable="WHYSTOP_PORT") as web,
            listen_for_simulator(environment.simulator_port) as simulator,
        ):
            if environment.database_url:
                check_server(environment.database_url)
            database = None if environment.database_url else embedded.share()
            prepare(environment, simulator_url=f"http://127.0.0.1:{port_of(simulator)}/v1")
            line = _welcome(web)
            serve(_parts(web, simulator, database, line))


def _parts(web: socket.socket, simulator: socket.socket, database: Share | None, line: str) -> Parts:
    # These build the application from settings, which is slow and worth nothing before the database is there.
    from dashboard.asgi import application
    from dashboard.live import worker
    from dashboard.live.streams import streams
    from dashboard.simulator.app import app

    def announce() -> None:
        print(line, flush=True)  # noqa: T201

    return Parts(application, web, app, simulator, worker.run, database, announce, streams.end_all)


def _welcome(web: socket.socket) -> str:
    """The one line: where it is, and a way in that works once, from this machine alone."""
    host, port = reachable_address(web)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if not ipaddress.ip_address(host).is_loopback:
        return f"Whystop is at {address}/ (sign in with a password or an API token; Ctrl-C stops it)."
    code = accounts.one_time_code_create()
    return f"Whystop is at {address}/ - sign in, once: {address}/sign-in/?code={code}"
