"""`manage.py find_runs`: find the runs of turns that were stored before there were runs."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentcore.quoting import quoted
from dashboard.accounts.audit.services import command_record
from dashboard.timeline.runs.run_links import link_stored


class Command(BaseCommand):
    """Links stored calls that go on from one another, a batch at a time; what is linked stays so if it is ended."""

    help = "Find the runs of turns that were stored before runs existed. It can be stopped and restarted at any time."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--after",
            default=str(UUID(int=0)),
            help="continue after this turn, whose id the interrupted command printed",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            after = UUID(options["after"])
        except ValueError as error:
            raise CommandError(f"--after must be the id of a turn, not {quoted(options['after'])}.") from error
        command_record("find_runs")
        found = 0
        for turn_id, linked in link_stored(after):
            found += linked
            self.stdout.write(f"up to {turn_id}: {found:,} calls continue another")
        self.stdout.write(f"Done: {found:,} calls continue another.")
