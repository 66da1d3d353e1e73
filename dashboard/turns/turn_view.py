"""A turn as its page shows it: everything computed once from the recording, so that stepping never asks the server."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentcore.error_text import error_text, notice_text
from agentcore.reasons import TurnStatus
from agentcore.replay import Recording, beginning, fold
from agentcore.snapshot import Snapshot
from agentcore.states import CALLS, DECIDING, Trigger
from agentcore.why import Derivation, derive
from dashboard.turns import history
from dashboard.turns.diagram import Diagram, diagram_of
from dashboard.turns.draft_answer import DraftAnswer, draft_shown
from dashboard.turns.lint_view import SignView, signs_of
from dashboard.turns.meters import overrun_in_words
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.moments import Moment, moments_of
from dashboard.turns.operation import operation
from dashboard.turns.selectors import attempts_of
from dashboard.turns.sent_caps import cap_of_turn
from dashboard.turns.status_text import status_text
from dashboard.turns.step_view import StepView, step_view, steps_json
from dashboard.turns.time_breakdown import HELD, time_spans_of
from dashboard.turns.transcript import TINTS, Transcript, transcript_of
from dashboard.turns.transcript_window import TranscriptWindow, whole, window_of
from dashboard.turns.verdicts import VerdictLead, verdict_lead, verdict_now
from dashboard.turns.verification import cores, missing_records, proof_of
from dashboard.turns.waterfall import NO_WAITS, Rail, bars_of, dots_path, rail_of


@dataclass(frozen=True, slots=True)
class RecordingView:
    """One recording, ready to be drawn. `now` is the number of the transition that is shown first, 0 before any."""

    moments: tuple[Moment, ...]
    transcript: Transcript
    diagram: Diagram
    rail: Rail
    snapshot: Snapshot
    now: int
    undecidable: bool = False
    signs: tuple[SignView, ...] = ()  #: that a stop reason in it hides a cut
    derivation: Derivation | None = None  #: why it ended; None while it runs
    #: calls before it began that its row counts as its own, as releases before 27 November 2026 stored turns that were
    #: continued live: the row is chained as it is
    counted_before: int = 0

    @property
    def count(self) -> int:
        return len(self.moments)

    @property
    def inherited(self) -> int:
        """Calls of the turn it was forked from; its own row counts none of them."""
        return self.snapshot.inherited.attempts if self.snapshot.inherited else 0

    @property
    def notice(self) -> str:
        """What stands beside an incomplete answer, without the specification's own sentence about errors."""
        return notice_text(self.snapshot)

    @property
    def error(self) -> str:
        """The error that ended the turn, without that sentence either. Empty where no record has one."""
        return error_text(self.snapshot)

    @property
    def held_ms(self) -> int:
        """The time operators held the turn, in milliseconds."""
        return round(1000 * sum(part.seconds for part in self.rail.sums if part.kind == HELD))

    @property
    def moment(self) -> Moment | None:
        """The one shown first."""
        return self.moments[self.now - 1] if self.moments else None

    @property
    def place(self) -> str:
        """Where on the rail the one shown first stands."""
        return f"{self.rail.dots[self.now - 1].x:g}" if self.moments else "0"

    @property
    def breaks(self) -> frozenset[str]:
        """The states the turn would hold at."""
        return frozenset(breakpoint_.state for breakpoint_ in self.snapshot.breakpoints if breakpoint_.state)

    @property
    def passed(self) -> str:
        """The dots up to the one shown first, as a path."""
        return dots_path(dot.x for dot in self.rail.dots[: self.now])

    @property
    def seams(self) -> int:
        """Places where one attempt's text joins another's."""
        whole = ([piece for piece in passage.pieces if not piece.doubtful] for passage in self.transcript.passages)
        return sum(max(0, len(pieces) - 1) for pieces in whole)

    @property
    def dropped(self) -> int:
        """Characters of overlap that were removed."""
        return sum(passage.dropped for passage in self.transcript.passages)

    @property
    def doubtful(self) -> int:
        """Characters that may repeat what stands before them, and were kept."""
        pieces = (piece for passage in self.transcript.passages for piece in passage.pieces)
        return sum(piece.length for piece in pieces if piece.doubtful)

    @property
    def tinted(self) -> tuple[tuple[int, str], ...]:
        """The calls that said something, for the legend: tint and words."""
        return self.transcript.legend[:TINTS]

    @property
    def more_tinted(self) -> int:
        """How many calls the legend leaves out."""
        return max(0, len(self.transcript.legend) - TINTS)


