"""`manage.py web`: pages, sockets and API in a process of their own, on any number of hosts."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.platform.process_identity import add_processes
from dashboard.runtime.startup import start


class Command(BaseCommand):
    help = (
        "Serve pages, live updates and the API. Workers run the turns. Any number of servers can run; Ctrl-C stops "
        "this one."
    )
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_processes(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        start(settings.ENVIRONMENT, web=True, simulator=False, worker=False, processes=options["processes"])
