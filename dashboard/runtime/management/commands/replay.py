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
from agentcore.replay import Divergence, Provenance
from agentcore.serial import event_to_json
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.client.narration import lines_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.suggestion_text import because, certainty_word, sentence
from dashboard.policies.suggestions.sweep_suggestions import suggested_sweep
from dashboard.replay.divergence_text import parting_words
from dashboard.replay.services import WhatIf, turn_verify, turn_what_if
from dashboard.replay.suggested_value import MeasuredValue, SuggestedValue
from dashboard.replay.sweep_point import Point
from dashboard.replay.sweep_result import Sweep
from dashboard.runtime.database_setup import prepare
from dashboard.turns import api_serializers, selectors
from dashboard.turns.certainty_text import MEANINGS, assumption_and_share, limit_word
from dashboard.turns.models import Turn
from dashboard.turns.origins import vouched_of
from dashboard.turns.prices.templatetags.prices import money

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
                word = certainty_word(suggestion).capitalize()
                self.stdout.write(f"[LIMIT] {word}. {sentence(suggestion)} {because(suggestion)}")
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
        for point, suggested, again in found.listed:
            word, sure, calls, tokens = _cells(point, suggested, again)
            ends = f"{point.value:>11,}  {word:<{ENDS}} {sure:<11}"
            row = f"{ends} {calls:>8} {tokens:>13}  {money(point.price, turn.model)}"
            self.stdout.write(f"{row}{_mark(found, point)}")
        self.stdout.write(found.words)
        self._recommended(found)

    def _recommended(self, found: Sweep) -> None:
        """One line for each value, by what is surest of it."""
        lead, points = found.lead, list(found.recommended)
        same = next((point for point in points if lead is not None and point.value == lead.value), None)
        if lead is not None and same is not None:
            if lead.proven or lead.certainty.rank <= same.certainty.rank:
                points.remove(same)
            else:
                lead = None
        named = f"Recommended: {found.title} ({found.name})"
        if lead is not None:
            self.stdout.write(f"{named} {lead.value:,} ({lead.word})")
        for point in points:
            calls = f"{point.calls} call{'' if point.calls == 1 else 's'}"
            self.stdout.write(f"{named} {point.value:,} ({calls}, {limit_word(point.certainty)})")

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
            self.stdout.write(f"undecidable  {imagined.turn['notice']}")

    def _sureness(self, imagined: WhatIf) -> None:
        """How certain the whole is, and what it assumes."""
        certainty = imagined.recording.certainty
        self.stdout.write(f"{certainty.value.capitalize()}. {MEANINGS[certainty]}")
        for assumption in imagined.recording.assumes:
            self.stdout.write(f"- {assumption_and_share(assumption)}.")


def _json(shown: Any) -> str:
    return json.dumps(shown, cls=DjangoJSONEncoder, ensure_ascii=False)


def _cells(point: Point, suggested: SuggestedValue | None, again: MeasuredValue | None) -> tuple[str, str, str, str]:
    """How the turn ends at a value, how certain that is, its calls and its tokens: as in the row of the page."""
    if again is not None or (suggested is not None and suggested.rerun is not None):
        known = suggested or again
        return point.ends_in_words, known.word if known else "", f"{point.calls}", f"{point.tokens:,}"
    if suggested is not None and point.undecidable:
        calls, tokens = suggested.calls, suggested.tokens
        told = "" if calls is None else f"{calls}", "" if tokens is None else f"≤ {tokens:,}"
        return "likely completed", suggested.word, *told
    word = "" if point.undecidable else point.ends_in_words
    return word, limit_word(point.certainty), f"{point.calls}", f"{point.tokens:,}{'+' if point.undecidable else ''}"


def _mark(found: Sweep, point: Point) -> str:
    """What the value is named for, if for anything: by a re-run or the turn's page, else by the recording."""
    run = {each.value: each.word for each in found.measured}
    run |= {each.value: each.word for each in reversed(found.suggested) if each.known}
    said = [name for name, each in found.with_reruns.items() if each is not None and each.value == point.value]
    word = run.get(point.value) or next(iter(said), "")
    return f"  <- {word}" if word else ""


def _range(said: str) -> tuple[str, range]:
    name, _, values = said.partition("=")
    try:
        begin, end, *step = (int(number) for number in values.split(":"))
        return name, range(begin, end + 1, step[0] if step else 1)
    except ValueError as error:
        raise CommandError(
            f"“{said}” is not a sweep. Write LIMIT=FIRST:LAST or LIMIT=FIRST:LAST:STEP, such as max_tokens=50:1000:50."
        ) from error


def _turn(given: str) -> Turn:
    try:
        return selectors.turn_of_any_project(UUID(given))
    except (ValueError, Turn.DoesNotExist) as error:
        raise CommandError(f"There is no turn {given}. The timeline and the API show the ids of turns.") from error