@dataclass(frozen=True, slots=True)
class TurnView:
    """A stored turn: its row, its history, and what of it is not yet in the history."""

    turn: Turn
    shown: RecordingView
    draft: DraftAnswer | None
    verdict: str
    verified: bool | None  #: whether its replay is verified; None while the turn runs
    unproven: str  #: what of a verified replay could not be compared, in words; empty: nothing
    missing_records: str  #: which records it lacks, in words; empty: none
    cores: str  #: which cores judged and verify it, where the replay differs and they are not the same
    parted: VerdictLead | None = None  #: the verdict in parts, where they are not made of the history shown

    @property
    def unfinished(self) -> bool:
        return self.turn.status in UNFINISHED

    @property
    def streaming(self) -> bool:
        """Whether the model is being asked just now."""
        return self.unfinished and self.shown.snapshot.state in CALLS

    @property
    def tokens_out(self) -> int:
        """Output tokens, with about those of what streams just now."""
        return self.turn.output_tokens + (self.draft.tokens if self.draft else 0)

    @property
    def cap(self) -> str:
        """`max_tokens` of its calls, in words where no number is known."""
        return cap_of_turn(self.turn.max_tokens, self.shown.snapshot.setup)

    @property
    def overrun(self) -> str:
        """Why a completed turn could use more than its total allows; empty where it did not."""
        return overrun_in_words(self.shown.snapshot)

    @property
    def tokens_in(self) -> str:
        """Input tokens; of an answer whose usage was not reported, nothing is known of them."""
        return self.turn.tokens_in

    @property
    def drafting(self) -> bool:
        """Whether the draft has a place in the answer: the model is being asked, or has answered and is not judged."""
        return self.streaming or (self.draft is not None and self.draft.held)

    @property
    def continues(self) -> int:
        """The iteration whose text the draft goes on with; 0 where it begins a passage of its own."""
        passages, iteration = self.shown.transcript.passages, self.shown.snapshot.iteration
        goes_on = self.drafting and passages and passages[-1].iteration == iteration and passages[-1].pieces
        return iteration if goes_on else 0

    @property
    def step(self) -> StepView | None:
        """The step shown first, in words."""
        moment = self.shown.moment
        return step_view(moment, untimed=self.turn.untimed) if moment else None

    @property
    def island(self) -> str:
        """Every step, as the page's data."""
        return steps_json([step_view(moment, untimed=self.turn.untimed) for moment in self.shown.moments])

    @property
    def window(self) -> TranscriptWindow:
        """The transcript, or of a long one what stands around the step shown first."""
        return window_of(self.shown.transcript, self.shown.now)

    @property
    def everything(self) -> TranscriptWindow:
        """The transcript, however long."""
        return whole(self.shown.transcript)

    @property
    def back(self) -> int:
        """The step before, for who steps without scripts."""
        return max(1, self.shown.now - 1)

    @property
    def forward(self) -> int:
        """The step after."""
        return min(self.shown.count, self.shown.now + 1)

    @property
    def breakable(self) -> tuple[str, ...]:
        """The states a turn can hold at."""
        return tuple(state.value for state in DECIDING)

    @property
    def held_because(self) -> str:
        """Why it was held last, in words."""
        holds = (moment.reason for moment in reversed(self.shown.moments) if moment.trigger == Trigger.BREAKPOINT)
        return next(holds, "")

    @property
    def took_ms(self) -> int | None:
        """What the turn took itself: time that it was held does not count, for its limits do not count that either."""
        took = self.turn.duration_ms
        return None if took is None or self.turn.untimed else max(0, took - self.shown.held_ms)

    @property
    def reason(self) -> str:
        """The word the verdict begins with: why the agent stopped, or where the turn stands."""
        turn = self.turn
        if self.unfinished or turn.status == TurnStatus.INTERRUPTED:
            return turn.status
        return turn.terminal_reason or turn.stop_reason or turn.status

    @property
    def leading(self) -> VerdictLead:
        """The verdict in parts."""
        return self.parted or verdict_lead(self.shown.snapshot, self.verdict, self.reason)


def recording_view(
    recording: Recording, *, step: int | None = None, waits: Mapping[int, float] = NO_WAITS
) -> RecordingView:
    """What a recording shows, beginning at transition `step`, or at the last one. `waits`: see `rail_of`."""
    spans = fold(recording)
    moments = moments_of(spans)
    wanted = len(moments) if step is None else step
    now = max(min(1, len(moments)), min(wanted, len(moments)))
    last = spans[-1].after if spans else recording.base_snapshot
    return RecordingView(
        moments=moments,
        transcript=transcript_of(recording.base_snapshot, spans),
        diagram=diagram_of(moments, now),
        rail=rail_of(moments, bars_of(spans), waits, time_spans_of(spans, waits)),
        snapshot=last,
        now=now,
        undecidable=recording.undecidable,
        signs=signs_of(spans) if last.flagged else (),
        derivation=derive(recording, spans),
        counted_before=_counted_before(recording.base_snapshot),
    )


def _counted_before(base: Snapshot) -> int:
    return 0 if base.setup is None else base.own.attempts - beginning(base, base.setup.turn_id).own.attempts


def turn_view(turn: Turn, *, step: int | None = None) -> TurnView:
    """A stored turn with its whole history read and judged again."""
    unfinished = turn.status in UNFINISHED
    # Its driver may have written more since the row was read; what is shown and what its buttons send must be of one
    # moment.
    recording = history.recording_of(turn, upto=turn.last_seq if unfinished else None)
    shown = recording_view(recording, step=step, waits=_waits(turn))
    proof = None if unfinished or not recording.records else proof_of(turn, recording)
    verified = None if proof is None else proof.verified
    lacking = None if unfinished else missing_records(recording.records, turn.last_seq)
    return TurnView(
        turn=turn,
        shown=shown,
        draft=draft_shown(turn, shown.snapshot) if unfinished else None,
        verdict=verdict_now(turn) or _standing(turn, shown.snapshot),
        verified=verified,
        cores=cores(turn) if verified is False else "",
        unproven="" if proof is None else proof.unproven,
        missing_records=lacking.words if lacking else "",
    )


def _standing(turn: Turn, snapshot: Snapshot) -> str:
    """Where the turn stands; a call that is still to be made stands in line."""
    words = operation.value.waiting_words(turn.id) if snapshot.state in CALLS else None
    return f"{words[0].upper()}{words[1:]}." if words else status_text(turn, snapshot)


def _waits(turn: Turn) -> dict[int, float]:
    timed = attempts_of(turn.id).exclude(first_token_ms=None).values_list("index", "first_token_ms")
    return {index: wait / 1000 for index, wait in timed if wait is not None}
