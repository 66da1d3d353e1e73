"""Response schemas of policy versions and of limit estimates."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field


class PolicyVersion(BaseModel):
    """One version and what became of it."""

    version: int
    stands: str = Field(description="active, planned, past or draft.")
    at: datetime | None = Field(description="Since when it is active, from when it will be, or until when it was.")
    changes: list[str] = Field(description="Its differences from the previous version, as text.")
    why: str
    created_at: datetime
    created_by: str | None
    backtest: UUID | None = Field(description="The backtest of its settings before it was saved.")


class Quantile(BaseModel):
    """The share `complete` of answers is whole within `tokens`."""

    complete: float = Field(description="Above 0, below 1.")
    tokens: int | None = Field(description="null: these recordings do not say.")
    low: int | None = Field(description="The lower end of the 95 % interval.")
    high: int | None = Field(description="The upper end; null: these recordings do not say.")


class Estimate(BaseModel):
    """How long answers are, by the Kaplan–Meier estimate; one that was cut says only that it is at least so long."""

    words: str
    turns: int
    cut: int = Field(description="Of the turns, those whose answer was cut.")
    undecided: float = Field(description="The share of answers longer than any that is known to have ended.")
    suffices: int | None = Field(description="The smallest total of tokens in which 95 % are whole.")
    quantiles: list[Quantile]
    capped: bool = Field(description="Whether only the newest turns count, because there were more.")
    certainties: dict[str, int] = Field(
        description="How certain the lengths are, by turns: `recorded` (one call said the answer), `certain` (every "
        "continuation was exact), `estimated` (continued after a hint, or usage was not reported), `undecidable` (cut)."
    )
