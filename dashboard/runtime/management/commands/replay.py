"""`manage.py replay`: verify a stored turn, or try it under other numbers, from the recording."""

import json
import sys
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder

from agentcore.events import Interrupted
from agentcore.number_format import count
from agentcore.quoting import quoted
from agentcore.replay import Certainty, Divergence, Provenance
from agentcore.serial import event_to_json
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.client.narration import lines_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.suggestion_text import because, certainty_word, sentence
from dashboard.policies.suggestions.sweep_suggestions import suggested_sweep
from dashboard.replay.divergence_text import parting_words
from dashboard.replay.services import WhatIf, turn_verify, turn_what_if
from dashboard.replay.sweep_result import Sweep
from dashboard.replay.sweep_row import Row
from dashboard.runtime.database_setup import prepare
from dashboard.turns import api_serializers, selectors
from dashboard.turns.certainty_text import MEANINGS, assumption_and_share
from dashboard.turns.models import Turn
from dashboard.turns.origins import vouched_of
from dashboard.turns.prices.templatetags.prices import money
from dashboard.turns.provider_words import asks_simulator
from dashboard.turns.reason_looks import reason_label

ENDS = 38  #: letters of how a turn ends: the longest are a limit's name and *reached*


class Command(BaseCommand):
    help = "Verify a turn. With limits, print how it would have ended under them (what-if). No provider is called."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("turn", help="the id of the turn, which is the last part of the address of its page")
        parser.add_argument("--max-tokens", type=int, help="the most output tokens of each call")
        for name, field in LIMIT_FIELDS.items():
            kind = int if field.whole else float
            parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help=field.meaning.replace("%", "%%"))
        parser.add_argument(
            "--sweep",
            metavar="LIMIT=FIRST:LAST[:STEP]",
            help="evaluate the turn at each value of one limit, such as max_tokens=50:1000:50",
        )

        parser.add_argument("--json", action="store_true", help="print one JSON object, as in the API")

    def handle(self, *_args: Any, **options: Any) -> None:
        prepare(settings.ENVIRONMENT, simulator_url=None)
        turn = _turn(options["turn"])
        limits = {name: options[name] for name in LIMIT_FIELDS if options[name] is not None}
        overrides = {"max_tokens": options["max_tokens"], "limits": limits}
        if options["sweep"]:
            self._sweep(turn, options["sweep"], overrides, as_json=options["json"])
        elif limits or options["max_tokens"] is not None:
            self._what_if(turn, overrides, as_json=options["json"])
        else:
            self._verify(turn, as_json=options["json"])

    def _verify(self, turn: Turn, *, as_json: bool) -> None:
        verification = turn_verify(turn=turn)
        if as_json:
            told = api_serializers.verification_json(verification)
            self.stdout.write(_json({**told, "vouched_by": vouched_of(turn).by}))
        elif verification.verified:
            self.stdout.write(f"Replay verified: {verification.records:,} records replayed, no differences.")
            for missing in verification.missing:
                self.stdout.write(missing)
            self.stdout.write(vouched_of(turn).words)
            if suggestion := suggestion_for(turn):
                tell(turn, suggestion)
                is_known = suggestion.certainty is not Certainty.UNDECIDABLE  # else the sentence begins with that
                word = f"{certainty_word(suggestion).capitalize()}. " if is_known else ""
                self.stdout.write(f"[LIMIT] {word}{sentence(suggestion)} {because(suggestion)}")
        else:
            self._divergence(verification.records, verification.divergence)
        if not verification.verified:
            sys.exit(1)

    def _divergence(self, matching: int, divergence: Divergence | None) -> None:
        assert divergence is not None, "what is not verified diverges"
        if "error" in (divergence.replayed or {}):  # nothing was replayed that could be printed beside the recording
            self.stdout.write(f"Replay differs: {parting_words(divergence)}. Records that match: {matching}.")
            return
        self.stdout.write(f"Replay differs at record {divergence.seq}: {parting_words(divergence)}.")
        self.stdout.write(f"recorded: {json.dumps(divergence.recorded, ensure_ascii=False)}")
        self.stdout.write(f"replayed: {json.dumps(divergence.replayed, ensure_ascii=False)}")

    def _sweep(self, turn: Turn, said: str, overrides: dict[str, Any], *, as_json: bool) -> None:
        name, values = _range(said)
        try:
            found = suggested_sweep(turn=turn, name=name, values=values, overrides=overrides)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        if as_json:
            self.stdout.write(_json(found.shown()))
            return
        self.stdout.write(f"{found.title} ({name})")
        self.stdout.write(
            f"{'value':>11}  {'how it ends':<{ENDS}} {'certainty':<11} {'calls':>8} {'output tokens':>13}  price"
        )
        for row in found.listed:
            ends = f"{row.value:>11,}  {'' if row.undecidable else row.ends_in_words:<{ENDS}} {row.badge:<11}"
            took = f"{_calls(row):>8} {_tokens(row):>13}  {_price(row, turn)}"
            self.stdout.write(f"{ends} {took}{_mark(found, row)}")
        self.stdout.write(found.words)
        self._recommended(found)

    def _recommended(self, found: Sweep) -> None:
        """One line for each value, in the order of the page."""
        for row in found.recommendations:
            beside = f" with {row.beside}" if row.beside else ""
            calls = "" if row.calls is None else f"{count(row.calls, 'call')}, "
            named = f"Recommended: {found.title} ({found.name}) {row.value:,}{beside}"
            self.stdout.write(f"{named} ({calls}{row.badge})")

    def _what_if(self, turn: Turn, overrides: dict[str, Any], *, as_json: bool) -> None:
        try:
            imagined = turn_what_if(turn=turn, overrides=overrides)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        if as_json:
            self.stdout.write(_json(imagined.shown(turn)))
            return
        self._steps(imagined)
        self.stdout.write(imagined.turn["verdict"])
        self._sureness(imagined)

    def _steps(self, imagined: WhatIf) -> None:
        for record in imagined.recording.records:
            if isinstance(record.event, Interrupted) and record.provenance is Provenance.DERIVED:
                break
            event, origin = event_to_json(record.event), record.provenance.value
            told = {"event": event, "transitions": record.transitions, "command": record.command, "provenance": origin}
            for line in lines_of(told):
                self.stdout.write(f"{record.certainty:>11}  {line}")
        if imagined.undecidable:
            self.stdout.write(f"not known  {imagined.turn['notice']}")

    def _sureness(self, imagined: WhatIf) -> None:
        """How certain the whole is, and what it assumes."""
        certainty = imagined.recording.certainty
        self.stdout.write(f"{reason_label(certainty).capitalize()}. {MEANINGS[certainty]}")
        for assumption in imagined.recording.assumes:
            self.stdout.write(f"- {assumption_and_share(assumption)}.")


