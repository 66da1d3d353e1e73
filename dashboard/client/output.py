"""What `whystop` prints: lines for people, as `manage.py ask` has them, or one JSON object per line."""

import json
import sys
from typing import Any, Protocol, TextIO

from .narration import TurnNarration, answer_of, limit_shown
from .replay import WhatIf
from .turn import End, Message, Turn
from .values import Draft, Record


class Output(Protocol):
    """Who is told."""

    def watching(self, turn: Turn) -> None: ...

    def told(self, message: Message) -> Turn | None:
        """A message of a watched turn; the turn once it has ended."""

    def turn(self, turn: Turn) -> None:
        """One turn of several, or one that something was done to."""

    def shown(self, turn: Turn) -> None:
        """One turn with all that is known."""

    def imagined(self, what_if: WhatIf) -> None:
        """A turn as it would have been."""


def say_that_it_goes_on(turn: Turn) -> None:
    """After Ctrl-C, beside what programs read."""
    sys.stderr.write(
        f"\nThe turn continues to run. Watch it with: whystop watch {turn.id}; end it with: whystop cancel {turn.id}\n"
    )


class AsLines:
    """For people: streamed text, and a line for each thing that happens."""

    def __init__(self, out: TextIO) -> None:
        self._lines = TurnNarration(out)
        self._streamed = 0  #: characters of the answer under way that were told

    def watching(self, turn: Turn) -> None:
        self._lines.line(f"[TURN] {turn.id} of {turn.agent}")

    def told(self, message: Message) -> Turn | None:
        match message:
            case Draft(offset=offset, text=text):
                self._lines.said(text)
                self._streamed = offset + len(text)
            case Record(event=event):
                self._lines.said(answer_of(event)[self._streamed :])
                self._streamed = 0
                self._lines.told({"event": event, "transitions": message.transitions, "command": message.command})
            case End(turn=turn):
                self._lines.over(turn.json)
                return turn
        return None

    def turn(self, turn: Turn) -> None:
        limit = limit_shown(turn.suggestion)
        said = " ".join(filter(None, (turn.verdict, f"Limit: {limit}." if limit else "")))
        self._lines.line(f"{turn.id}  {turn.status:<11}  {turn.agent}  {said}".rstrip())

    def shown(self, turn: Turn) -> None:
        self.turn(turn)
        if turn.output_text:
            self._lines.said(turn.output_text.rstrip("\n") + "\n")
        if turn.notice:
            self._lines.line(f"[NOTICE] {turn.notice}")
        self._lines.limit(turn.suggestion)

    def imagined(self, what_if: WhatIf) -> None:
        self._lines.line(f"{what_if.status}: {what_if.verdict}")
        self._lines.line(f"[CERTAINTY] {what_if.certainty}{f': {what_if.why}' if what_if.why else ''}")
        for each in what_if.assumes:
            came = each.came_true
            share = "" if came is None else f" (where it does not hold, {100 * came:.0f} % came true)"
            self._lines.line(f"[ASSUMED] {each.name} {each.low:g} to {each.high:g}: {each.source}{share}")
        for ending in what_if.endings:
            calls = f"{ending.attempts} call{'' if ending.attempts == 1 else 's'}"
            self._lines.line(f"[ENDING] {ending.status}, {calls}: {ending.verdict}")


class AsJson:
    """For programs: one JSON object per line, with its kind. Drafts are left out; records hold
    them."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def watching(self, turn: Turn) -> None:
        """The id is in each turn."""

    def told(self, message: Message) -> Turn | None:
        match message:
            case Record():
                self._write("record", {name: getattr(message, name) for name in message.__slots__})
            case End(turn=turn):
                self.turn(turn)
                return turn
        return None

    def turn(self, turn: Turn) -> None:
        self._write("turn", turn.json)

    shown = turn

    def imagined(self, what_if: WhatIf) -> None:
        self._write("what_if", what_if.json)

    def _write(self, kind: str, value: Any) -> None:
        self._out.write(json.dumps({kind: value}) + "\n")
        self._out.flush()
