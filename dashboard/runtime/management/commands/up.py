"""`manage.py up`: everything in one process."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.platform.process_identity import add_processes
from dashboard.runtime.startup import start


class Command(BaseCommand):
    help = "Run Whystop: database, web server, worker and simulator. Ctrl-C stops it."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_processes(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        start(settings.ENVIRONMENT, web=True, simulator=True, worker=True, processes=options["processes"])
