"""`manage.py replay`: verify a stored turn, or try it under other numbers, from the recording."""

import json
import sys
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from agentcore.events import Interrupted
from agentcore.replay import Provenance
from agentcore.serial import event_to_json
from dashboard.live.narration import lines_of
from dashboard.prices.templatetags.prices import money
from dashboard.replay.comparing import UNDECIDABLE
from dashboard.replay.services import turn_verify, turn_what_if
from dashboard.replay.sweeping import turn_sweep
from dashboard.runtime.preparing import prepare
from dashboard.turns import selectors
from dashboard.turns.models import Turn

NUMBERS = (
    "max_continuations",
    "max_total_completion_tokens",
    "max_total_output_chars",
    "max_total_tokens",
    "max_steps",
)


class Command(BaseCommand):
    help = "Verify a turn; with numbers, show what it would have been under them. No provider is asked."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("turn", help="the turn's id")
        parser.add_argument("--max-tokens", type=int, help="tokens of one call")
        for name in NUMBERS:
            parser.add_argument(f"--{name.replace('_', '-')}", type=int)
        parser.add_argument(
            "--sweep", metavar="LIMIT=FROM:TO:STEP", help="a limit over a range, such as max_tokens=50:1000:50"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        prepare(settings.ENVIRONMENT, simulator_url=None)
        turn = _turn(options["turn"])
        limits = {name: options[name] for name in NUMBERS if options[name] is not None}
        overrides = {"max_tokens": options["max_tokens"], "limits": limits}
        if options["sweep"]:
            self._sweep(turn, options["sweep"], overrides)
        elif limits or options["max_tokens"] is not None:
            self._what_if(turn, overrides)
        else:
            self._verify(turn)

    def _verify(self, turn: Turn) -> None:
        verification = turn_verify(turn=turn)
        if verification.divergence is None:
            self.stdout.write(f"Verified: {verification.records} records were judged again, all the same.")
            return
        divergence = verification.divergence
        self.stdout.write(f"Diverges at record {divergence.seq}.")
        self.stdout.write(f"recorded: {json.dumps(divergence.recorded, ensure_ascii=False)}")
        self.stdout.write(f"replayed: {json.dumps(divergence.replayed, ensure_ascii=False)}")
        sys.exit(1)

    def _sweep(self, turn: Turn, said: str, overrides: dict[str, Any]) -> None:
        name, values = _range(said)
        try:
            found = turn_sweep(turn=turn, name=name, values=values, overrides=overrides)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"{name:>20}  {'ends':<20} {'attempts':>8} {'tokens out':>10}  price")
        for point in found.points:
            tokens = f"{point.tokens:,}{'+' if point.undecidable else ''}"
            row = f"{point.value:>20,}  {point.word:<20} {point.calls:>8} {tokens:>10}  {money(point.price)}"
            self.stdout.write(f"{row}{'  <- the smallest that completes' if point is found.least else ''}")
        self.stdout.write(found.words)

    def _what_if(self, turn: Turn, overrides: dict[str, Any]) -> None:
        try:
            imagined = turn_what_if(turn=turn, overrides=overrides)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        for record in imagined.recording.records:
            if isinstance(record.event, Interrupted) and record.provenance is Provenance.DERIVED:
                self.stdout.write(f"undecidable  {UNDECIDABLE}")
                break
            told = {"event": event_to_json(record.event), "transitions": record.transitions, "command": record.command}
            for line in lines_of(told):
                self.stdout.write(f"{record.provenance:>8}  {line}")
        self.stdout.write(imagined.turn["verdict"])


def _range(said: str) -> tuple[str, range]:
    name, _, values = said.partition("=")
    try:
        begin, end, *step = (int(number) for number in values.split(":"))
        return name, range(begin, end + 1, step[0] if step else 1)
    except ValueError as error:
        raise CommandError(f"“{said}” is no sweep; say it as max_tokens=50:1000:50.") from error


def _turn(given: str) -> Turn:
    try:
        return selectors.turn_get(UUID(given))
    except (ValueError, Turn.DoesNotExist) as error:
        raise CommandError(f"There is no turn {given}; the timeline and the API list them by id.") from error
