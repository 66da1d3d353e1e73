"""`manage.py export`: turns of any filter as JSONL or Parquet, into a file or to standard output."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from agentcore.number_format import number
from dashboard.accounts.audit.services import command_record
from dashboard.agents.project_command import ProjectCommand
from dashboard.agents.selectors import project_current
from dashboard.exports.formats import FORMATS, file_of
from dashboard.runtime.database_setup import prepare
from dashboard.turns.filter_arguments import add_filter, filter_of
from dashboard.turns.filters import TimelineFilters


class Command(ProjectCommand):
    help = "Write turns with their calls as JSONL or Parquet (docs/how-to/exports.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--format", choices=tuple(FORMATS), default="jsonl", help="default: jsonl")
        add_filter(parser)
        parser.add_argument("--output", type=Path, metavar="FILE", help="write here; default: standard output")

    def handle(self, *_args: Any, **options: Any) -> None:
        prepare(settings.ENVIRONMENT, simulator_url=None)
        self.enter(options["project"])
        filters, _ = TimelineFilters.parse(filter_of(options["filter"]))
        pieces = file_of(project=project_current(), filters=filters, named=options["format"])
        command_record("export", " ".join((*options["filter"], str(options["output"] or ""))).strip())
        if options["output"] is None:
            sys.stdout.buffer.writelines(pieces)
            sys.stdout.buffer.flush()
            return
        self._write(options["output"], pieces)
        self.stdout.write(f"Wrote {number(options['output'].stat().st_size)} bytes to {options['output']}.")

    def _write(self, path: Path, pieces: Iterator[bytes]) -> None:
        """Beside its place first, so that nobody finds half a file there."""
        part = path.with_name(f"{path.name}.part")
        try:
            with part.open("wb") as file:
                file.writelines(pieces)
            part.replace(path)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)
