"""`manage.py backup FILE`: the database and what belongs to it, in one file."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError

from dashboard.accounts.audit.services import command_record
from dashboard.platform.errors import StartError
from dashboard.runtime.operations.backup import back_up


class Command(BaseCommand):
    help = "Write the database, its keys and a manifest to one file. Whystop can keep running."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write; it must not exist")
        parser.add_argument("--without-keys", action="store_true", help="leave out the signing key and the secret key")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            made = back_up(options["file"], with_keys=not options["without_keys"])
        except StartError as error:
            raise CommandError(str(error)) from error
        with suppress(ProgrammingError):  # before an upgrade the log is not there yet
            command_record("backup", str(made.path))
        keys = "without keys" if options["without_keys"] else "with its keys: protect the file like a password"
        turns, size = made.rows["turns_turn"], made.bytes / 1_000_000
        self.stdout.write(f"Backed up {turns:,} turns to {made.path} ({size:,.1f} MB), {keys}.")
