"""Response schemas of backtests."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from dashboard.api.replay_response_schemas import WHY_WORDS, Why
from dashboard.api.response_fields import Objects
from dashboard.turns.certainty_text import NOT_JUDGED, UNDECIDED

SECONDS = "The difference for turns with a known end, without the time for which an operator held a turn."
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


TRIED = "The policy version that was tried; null for the default limits and for settings that were never saved."


class TriedVersion(BaseModel):
    """The version that a backtest tried."""

    policy: str
    version: int
    stands: str = Field(description="Its state now: `active`, `planned` (scheduled), `past` or `draft` (inactive).")
    changed: bool = Field(description="Whether other values were tried in place of some of its own.")


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
    tried: TriedVersion | None = Field(description=TRIED)
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
        "`completed`: the flipped turns that would have completed with more calls or tokens; null if not counted; "
        "`proven`: the flipped turns that a live re-run has proven; "
        "`overridden`: the turns whose own overrides decide the result, the first of them in `overridden_turns`."
    )
    max_tokens: int | None = Field(description=FIRST_CAP)
    stands_for: str | None = Field(description=STANDS_FOR)
    tried: TriedVersion | None = Field(description=TRIED)
    keeps_overrides: bool = Field(description=KEEPS_OVERRIDES)
