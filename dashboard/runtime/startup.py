"""Starting a process of Whystop: the ports first, then the database, then whatever is to run in it."""

import contextlib
import ipaddress
import signal
import socket
from collections.abc import Iterator
from functools import partial

from django.conf import settings

from dashboard.accounts import services as accounts
from dashboard.platform import embedded_database
from dashboard.platform.database import check_server
from dashboard.platform.egress.rules import APART, BY_DEFAULT
from dashboard.platform.environment import Environment
from dashboard.platform.process_identity import PLACE
from dashboard.runtime.application_parts import parts_of
from dashboard.runtime.database_setup import prepare
from dashboard.runtime.file_limits import connections_within, raise_limit
from dashboard.runtime.ports import listen, listen_for_simulator, port_of, simulator_at
from dashboard.runtime.processes.supervisor import Plan, supervise
from dashboard.runtime.readiness import reachable_address
from dashboard.runtime.request_guard.connection_census import ConnectionCensus
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.runtime.server import give_back_memory, serve


def start(environment: Environment, *, web: bool, simulator: bool, worker: bool, processes: int = 1) -> None:
    """Runs these parts until a signal. Raises StartError where that cannot be.

    `processes`: that serve; with more than one the worker is another, and this one supervises them.
    """
    give_back_memory()
    limit = raise_limit()
    if environment.egress is None and not (web and worker):
        settings.EGRESS = APART  # nobody works at this machine alone
    with _stopped_by_signals(), contextlib.ExitStack() as ports:
        if PLACE is not None:
            from dashboard.runtime.processes.process_main import run_in

            run_in(PLACE, _bounds(environment, limit), worker=worker)
            return
        at = ports.enter_context(listen(environment.host, environment.port, variable="WHYSTOP_PORT")) if web else None
        practice = ports.enter_context(listen_for_simulator(environment.simulator_port)) if simulator else None
        if environment.database_url:
            check_server(environment.database_url)
        database = None if environment.database_url else embedded_database.share()
        prepare(environment, simulator_url=simulator_at(port_of(practice)) if practice else None)
        line = _welcome(at) if at else "Whystop's worker runs turns (Ctrl-C hands them to other workers)."
        announce, bounds = partial(print, line, flush=True), _bounds(environment, limit)
        if at is None or processes == 1:
            serve(
                parts_of(
                    at, practice, worker=worker, census=ConnectionCensus(bounds), announce=announce, database=database
                )
            )
            return
        variables = {"WHYSTOP_EGRESS": BY_DEFAULT} if worker and environment.egress is None else {}
        supervise(Plan(at, processes, worker, practice, bounds, database, variables, announce))


@contextlib.contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Until the loop has its own handlers, a signal unwinds what was begun."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        # The database is left whole, however often Ctrl-C is pressed.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        embedded_database.leave()


def _bounds(environment: Environment, limit: int) -> ResourceLimits:
    room = connections_within(limit)
    return ResourceLimits(
        connections=min(environment.connections or room, room),
        per_address=environment.connections_per_address,
        proxies=environment.trusted_proxies,
    )


def _welcome(web: socket.socket) -> str:
    """The one line: where it is, and a way in that works once, from this machine alone."""
    host, port = reachable_address(web)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if not ipaddress.ip_address(host).is_loopback:
        return f"Whystop is at {address}/ (sign in with a password or an API token; Ctrl-C stops it)."
    code = accounts.one_time_code_create()
    return f"Whystop is at {address}/ - sign in, once: {address}/sign-in/?code={code}"
