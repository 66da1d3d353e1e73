"""Whether anything that is stored was changed behind Whystop's back, and whether this version judges it otherwise."""

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from agentcore.number_format import count
from agentcore.version import VERSION
from dashboard.runtime.database_setup import prepare
from dashboard.turns.models import Turn
from dashboard.turns.seals.audit_seals import audit_seals_make
from dashboard.turns.seals.seal_check import Checked, check_all
from dashboard.turns.seals.services import chain_some, seal_make

MOST_TOLD = 1_000
PROGRESS_SECONDS = 5.0


class Command(BaseCommand):
    help = "Check every seal, every chain and every turn; name what was changed, removed or added."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="check everything that is stored")
        parser.add_argument("--seal", action="store_true", help="first chain and seal every ended turn")
        parser.add_argument("--quick", action="store_true", help="check seals and chains only, without replaying turns")
        parser.add_argument(
            "--digest",
            default="",
            help="the digest of a seal that you noted elsewhere; the check fails if no stored seal has it",
        )
        parser.add_argument(
            "--resume", type=Path, help="a file for the progress of the check; an interrupted check continues from it"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        if not options["all"] and not options["seal"]:
            raise CommandError("Add --all to verify everything. To verify one turn: manage.py replay <turn id>.")
        prepare(settings.ENVIRONMENT, simulator_url=None)
        if options["seal"]:
            while chain_some():
                pass
            seal = seal_make(now=timezone.now())
            audit_seals = list(audit_seals_make(now=timezone.now()))
            words = "Another process is sealing." if seal is None else f"Seal {seal.number}: {seal.digest}"
            self.stdout.write(words)
            for audit_seal in audit_seals:
                self.stdout.write(f"Audit seal {audit_seal.number}: {audit_seal.digest}")
        if options["all"]:
            self._tell(self._checked(options["digest"], options["resume"], replay=not options["quick"]))

    def _checked(self, digest: str, resume: Path | None, *, replay: bool) -> Checked:
        notes = ResumeFile(resume) if resume else None
        begun, after = (notes.read() if notes else None) or (None, None)
        if begun is not None:
            self.stdout.write(f"Continuing after {begun.turns:,} turns.")
        total, told_at = Turn.objects.count(), time.monotonic()

        def on_batch(checked: Checked, last: UUID) -> None:
            nonlocal told_at
            if notes is not None:
                notes.write(checked, last)
            if time.monotonic() - told_at >= PROGRESS_SECONDS:
                told_at = time.monotonic()
                self.stderr.write(f"{checked.turns:,} of {total:,} turns")

        checked = check_all(expected=digest, replay=replay, begun=begun, after=after, on_batch=on_batch)
        if notes is not None:
            notes.forget()
        return checked

    def _tell(self, checked: Checked) -> None:
        self._list(checked.faults)
        self._list(checked.changed)
        self.stdout.write(
            f"{count(checked.turns, 'turn')}, {checked.sealed:,} sealed by {count(checked.seals, 'seal')}, "
            f"{checked.erased:,} erased, {checked.unchained:,} not chained yet."
        )
        audit = checked.audit
        entries = "entry" if audit.rows == 1 else "entries"
        self.stdout.write(
            f"Audit log: {audit.rows:,} {entries} sealed by {count(audit.seals, 'seal')}, "
            f"{audit.unsealed:,} not sealed yet."
        )
        if checked.changed:
            turns = len({place for place, _ in checked.changed})
            self.stdout.write(
                f"This version changes the outcome of {turns:,} past turns, or cannot replay them (see above)."
            )
        self.stdout.write(_summary(checked))
        if checked.faults or checked.changed:
            sys.exit(1)

    def _list(self, told: list[tuple[str, str]]) -> None:
        for place, words in told[:MOST_TOLD]:
            self.stdout.write(f"{place}: {words}")
        if len(told) > MOST_TOLD:
            self.stdout.write(f"and {len(told) - MOST_TOLD:,} more")


def _summary(checked: Checked) -> str:
    if checked.faults:
        return f"{len(checked.faults):,} faults."
    return "Seals and chains show no change." if checked.changed else "Verified: nothing was changed."


_EVERY = 2.0  #: seconds between two notes


@dataclass(slots=True)
class ResumeFile:
    """The file of one check. A file of another version of the core counts for nothing: all is judged again."""

    path: Path
    _written: float = field(default=0.0, init=False)

    def read(self) -> tuple[Checked, UUID] | None:
        """What was found of the turns up to one, and that one; None where there is nothing to go on from."""
        if not self.path.exists():
            return None
        told = json.loads(self.path.read_text())
        if told.get("core_version") != VERSION:
            return None
        checked = Checked(turns=told["turns"], unchained=told["unchained"])
        checked.faults = [(place, words) for place, words in told["faults"]]
        checked.changed = [(place, words) for place, words in told["changed"]]
        return checked, UUID(told["after"])

    def write(self, checked: Checked, after: UUID) -> None:
        """Note it, now and then; the file is always whole."""
        if time.monotonic() - self._written < _EVERY:
            return
        # Faults of seals are found anew each time.
        faults = [(place, words) for place, words in checked.faults if _is_turn(place)]
        told = {
            "core_version": VERSION,
            "after": str(after),
            "turns": checked.turns,
            "unchained": checked.unchained,
            "faults": faults,
            "changed": checked.changed,
        }
        fresh = self.path.with_name(f".{self.path.name}-new")
        fresh.write_text(json.dumps(told))
        os.replace(fresh, self.path)  # noqa: PTH105 - whole or not at all
        self._written = time.monotonic()

    def forget(self) -> None:
        """The check has come to its end."""
        self.path.unlink(missing_ok=True)


def _is_turn(place: str) -> bool:
    with suppress(ValueError):
        return bool(UUID(place))
    return False
