"""Response schemas of replays."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from dashboard.api.response_fields import MaybeObject, Object, Objects
from dashboard.api.suggestion_response_schemas import Suggestion
from dashboard.api.turn_response_schemas import RecordedTurn
from dashboard.turns.certainty_text import MEANINGS, WHYS


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
TOKENS_RANGE = (
    "The output tokens at the lower and at the upper end of what is assumed; `output_tokens` is midway. The same "
    "number twice if nothing is assumed."
)
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
        description="The certainty of this event. That of the answer to the command is given at the next record."
    )
    assumes: list[Assumption] = Field(description="The assumptions of this record; empty unless it is estimated.")


class Ending(RecordedTurn):
    """The turn as it would have been."""

    duration_ms: int | None = Field(
        description="Without the time for which operators held the recorded turn, as limits count."
    )
    output_tokens_range: list[int] = Field(description=TOKENS_RANGE)
    steps: list[Step] = Field(description="Its records, in order.")
    undecidable: bool = Field(description="The recording does not determine how the turn ends. The what-if stops here.")
    why: Why | None = Field(description="Why it is undecidable; null if it is decidable. " + WHY_WORDS)
    stopped: str = Field(
        description="Why the what-if was stopped, as text, if evaluating it would take too long; otherwise empty."
    )
    certainty: Certainty = Field(
        description="The certainty of its least certain record, by this recording alone. " + CERTAINTIES
    )
    assumes: list[Assumption] = Field(description="The assumptions of its records, each with its widest range.")


class WhatIf(Ending):
    """The turn as it would have been. If the assumptions decide how it ends, both endings are included."""

    endings: list[Ending] = Field(
        description="If the assumptions decide how the turn ends: the turn at the lower and at the upper end of their "
        "ranges, in this order. Otherwise empty."
    )
    known_limit: Suggestion | None = Field(
        description="If the what-if is undecidable: the limit that the turn's page names, by a re-run, by other turns "
        "or by the recording. Otherwise null, as where no value is known."
    )


class Rerun(BaseModel):
    id: UUID
    parent_id: UUID


class Sweep(BaseModel):
    class Point(BaseModel):
        value: int
        ends: str = Field(description="How the turn would have ended; `undecidable` if the recording does not show it.")
        ends_in_words: str = Field(
            description="The same as pages show it: `likely completed` if the recording does not show it, and the "
            "turn's page suggests the value without a change of another setting."
        )
        certainty: Certainty
        certainty_in_words: str = Field(
            description="The same as pages show it: `recorded`, `certain`, `likely`, `not known`, and `proven` or "
            "`measured` for a value under which the turn was run again."
        )
        completed: bool
        output_tokens: int
        output_tokens_range: list[int] = Field(description=TOKENS_RANGE)
        attempts: int = Field(description="If it is undecidable, the calls that the recording answers.")
        price: float | None = Field(description="US dollars at list prices; null if not known.")
        seconds: float = Field(description="How long the turn would have taken.")
        why: Why | None = Field(description="Why it is undecidable; null if it is decidable.")
        output_tokens_at_most: int | None = Field(
            description="For a value that is only likely by other turns or another re-run, the maximum, as pages show "
            "it; otherwise null."
        )

    class Recommendation(BaseModel):
        value: int
        beside: str = Field(
            description="The other settings that must change with it, as text; empty if the value is enough alone."
        )
        ends_in_words: str
        certainty_in_words: str = Field(
            description="`proven`, `certain`, `recorded`, `measured` or `likely`; `not known` if the call is only "
            "tried again with it."
        )
        rerun: UUID | None = Field(description="The live re-run that shows it.")
        output_tokens: int | None
        output_tokens_at_most: int | None = Field(description="`output_tokens` if that is a maximum; otherwise null.")
        attempts: int | None
        price: float | None = Field(description="US dollars at list prices; null if not known.")
        seconds: float | None

    class Measured(BaseModel):
        value: int
        certainty: str = Field(
            description=(
                "`proven`: the re-run completed, began with the recorded answer and did not end exactly at the value; "
                "`likely`: it completed, and another run may need more (time limit, failures in a row); "
                "otherwise `measured`."
            )
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
        description="Values at which the turn completes, `recorded` or `certain`, and its answer is not one that may "
        "be cut off; null if there are none."
    )
    likely: Found | None = Field(description="The same, `estimated` included; null if there are none.")
    with_reruns: dict[Literal["certain", "likely"], Found | None] = Field(
        description="The same two with what live re-runs of the turn took (`measured`) in place of what the recording "
        "shows, as pages and `manage.py replay --sweep` show them."
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
        description="The values that the recording or a live re-run under the same settings shows to be enough: the "
        "smallest for each number of calls, fewest calls first. Values of `suggested` are not included unless a re-run "
        "shows them. `recommendations` has all recommended values."
    )
    recommendations: list[Recommendation] = Field(
        description="The values that pages and `manage.py replay --sweep` recommend, in their order: those of "
        "`suggested`, then those of `recommended`, each once."
    )
    suggested: list[Suggested] = Field(
        description="Values of the limit that the turn's page suggests and the recording does not show, the most "
        "certain first. Empty if the recording shows a value, and under other `overrides`."
    )
    points: list[Point]
    measured: list[Measured] = Field(
        description="Values of the range under which the turn was run again live, with what the newest re-run took."
    )
