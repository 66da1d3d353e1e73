"""Response schemas of replays and backtests."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from dashboard.api.response_fields import MaybeObject, Object, Objects
from dashboard.api.turn_response_schemas import RecordedTurn
from dashboard.turns.certainty_text import MEANINGS, NOT_JUDGED, UNDECIDED, WHYS


class Verification(BaseModel):
    class Divergence(BaseModel):
        seq: int
        recorded: MaybeObject
        replayed: MaybeObject

    verified: bool
    divergence: Divergence | None = Field(description="The first record that differs.")
    missing: list[str] = Field(description="What could not be compared because it is not stored, one sentence each.")
    vouched_by: Literal["here", "sender", "own", "known", "unknown", "unsigned", "broken"] = Field(
        description="Who vouches for the recording: `here`, this installation recorded it; `sender`, the sender of its "
        "trace; otherwise the result of checking the signature of its file."
    )


CERTAINTIES = " ".join(f"`{certainty}`: {words}" for certainty, words in MEANINGS.items())
Certainty = Literal["recorded", "certain", "estimated", "undecidable"]
SECONDS = "The difference for turns with a known end, without the time for which an operator held a turn."
TOKENS_RANGE = (
    "The output tokens at the lower and at the upper end of what is assumed; `output_tokens` is midway. The same "
    "number twice if nothing is assumed."
)
KEEPS_OVERRIDES = "Whether the overrides of each turn took precedence over the draft."
UNENDED = (
    "Turns that would have continued past their recording, or been retried, with an unknown end. They are not counted "
    "as `undecidable`."
)
TOKENS = "The difference in output tokens, for turns with a known end."
CALLS = "The difference in model calls, for turns with a known end."
DOLLARS = "The difference at list prices, for turns with a known end and a known price."
UNPRICED = "The number of turns with a known end and no known price."
FIRST_CAP = "The max_tokens of each turn's first call; null: as recorded."
STANDS_FOR = "The policy that the draft replaced; null if it was tried alone."
WHY_WORDS = " ".join(f"`{why}`: {words}." for why, words in WHYS.items())
Why = Literal[
    "assumptions",
    "more_text",
    "iteration",
    "other_request",
    "another_answer",
    "repair",
    "failed_call",
    "timed_out",
    "refusal",
    "cut_below_cap",
    "output_at_cap",
    "tool_calls",
    "tool_results",
    "tool_seconds",
    "context_window",
    "operator",
    "blocked",
    "not_begun",
    "work",
]


class Assumption(BaseModel):
    """A range that an estimate takes for granted. `repeats`: tokens a continuation repeats at the seam. `reasoning`:
    reasoning tokens of a call that was never made. `position`: characters of the text that a truncated call returns.
    `usage`: output tokens of a call without exact usage; also whether unreported tokens count. `wording`: tokens that
    text after a hint takes in one call. `failures`: failed calls. `input_tokens`, `seconds`: of a call
    that was never made. `truncation`: truncated answers that are reported as ended, 0 for none and 1 for all.
    `operators`: actions of operators that are repeated, 0 for none and 1 for all."""

    name: Literal[
        "repeats",
        "reasoning",
        "position",
        "usage",
        "wording",
        "failures",
        "input_tokens",
        "seconds",
        "truncation",
        "operators",
    ]
    low: float
    high: float
    source: str = Field(description="The source of the range.")
    came_true: float | None = Field(
        description=(
            "For providers for which the assumption does not hold: the share of estimates that came true in our "
            "tests, 0 to 1. Null if at least 0.9."
        )
    )


class Step(BaseModel):
    seq: int
    at: datetime | None
    event: Object
    transitions: Objects
    command: Object
    observed: Objects
    provenance: Literal["recorded", "derived", "live"]
    certainty: Certainty = Field(
        description="The certainty of this event. The certainty of the answer to the command is given at the next step."
    )
    assumes: list[Assumption] = Field(description="The assumptions of this step; empty unless it is estimated.")


class Ending(RecordedTurn):
    """The turn as it would have been."""

    duration_ms: int | None = Field(
        description="Without the time for which operators held the recorded turn, as limits count."
    )
    output_tokens_range: list[int] = Field(description=TOKENS_RANGE)
    steps: list[Step]
    undecidable: bool = Field(description="The recording does not determine how the turn ends. The what-if stops here.")
    why: Why | None = Field(description="Why it is undecidable; null if it is decidable. " + WHY_WORDS)
    stopped: str = Field(
        description="Why the what-if was stopped, as text, if evaluating it would take too long; otherwise empty."
    )
    certainty: Certainty = Field(
        description="The certainty of its least certain step, by this recording alone. " + CERTAINTIES
    )
    assumes: list[Assumption] = Field(description="The assumptions of its steps, each with its widest range.")


class WhatIf(Ending):
    """The turn as it would have been. If the assumptions decide how it ends, both endings are included."""

    endings: list[Ending] = Field(
        description="If the assumptions decide how the turn ends: the turn at the lower and at the upper end of their "
        "ranges, in this order. Otherwise empty."
    )


class Rerun(BaseModel):
    id: UUID
    parent_id: UUID


class Sweep(BaseModel):
    class Point(BaseModel):
        value: int
        ends: str = Field(description="How the turn would have ended; `undecidable` if the recording does not show it.")
        ends_in_words: str = Field(description="The same as pages show it.")
        certainty: Certainty
        completed: bool
        output_tokens: int
        output_tokens_range: list[int] = Field(description=TOKENS_RANGE)
        attempts: int = Field(description="If it is undecidable, the calls that the recording answers.")
        price: float | None = Field(description="US dollars at list prices; null if not known.")
        seconds: float = Field(description="How long the turn would have taken.")
        why: Why | None = Field(description="Why it is undecidable; null if it is decidable.")

    class Measured(BaseModel):
        value: int
        certainty: str = Field(
            description="`proven`: the re-run completed and began with the recorded answer; otherwise `measured`."
        )
        rerun: UUID
        ends: str
        ends_in_words: str = Field(description="The same as pages show it.")
        completed: bool
        output_tokens: int
        attempts: int
        price: float | None = Field(description="US dollars at list prices; null if not known.")
        seconds: float | None = Field(description="Without the time for which operators held the re-run.")

    class Suggested(BaseModel):
        value: int
        certainty: str = Field(
            description=(
                "`proven`: a live re-run with the same answer completed; `likely`: estimated from another re-run or "
                "from similar turns."
            )
        )
        words: str
        rerun: UUID | None
        output_tokens: int | None = Field(description="Output tokens of the re-run; for a likely value, the maximum.")
        attempts: int | None
        price: float | None = Field(description="US dollars at list prices; null if not known.")
        seconds: float | None

    class Found(BaseModel):
        since: int | None = Field(
            description=(
                "The smallest value at which the turn completes and also completes at every larger value that was "
                "tried; null if it does not complete at the largest."
            )
        )
        first: int = Field(description="The smallest value at which the turn completes.")

    limit: str
    certain: Found | None = Field(
        description="Values at which the turn completes, `recorded` or `certain`; null if there are none."
    )
    likely: Found | None = Field(
        description="Values at which the turn completes, `estimated` included; null if there are none."
    )
    least: int | None = Field(
        description="The smallest value at which the turn completes, at any certainty: `likely.first`."
    )
    sure: bool = Field(description="Whether every value of the range below `least` was tried.")
    left_out: int = Field(
        description="Values of the range that were not evaluated, because the sweep would have taken too long."
    )
    tried: int
    words: str
    recommended: list[Point] = Field(
        description="The recommended values: the smallest value for each number of calls, fewest calls first."
    )
    suggested: list[Suggested] = Field(
        description="Values of the limit that the turn's page suggests and the recording does not show, the most "
        "certain first. Empty if the recording shows a value, and under other `overrides`."
    )
    points: list[Point]
    measured: list[Measured] = Field(
        description="Values of the range under which the turn was run again live, with what the newest re-run took."
    )


class BacktestId(BaseModel):
    id: UUID


class BacktestSummary(BaseModel):
    """A backtest in a list."""

    id: UUID
    status: str
    total: int = Field(description="The number of turns to evaluate.")
    done: int = Field(description="The number of turns evaluated so far.")
    same: int = Field(description="Turns that would have ended the same.")
    flipped: int = Field(description="Turns that would have ended differently, with a known end.")
    undecidable: int = Field(description="Turns whose recordings do not determine how they would have ended.")
    unended: int = Field(description=UNENDED)
    recorded: int | None
    certain: int | None
    estimated: int | None
    tokens_delta: int = Field(description=TOKENS)
    calls_delta: int = Field(description=CALLS)
    seconds_delta: float = Field(description=SECONDS)
    dollars_delta: float = Field(description=DOLLARS)
    unpriced: int = Field(description=UNPRICED)
    max_tokens: int | None = Field(description=FIRST_CAP)
    stands_for: str | None = Field(description=STANDS_FOR)
    keeps_overrides: bool = Field(description=KEEPS_OVERRIDES)
    created_at: datetime


class BacktestPage(BaseModel):
    items: list[BacktestSummary]
    next: str | None = Field(description="The cursor of the older backtests; null on the last page.")
    previous: str | None = Field(description="The cursor of the newer backtests; null on the first page.")


class Backtest(BaseModel):
    class Undecided(BaseModel):
        turn: UUID
        why: Why | Literal["not_judged"] = Field(description=f"{WHY_WORDS} `{NOT_JUDGED}`: {UNDECIDED[NOT_JUDGED]}.")

    status: str
    total: int = Field(description="The number of turns to evaluate.")
    done: int = Field(description="The number of turns evaluated so far.")
    same: int = Field(description="Turns that would have ended the same.")
    flipped: int = Field(description="Turns that would have ended differently, with a known end.")
    undecidable: int = Field(description="Turns whose recordings do not determine how they would have ended.")
    unended: int = Field(description=UNENDED)
    recorded: int | None = Field(
        description="The number of same or flipped turns that are `recorded`. With `certain`, `estimated`, `unended` "
        "and `undecidable` they add up to `done`. Null for backtests from before certainties were counted."
    )
    certain: int | None = Field(description="As `recorded`.")
    estimated: int | None = Field(description="As `recorded`.")
    tokens_delta: int = Field(description=TOKENS)
    tokens_estimated: bool = Field(description="Whether `tokens_delta` and `dollars_delta` include estimated tokens.")
    calls_delta: int = Field(description=CALLS)
    seconds_delta: float = Field(description=SECONDS)
    dollars_delta: float = Field(description=DOLLARS)
    unpriced: int = Field(description=UNPRICED)
    flipped_turns: list[UUID] = Field(description="The ids of the first thousand flipped turns.")
    unended_turns: list[UUID] = Field(description="The ids of the first thousand unended turns.")
    undecided: list[Undecided] = Field(
        description="The first thousand turns that are undecidable or of unknown end, and why."
    )
    whys: dict[str, int] | None = Field(
        description="The turns that are undecidable or of unknown end by reason, the most frequent first. Null for "
        "backtests from before reasons were counted."
    )
    flips: Objects = Field(
        description="`{turn, ended, ends, how, tokens, calls, certainty, about, rerun}` of each flipped turn; `about`: "
        "whether its tokens are an estimate; null for older backtests; `rerun`: the id of the live re-run that shows "
        "it, empty if the recording does."
    )
    groups: Objects = Field(
        description="The same counts by `provider` and `model`; `watched`: the turns that the gateway only observed; "
        "`proven`: the flipped turns that a live re-run has proven; "
        "`overridden`: the turns whose own overrides decide the result, the first of them in `overridden_turns`."
    )
    max_tokens: int | None = Field(description=FIRST_CAP)
    stands_for: str | None = Field(description=STANDS_FOR)
    keeps_overrides: bool = Field(description=KEEPS_OVERRIDES)
