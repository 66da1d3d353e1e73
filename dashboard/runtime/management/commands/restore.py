"""`manage.py restore FILE`: what `manage.py backup` has written, in this data folder and its database."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.accounts.audit.services import command_record
from dashboard.platform.errors import StartError
from dashboard.runtime.operations.archive import Archive
from dashboard.runtime.operations.restore import restore


class Command(BaseCommand):
    help = "Restore a backup into this data folder and its database, then migrate it to this version."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a file that `manage.py backup` has written")
        parser.add_argument("--replace", action="store_true", help="replace everything that is stored here")
        parser.add_argument("--check", action="store_true", help="verify the file's checksums, and restore nothing")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            self._check(options["file"]) if options["check"] else self._restore(**options)
        except StartError as error:
            raise CommandError(str(error)) from error

    def _check(self, path: Path) -> None:
        archive = Archive(path)
        archive.verify()
        turns, made_at = archive.manifest.rows.get("turns_turn", 0), archive.manifest.made_at
        self.stdout.write(f"{path} is whole: {turns:,} turns, backed up at {made_at}.")

    def _restore(self, file: Path, replace: bool, **_: Any) -> None:
        restored = restore(file, replace=replace)
        command_record("restore", str(file))
        for path in restored.kept:
            self.stdout.write(f"The key that was here is now in {path}.")
        turns = restored.rows.get("turns_turn", 0)
        self.stdout.write(f"Restored {turns:,} turns, as of {restored.made_at}. Next: manage.py verify --all")
