"""Whether anything that is stored was changed behind Whystop's back."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dashboard.runtime.preparing import prepare
from dashboard.sealing.checking import Checked, check_all
from dashboard.sealing.services import chain_some, seal_make

MOST_TOLD = 1_000


class Command(BaseCommand):
    help = "Check every seal, every chain and every turn; name what was changed, removed or added."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="check everything that is stored")
        parser.add_argument("--seal", action="store_true", help="first chain every turn that has ended, and seal them")
        parser.add_argument("--quick", action="store_true", help="check seals and chains, and replay nothing")
        parser.add_argument("--digest", default="", help="of a seal, noted elsewhere; it must be among those stored")

    def handle(self, *_args: Any, **options: Any) -> None:
        if not options["all"] and not options["seal"]:
            raise CommandError("Say what to verify: --all. For one turn: manage.py replay <turn id>.")
        prepare(settings.ENVIRONMENT, simulator_url=None)
        if options["seal"]:
            while chain_some():
                pass
            seal = seal_make(now=timezone.now())
            words = "Another process is sealing." if seal is None else f"Seal {seal.number}: {seal.digest}"
            self.stdout.write(words)
        if options["all"]:
            self._tell(check_all(expected=options["digest"], replay=not options["quick"]))

    def _tell(self, checked: Checked) -> None:
        for place, words in checked.faults[:MOST_TOLD]:
            self.stdout.write(f"{place}: {words}")
        if len(checked.faults) > MOST_TOLD:
            self.stdout.write(f"and {len(checked.faults) - MOST_TOLD:,} more")
        self.stdout.write(
            f"{checked.turns:,} turns, {checked.sealed:,} sealed by {checked.seals:,} seals, "
            f"{checked.erased:,} erased, {checked.unchained:,} wait for their chain."
        )
        self.stdout.write(f"{len(checked.faults):,} faults." if checked.faults else "Verified: nothing was changed.")
        if checked.faults:
            sys.exit(1)
