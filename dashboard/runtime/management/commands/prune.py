"""`manage.py prune`: let the oldest turns of a project go, by age, count or size."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from agentcore.quoting import quoted
from dashboard.accounts.audit.services import command_record
from dashboard.agents.models import Project
from dashboard.agents.project_command import ProjectCommand
from dashboard.runtime.database_setup import prepare
from dashboard.timeline.pruning import Plan, RetentionLimits, plan, prune

_TIME = "%Y-%m-%d %H:%M"
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class Command(ProjectCommand):
    help = "Show which turns a limit on age, count or size would erase. With --yes, erase them permanently."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--keep-days", type=_count, help="erase turns that started more than this many days ago")
        parser.add_argument("--keep-turns", type=_count, help="erase all but this many of the newest turns")
        parser.add_argument(
            "--keep-bytes", type=_size, help="erase the oldest turns beyond this size, such as 500M or 20G"
        )
        parser.add_argument(
            "--yes", action="store_true", help="erase the turns; without this option they are only counted"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        days, turns, size = (options[name] for name in ("keep_days", "keep_turns", "keep_bytes"))
        if days is turns is size is None:
            raise CommandError("Say what to keep: --keep-days, --keep-turns or --keep-bytes.")
        prepare(settings.ENVIRONMENT, simulator_url=None)
        project = self.enter(options["project"])
        kept = RetentionLimits(None if days is None else timedelta(days=days), turns, size)
        planned = plan(project=project, kept=kept, now=timezone.now())
        self.stdout.write(_words(planned))
        if options["yes"] and planned.turn_ids:
            self._erase(project, planned)

    def _erase(self, project: Project, planned: Plan) -> None:
        command_record("prune", f"{project.name}: {len(planned.turn_ids):,} turns")
        erased = 0
        for done in prune(project=project, planned=planned):
            erased += done
            self.stderr.write(f"{erased:,} of {len(planned.turn_ids):,} turns")
        self.stdout.write(f"Erased {erased:,} turns. PostgreSQL reuses their space for new ones.")


def _words(planned: Plan) -> str:
    if planned.oldest is None or planned.newest is None:
        return "No turn would be erased."
    size, times = f"{planned.bytes / 1e6:,.1f} MB", f"{planned.oldest:{_TIME}} to {planned.newest:{_TIME}} UTC"
    return (
        f"{len(planned.turn_ids):,} turns of {size} would be erased, from {times}. Their shared links and comments are "
        "erased with them."
    )


def _count(word: str) -> int:
    if not re.fullmatch(r"\d{1,9}", word):
        raise ArgumentTypeError(f"{quoted(word)} is not a whole number from 0.")
    return int(word)


def _size(word: str) -> int:
    found = re.fullmatch(r"(\d{1,9})([KMGT]?)B?", word.upper())
    if not found:
        raise ArgumentTypeError(f"{quoted(word)} is not a size: write 500M or 20G.")
    return int(found[1]) * _UNITS[found[2]]