def _json(shown: Any) -> str:
    return json.dumps(shown, cls=DjangoJSONEncoder, ensure_ascii=False)


def _calls(row: Row) -> str:
    return "" if row.calls is None else f"{row.calls:,}"


def _tokens(row: Row) -> str:
    """`≤ 410`, `240+`: as far as they are known."""
    if row.tokens is None:
        return ""
    sign = f"{row.sign} " if row.at_most else ""
    return f"{sign}{row.tokens:,}{'+' if row.undecidable else ''}"


def _price(row: Row, turn: Turn) -> str:
    is_bound = row.at_most and row.price is not None and not asks_simulator(turn)
    return f"{'≤ ' if is_bound else ''}{money(row.price, turn)}"


def _mark(found: Sweep, row: Row) -> str:
    """What the value is named for, if for anything: by a re-run or the turn's page, else by the recording."""
    said = (name for name, each in found.marked.items() if each.value == row.value)
    word = row.named or next(said, "")
    return f"  <- {word}{f' with {row.beside}' if row.beside else ''}" if word else ""


def _range(said: str) -> tuple[str, range]:
    name, _, values = said.partition("=")
    try:
        begin, end, *step = (int(number) for number in values.split(":"))
        return name, range(begin, end + 1, step[0] if step else 1)
    except ValueError as error:
        raise CommandError(
            f"{quoted(said)} is not a sweep. Write LIMIT=FIRST:LAST or LIMIT=FIRST:LAST:STEP, "
            "such as max_tokens=50:1000:50."
        ) from error


def _turn(given: str) -> Turn:
    try:
        return selectors.turn_of_any_project(UUID(given))
    except (ValueError, Turn.DoesNotExist) as error:
        raise CommandError(f"There is no turn {given}. The timeline and the API show the ids of turns.") from error
