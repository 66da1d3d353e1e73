"""`manage.py sign_in_link`: a new way in for the owner."""

import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.accounts.access import SIGN_IN
from dashboard.accounts.audit.services import command_record
from dashboard.accounts.services import one_time_code_create
from dashboard.runtime.database_setup import prepare


class Command(BaseCommand):
    """Prints a link that signs in once, within 15 minutes, in a browser on this machine."""

    help = "Print a one-time sign-in link for the owner of this installation."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """`--port`: where the server listens."""
        parser.add_argument(
            "--port",
            type=int,
            default=int(os.environ.get("WHYSTOP_PORT", "8321")),
            help="the port of the server (default: WHYSTOP_PORT, else 8321)",
        )

    def handle(self, *args: Any, port: int, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """One line on standard output."""
        prepare(settings.ENVIRONMENT, simulator_url=None)
        command_record("sign_in_link")
        self.stdout.write(f"http://127.0.0.1:{port}{SIGN_IN}?code={one_time_code_create()}")
