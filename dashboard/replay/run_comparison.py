"""Recorded, imagined and live runs of one turn, side by side."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.number_format import number
from agentcore.replay import Assumption, Certainty, Recording, first_divergence
from agentcore.states import TERMINAL, State
from agentcore.values import replace
from dashboard.live.services import OVERRIDES
from dashboard.live.turn_loader import how_to_find_out, may_be_rerun
from dashboard.replay.divergence_text import live_divergence, parting_words, reach_words
from dashboard.replay.services import RECORDED_MAY_BE_CUT, WhatIf, turn_what_if
from dashboard.turns.certainty_text import why_in_words
from dashboard.turns.draft_answer import DraftAnswer, draft_shown
from dashboard.turns.endings import MAY_BE_CUT
from dashboard.turns.history import recording_of
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.prices.rates import Price, Rate
from dashboard.turns.prices.selectors import recording_price, totals_price, turn_rate
from dashboard.turns.status_text import status_text
from dashboard.turns.turn_view import RecordingView, recording_view
from dashboard.turns.verdicts import VerdictLead, verdict_lead, verdict_now
from dashboard.turns.waterfall import LENGTH, Bar


@dataclass(frozen=True, slots=True)
class Ending:
    """One of the two ends that a what-if comes to where its assumptions decide."""

    condition: str  #: `If nothing is repeated`
    reason: str  #: the word it is known by
    words: str  #: `completed in 4 calls`
    tokens: int


@dataclass(frozen=True, slots=True)
class Side:
    """One run as a column. `parts_at` is the record where it parts from the original, 0 where it does not."""

    title: str
    provenance: str  #: recorded, derived or live
    row: Mapping[str, Any]
    shown: RecordingView
    parts_at: int = 0
    parts_how: str = ""
    same_words: bool = False
    undecidable: bool = False
    unfinished: bool = False
    why: str = ""  #: it is undecidable, as a part of a sentence
    reach: str = ""  #: where it is undecidable: how far the recording reaches
    scale: int = 1  #: the tokens that fill the whole width of the bars
    price: Price | None = None  #: None: not known
    forks: frozenset[int] = frozenset()  #: numbers of steps after which another turn may begin
    draft: DraftAnswer | None = None
    certainty: str = Certainty.RECORDED.value
    assumes: tuple[Assumption, ...] = ()
    endings: tuple[Ending, ...] = ()
    tokens_range: tuple[int, int] | None = None  #: output tokens at both ends of what is assumed
    began: str = ""  #: of a re-run that did not start at the beginning: where, and what its figures count
    how: str = ""  #: of a what-if that the recording does not decide: what would tell
    same_as_recorded: str = ""  #: of a re-run: what it has in common with the recording, if all of it

    @property
    def derived(self) -> bool:
        """Whether its numbers are derived: a what-if that never parts from the recording is the recording."""
        return self.provenance == "derived" and self.parts_at > 0

    @property
    def reason(self) -> str:
        """The word its ending is known by."""
        if self.undecidable:
            return "unknown"
        if self.unfinished:
            return str(self.row["status"])
        return str(self.row["terminal_reason"] or self.row["stop_reason"] or self.row["status"])

    @property
    def leading(self) -> VerdictLead:
        """The verdict in parts."""
        if self.undecidable:
            return VerdictLead("Not known:", f" {self.why}.", self.how)
        told = verdict_lead(self.shown.snapshot, str(self.row["verdict"]), self.reason)
        if self.provenance == "derived" and self.row.get("cut_sign") and not self.shown.snapshot.cut_sign:
            return replace(told, rest=f"{told.rest} {RECORDED_MAY_BE_CUT}", look=MAY_BE_CUT.look)
        return told

    @property
    def bars(self) -> tuple[Bar, ...]:
        """The calls, one after the other, as long as the tokens they gave."""
        placed: list[Bar] = []
        inherited = self.shown.snapshot.inherited if not self.derived else None
        begin = LENGTH * inherited.output_tokens / self.scale if inherited else 0.0
        for bar in self.shown.rail.bars:
            x = placed[-1].x + placed[-1].width if placed else begin
            placed.append(replace(bar, x=round(x, 1), width=round(LENGTH * (bar.output_tokens or 0) / self.scale, 1)))
        return tuple(placed)

    @property
    def calls(self) -> int:
        """Calls of the model, failed ones too; where a recording ends, one more would have followed."""
        return int(self.row["attempts"])

    @property
    def inherited(self) -> int:
        """Calls of the turn it was forked from, which its verdict counts too."""
        return 0 if self.derived else self.shown.inherited

    @property
    def took_ms(self) -> int | None:
        """Without the time that operators held it, as limits count."""
        took = self.row["duration_ms"]
        untimed = took == 0 and self.row["attempts"] > 0  # the log that it was read from gave no times
        return None if took is None or untimed else max(0, took - self.shown.held_ms)


def recorded_side(turn: Turn, recording: Recording) -> Side:
    shown = recording_view(recording)
    price = recording_price(recording, shown.snapshot, turn_rate(turn), derived=False)
    scale = max(1, turn.output_tokens)
    forks = _forks(shown) if may_be_rerun(turn) else frozenset[int]()
    return Side("Recorded", "recorded", _row(turn), shown, scale=scale, price=price, forks=forks)


def _forks(shown: RecordingView) -> frozenset[int]:
    last = {moment.seq: moment for moment in shown.moments}
    ended = (*TERMINAL, State.HELD)
    return frozenset(moment.number for moment in last.values() if moment.target not in ended)


def what_if_side(turn: Turn, recording: Recording, what_if: WhatIf) -> Side:
    """The what-if beside the recording it was made from."""
    parting = first_divergence(recording, what_if.recording)
    final = what_if.recording.final
    assert final is not None, "a what-if knows where it ended"
    derived = parting is not None
    rate = turn_rate(turn, model=final.setup.model if final.setup else "")
    return Side(
        "What if",
        "derived",
        what_if.turn,
        recording_view(what_if.recording),
        parts_at=parting.seq if parting else 0,
        parts_how=parting_words(parting),
        same_words=_certain(what_if) and what_if.turn["output_text"] == turn.output_text,
        undecidable=what_if.undecidable,
        why=what_if.recording.stopped or why_in_words(what_if.recording.why),
        reach=reach_words(what_if.recording, made=turn.attempts),
        scale=max(1, turn.output_tokens, what_if.turn["output_tokens"]),
        tokens_range=what_if.recording.output_tokens_range if what_if.recording.upper else None,
        price=_price(what_if, rate, derived=derived),
        certainty=what_if.recording.certainty.value,
        assumes=what_if.recording.assumes,
        endings=_endings(what_if),
        how=how_to_find_out(turn),
    )


def _price(what_if: WhatIf, rate: Rate | None, *, derived: bool) -> Price | None:
    """Of an estimate by its totals, as a sweep has it: its calls have the tokens of one end of what is assumed."""
    found = what_if.recording
    assert found.final is not None, "a what-if knows where it ended"
    if found.upper is not None:
        return totals_price(found.spent, found.base_snapshot.own, rate)
    return recording_price(found, found.final, rate, derived=derived)


def _certain(what_if: WhatIf) -> bool:
    """Whether its text is known, too: an estimate tells how a turn ends, not what is said."""
    return what_if.recording.certainty.rank <= Certainty.CERTAIN.rank


def _endings(what_if: WhatIf) -> tuple[Ending, ...]:
    return tuple(
        Ending(
            condition,
            "unknown" if ending.undecidable else str(ending.turn["terminal_reason"]),
            words,
            ending.turn["output_tokens"],
        )
        for (condition, words), ending in zip(what_if.conditions, what_if.endings, strict=True)
    )


def live_side(turn: Turn, parent: Recording, what_if: WhatIf | None) -> Side:
    """A re-run beside what was recorded; `same_words` compares it with the what-if."""
    recording = recording_of(turn)
    parting = None if turn.forked_at else live_divergence(parent, recording)
    shown = recording_view(recording)
    unfinished = turn.status in UNFINISHED
    known = what_if is not None and not what_if.undecidable
    return Side(
        "Re-run, live",
        "live",
        {**_row(turn), "verdict": verdict_now(turn) or status_text(turn, shown.snapshot)},
        shown,
        parts_at=parting.seq if parting and not unfinished else 0,
        parts_how=parting_words(parting),
        same_words=bool(known and what_if and not unfinished and what_if.turn["output_text"] == turn.output_text),
        unfinished=unfinished,
        draft=draft_shown(turn, shown.snapshot) if unfinished else None,
        price=recording_price(recording, shown.snapshot, turn_rate(turn), derived=False),
        scale=max(1, _with_inherited(turn, shown), turn.parent.output_tokens if turn.parent else 0),
        began=_began(turn, shown),
        same_as_recorded="" if unfinished or parting else _sameness(turn),
    )


def _with_inherited(turn: Turn, shown: RecordingView) -> int:
    """Output tokens, those of the calls before it began included."""
    inherited = shown.snapshot.inherited
    return turn.output_tokens + (inherited.output_tokens if inherited else 0)


def _began(turn: Turn, shown: RecordingView) -> str:
    if not turn.forked_at:
        return ""
    began = f"Started from record {number(turn.forked_at)} of the recording."
    if not shown.inherited:
        return began
    calls = "the call" if shown.inherited == 1 else f"the {number(shown.inherited)} calls"
    return f"{began} The sentence above also counts {calls} before it; the figures below do not."


def _sameness(turn: Turn) -> str:
    if not turn.forked_at:
        return "The re-run and the recording are the same: the same steps, and the same answer word for word."
    recorded = turn.parent
    if recorded is None or not turn.output_text or turn.output_text != recorded.output_text:
        return ""
    return "The answer is the same as in the recording, word for word."


def rerun_context(turn: Turn, *, oob: bool = False) -> dict[str, Any]:
    """What the column of a re-run is rendered from, by page and by socket."""
    parent = turn.parent
    recording = recording_of(parent or turn)
    what_if = None
    if parent is not None and not turn.forked_at and not turn.overrides.get("said"):
        changed = {key: value for key in OVERRIDES if (value := turn.overrides.get(key)) != parent.overrides.get(key)}
        # Where the parent cannot be imagined any more, what ran live still stands beside what was recorded.
        with suppress(ValidationError):
            what_if = turn_what_if(turn=parent, overrides=changed)
    return {"turn": turn, "side": live_side(turn, recording, what_if), "oob": oob}


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
