"""`manage.py worker`: drive turns in a process of its own, on any number of hosts."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.runtime.startup import start


class Command(BaseCommand):
    help = (
        "Run queued turns and backtests. Any number of workers can run; Ctrl-C hands the turns in progress to the "
        "others."
    )
    requires_system_checks = ()
    requires_migrations_checks = False

    def handle(self, *_args: Any, **_options: Any) -> None:
        start(settings.ENVIRONMENT, web=False, simulator=False, worker=True)
