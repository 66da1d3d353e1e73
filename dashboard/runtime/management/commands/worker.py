"""`manage.py worker`: drive turns in a process of its own, on any number of hosts."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.metrics.worker_port import serve_metrics
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
