"""What callers are given of replays and backtests."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from dashboard.api.answers import MaybeObject, Object, Objects, Turn


class Verification(BaseModel):
    class Divergence(BaseModel):
        seq: int
        recorded: MaybeObject
        replayed: MaybeObject

    verified: bool
    divergence: Divergence | None = Field(description="The first record where the two part.")


class Step(BaseModel):
    seq: int
    at: datetime | None
    event: Object
    transitions: Objects
    command: Object
    observed: Objects
    provenance: Literal["recorded", "derived", "live"]


class WhatIf(Turn):
    """The turn as it would have been."""

    steps: list[Step]
    undecidable: bool = Field(description="The recording had no answer to what was asked for; it stops there.")


class Rerun(BaseModel):
    id: UUID
    parent_id: UUID


class Sweep(BaseModel):
    class Point(BaseModel):
        value: int
        ends: str = Field(description="How the turn would have ended; `undecidable`: that is not in the recording.")
        completed: bool
        output_tokens: int
        attempts: int
        price: float | None = Field(description="US dollars at list prices; null: not known.")

    limit: str
    least: int | None = Field(description="The smallest value that completes.")
    sure: bool = Field(description="Every smaller value of the range was tried.")
    tried: int
    words: str
    points: list[Point]


class BacktestId(BaseModel):
    id: UUID


class Backtest(BaseModel):
    status: str
    total: int
    done: int
    same: int
    flipped: int
    undecidable: int
    tokens_delta: int
    calls_delta: int
    seconds_delta: float
    dollars_delta: float = Field(description="At list prices, of the decided turns whose price is known.")
    unpriced: int = Field(description="Decided turns whose price is not known.")
    flipped_turns: list[UUID] = Field(description="The first thousand.")
    flips: Objects = Field(description="`{turn, ended, ends, how, tokens, calls}` of each of them.")
    groups: Objects = Field(
        description="The same counts by `provider` and `model`; `watched`: of all, the turns that were only watched."
    )
    max_tokens: int | None
    stands_for: str | None = Field(description="The policy whose place the draft took; null: it stood alone.")
