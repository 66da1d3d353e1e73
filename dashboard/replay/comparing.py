"""Recorded, imagined and live runs of one turn, side by side."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.replay import Divergence, Recording, first_divergence
from dashboard.replay.services import WhatIf, turn_what_if
from dashboard.turns.history import recording_of
from dashboard.turns.leading import Leading, leading
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.shown import Draft, Shown, draft_shown, shown_of
from dashboard.turns.standing_words import standing_words
from dashboard.turns.waterfall import LENGTH, Bar

UNDECIDABLE = "The recording ends here; what the model would have said next is unknown. Re-run live to know."


@dataclass(frozen=True, slots=True)
class Side:
    """One run as a column. `parts_at` is the record where it parts from the original, 0 where it does not."""

    title: str
    provenance: str  #: recorded, derived or live
    row: Mapping[str, Any]
    shown: Shown
    parts_at: int = 0
    parts_how: str = ""
    same_words: bool = False
    undecidable: bool = False
    unfinished: bool = False
    scale: int = 1  #: the tokens that fill the whole width of the bars
    draft: Draft | None = None

    @property
    def reason(self) -> str:
        """The word its ending is known by."""
        if self.undecidable:
            return "unknown"
        if self.unfinished:
            return str(self.row["status"])
        return str(self.row["terminal_reason"] or self.row["stop_reason"] or self.row["status"])

    @property
    def leading(self) -> Leading:
        """The verdict, parted after its first words."""
        if self.undecidable:
            return Leading("Not known.", f" {UNDECIDABLE}")
        return leading(str(self.row["verdict"]), self.reason)

    @property
    def bars(self) -> tuple[Bar, ...]:
        """The calls, one after the other, as long as the tokens they gave."""
        placed: list[Bar] = []
        for bar in self.shown.rail.bars:
            x = placed[-1].x + placed[-1].width if placed else 0.0
            placed.append(replace(bar, x=round(x, 1), width=round(LENGTH * (bar.output_tokens or 0) / self.scale, 1)))
        return tuple(placed)

    @property
    def calls(self) -> int:
        """Calls of the model that came to something; where a recording ends, one more would have followed."""
        return sum(bar.end is not None for bar in self.shown.rail.bars)


def original(turn: Turn, recording: Recording) -> Side:
    return Side("Recorded", "recorded", _row(turn), shown_of(recording), scale=max(1, turn.output_tokens))


def imagined(recording: Recording, what_if: WhatIf, *, scale: int) -> Side:
    """The what-if beside the recording it was made from, which gave `scale` tokens."""
    parting = first_divergence(recording, what_if.recording)
    return Side(
        "What if",
        "derived",
        what_if.turn,
        shown_of(what_if.recording),
        parts_at=parting.seq if parting else 0,
        parts_how=parting_words(parting),
        same_words=not what_if.undecidable and what_if.turn["output_text"] == _output(recording),
        undecidable=what_if.undecidable,
        scale=max(1, scale, what_if.turn["output_tokens"]),
    )


def live(turn: Turn, parent: Recording, what_if: WhatIf | None) -> Side:
    """A re-run beside what was recorded; `same_words` compares it with the what-if."""
    recording = recording_of(turn)
    parting = None if turn.forked_at else first_divergence(parent, recording)
    shown = shown_of(recording)
    unfinished = turn.status in UNFINISHED
    known = what_if is not None and not what_if.undecidable
    return Side(
        "Re-run, live",
        "live",
        {**_row(turn), "verdict": turn.verdict or standing_words(turn, shown.snapshot)},
        shown,
        parts_at=parting.seq if parting and not unfinished else 0,
        parts_how=parting_words(parting),
        same_words=bool(known and what_if and not unfinished and what_if.turn["output_text"] == turn.output_text),
        unfinished=unfinished,
        draft=draft_shown(turn, shown.snapshot) if unfinished else None,
        scale=max(1, turn.output_tokens, turn.parent.output_tokens if turn.parent else 0),
    )


def rerun_context(turn: Turn, *, oob: bool = False) -> dict[str, Any]:
    """What the column of a re-run is rendered from, by page and by socket."""
    parent = turn.parent
    recording = recording_of(parent or turn)
    what_if = None
    if parent is not None and not turn.forked_at:
        changed = {key: value for key, value in turn.overrides.items() if parent.overrides.get(key) != value}
        # Where the parent cannot be imagined any more, what ran live still stands beside what was recorded.
        with suppress(ValidationError):
            what_if = turn_what_if(turn=parent, overrides=changed)
    return {"turn": turn, "side": live(turn, recording, what_if), "oob": oob}


def parting_words(divergence: Divergence | None) -> str:
    """What differs at the first record where two runs part."""
    if divergence is None:
        return ""
    one, other = divergence.recorded, divergence.replayed
    if other is not None and "error" in other:
        return str(other["error"])
    if one is None or other is None:
        return "one run ends before the other"
    if one["transitions"] != other["transitions"]:
        return f"{_path(one)} in the recording, {_path(other)} here"
    return _asked(one["command"], other["command"])


def _path(judged: Mapping[str, Any]) -> str:
    return ", then ".join(transition["trigger"] for transition in judged["transitions"])


def _asked(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    tokens = (one.get("max_tokens"), other.get("max_tokens"))
    if tokens[0] != tokens[1] and None not in tokens:
        return f"the call asks for {tokens[1]} tokens in place of {tokens[0]}"
    return "another command is given"


def _output(recording: Recording) -> str:
    shown = shown_of(recording)
    return shown.snapshot.output_text


def _row(turn: Turn) -> dict[str, Any]:
    names = (
        "id",
        "status",
        "stop_reason",
        "terminal_reason",
        "verdict",
        "notice",
        "error_message",
        "output_text",
        "output_tokens",
        "input_tokens",
        "tokens_estimated",
        "attempts",
        "continuations",
        "duration_ms",
        "max_tokens",
    )
    return {name: getattr(turn, name) for name in names}
