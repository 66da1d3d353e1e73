"""`manage.py import`: turns from logs that people already have, and from files that Whystop exported."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from dashboard.accounts.audit.services import command_record
from dashboard.agents.project_command import ProjectCommand
from dashboard.agents.selectors import project_current
from dashboard.ingest.local_files import file_pool
from dashboard.ingest.local_files.file_report import FileCounts, FileReport, count_of
from dashboard.ingest.local_files.files import TRANSCRIPTS, Options, files_in, is_turn_file_at, transcripts_of
from dashboard.platform.database import address_of
from dashboard.runtime.database_setup import prepare

NOTHING = (
    "Give a file or a folder: no transcripts were found in your home folder ("
    + ", ".join(f"~/{name}" for name in TRANSCRIPTS)
    + ")."
)

STOPPED = "The import was stopped. What it has stored stays; run the command again to continue."
STOPPED_CODE = 130  #: what a shell says of a command that Ctrl-C ended


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
        parser.add_argument("--unverified", action="store_true", help="also import turn files whose replay differs")

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
        try:
            whole = list(self._imported(files_in(paths), asked))
        except KeyboardInterrupt:
            raise CommandError(STOPPED, returncode=STOPPED_CODE) from None
        turns, here, refused = (sum(counts) for counts in zip((0, 0, 0), *map(astuple, whole), strict=True))
        told = f"{count_of(len(whole), 'file')}: {count_of(turns, 'turn')} {asked.verb}"
        self.stdout.write(f"{told}, {here:,} here already, {refused:,} refused.")
        if refused and not turns and not here:
            sys.exit(1)

    def _imported(self, paths: Sequence[Path], asked: Options) -> Iterator[FileCounts]:
        """What each file came to. Many files are imported by several processes."""
        is_turn_file = {path: is_turn_file_at(path) for path in paths}
        logs = [path for path in paths if not is_turn_file[path]]
        report = FileReport(asked, self.stdout, self.stderr)
        size = file_pool.size_for(logs)
        if size > 1:
            address = address_of(connection.get_connection_params())
            self.stdout.flush()
            yield from file_pool.imported(logs, asked, address=address, size=size, lost=report.lost)
        yield from map(report.imported, paths if size == 1 else filter(is_turn_file.get, paths))
