"""`manage.py worker`: drive turns in a process of its own, on any number of hosts."""

from argparse import ArgumentParser
from typing import Any
from wsgiref.simple_server import WSGIServer

from django.conf import settings
from django.core.management.base import BaseCommand
from prometheus_client import start_http_server

from dashboard.metrics.counters import REGISTRY
from dashboard.metrics.shared_counters import sampled
from dashboard.platform.errors import StartError
from dashboard.runtime.startup import start


class Command(BaseCommand):
    help = (
        "Run queued turns and backtests. Any number of workers can run; Ctrl-C hands the turns in progress to the "
        "others."
    )
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--metrics-port",
            type=int,
            metavar="PORT",
            help="serve the counters of this worker to Prometheus at this port of WHYSTOP_HOST, without a token",
        )

    def handle(self, *_args: Any, metrics_port: int | None = None, **_options: Any) -> None:
        if metrics_port is not None:
            serve_metrics(settings.ENVIRONMENT.host, metrics_port)
        start(settings.ENVIRONMENT, web=False, simulator=False, worker=True)


def serve_metrics(host: str, port: int) -> WSGIServer:
    """Serve the counters of this process at this port, in a thread of its own, until the process ends. Raises
    `StartError` where that cannot be."""
    try:
        server, _ = start_http_server(port, host, sampled(REGISTRY))
    except (OSError, OverflowError) as error:
        raise StartError(f"The metrics cannot be served at {host}:{port} ({error}): name another port.") from error
    return server
