"""`manage.py set_password`: give the owner a password without signing in first."""

import getpass
import sys
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from dashboard.accounts.audit.services import command_record
from dashboard.accounts.services import OPERATOR, owner_password_set
from dashboard.runtime.database_setup import prepare


class Command(BaseCommand):
    """Asks for the password twice; from a pipe, reads it from the first line of standard input."""

    help = f"Set the password of “{OPERATOR}”, the owner of this installation."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """One line on standard output, or a CommandError that says what to do."""
        password = _typed() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
        if not password:
            message = "The password is empty. Nothing was changed; run the command again and type one."
            raise CommandError(message)
        try:
            validate_password(password)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        prepare(settings.ENVIRONMENT, simulator_url=None)
        owner_password_set(password)
        command_record("set_password", OPERATOR)
        self.stdout.write(f"The password of “{OPERATOR}” is set.")


def _typed() -> str:
    password = getpass.getpass("New password: ")
    if password != getpass.getpass("Repeat the password: "):
        message = "The passwords do not match. Nothing was changed. Run the command again."
        raise CommandError(message)
    return password
