"""`manage.py import`: turns from logs that people already have, and from files that Whystop exported."""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from dashboard.accounts.audit.services import command_record
from dashboard.agents.project_command import ProjectCommand
from dashboard.agents.selectors import project_current
from dashboard.ingest.logs.files import TRANSCRIPTS, Options, file_import, files_in, transcripts_of
from dashboard.ingest.logs.services import ImportProgress
from dashboard.runtime.database_setup import prepare

EVERY_SECONDS = 2.0  #: between two lines of progress
NOTHING = (
    "Give a file or a folder: no transcripts were found in your home folder ("
    + ", ".join(f"~/{name}" for name in TRANSCRIPTS)
    + ")."
)


class Command(ProjectCommand):
    help = (
        "Import turns from logs: JSONL of requests and answers, HTTP archives, cassettes, batch results, LiteLLM's and "
        "Langfuse's exports, transcripts of coding agents, and turn files. Importing the same file twice changes "
        "nothing. An interrupted import continues where it stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "paths", metavar="PATH", nargs="*", type=Path,
            help="a file or a folder (default: the transcripts of coding agents in your home folder)",
        )  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="show what would be imported, without storing it")
        parser.add_argument("--unverified", action="store_true", help="also turn files whose replay differs")

    def handle(self, *_args: Any, **options: Any) -> None:
        paths = options["paths"] or transcripts_of(Path.home())
        if not paths:
            raise CommandError(NOTHING)
        prepare(settings.ENVIRONMENT, simulator_url=None)
        self.enter(options["project"])
        dry = options["dry_run"]
        asked = Options(project_current().id, dry=dry, unverified=options["unverified"])
        if not dry:
            command_record("import", " ".join(map(str, paths)))
        whole = [self._file(path, asked) for path in files_in(paths)]
        turns, here = sum(taken.turns for taken, _ in whole), sum(taken.here for taken, _ in whole)
        faults = sum(refused for _, refused in whole)
        verb = "would be imported" if dry else "imported"
        told = f"{_count(len(whole), 'file')}: {_count(turns, 'turn')} {verb}"
        self.stdout.write(f"{told}, {here:,} here already, {faults:,} refused.")
        if faults and not turns and not here:
            sys.exit(1)

    def _file(self, path: Path, asked: Options) -> tuple[ImportProgress, int]:
        taken, refused = ImportProgress(), 0
        verb = "would be imported" if asked.dry else "imported"
        for fault in file_import(path, asked, taken, self._progress(path, taken, verb)):
            refused += 1
            self.stderr.write(f"{path}:{fault.line}: {fault.words}" if fault.line else f"{path}: {fault.words}")
        turns = _count(taken.turns, "turn")
        self.stdout.write(f"{path}: {turns} {verb}, {taken.here:,} here already, {refused:,} refused")
        return taken, refused

    def _progress(self, path: Path, taken: ImportProgress, verb: str) -> Callable[[int], None]:
        """Tells how far a file is read, now and then."""
        size, last = max(1, path.stat().st_size if path.exists() else 1), time.monotonic()

        def told(read: int) -> None:
            nonlocal last
            if time.monotonic() - last >= EVERY_SECONDS:
                last = time.monotonic()
                turns = _count(taken.turns, "turn")
                self.stdout.write(f"{path}: {100 * read // size} %, {turns} {verb}, {taken.here:,} here already")
                self.stdout.flush()

        return told


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
