"""Response schemas of policy versions and of limit estimates."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field


class PolicyVersion(BaseModel):
    """A policy version and its status."""

    version: int
    stands: str = Field(description="`active`, `planned` (scheduled), `past` or `draft` (inactive).")
    at: datetime | None = Field(description="When the version became, will become, or stopped being active.")
    changes: list[str] = Field(description="Its differences from the previous version, as text.")
    why: str
    created_at: datetime
    created_by: str | None
    backtest: UUID | None = Field(description="The backtest of its settings before it was saved.")


class Quantile(BaseModel):
    """`complete` is the share of answers that are complete within `tokens`."""

    complete: float = Field(description="Above 0, below 1.")
    tokens: int | None = Field(description="null if these recordings do not show it.")
    low: int | None = Field(description="The lower end of the 95 % interval.")
    high: int | None = Field(description="The upper end; null if these recordings do not show it.")


class Estimate(BaseModel):
    """The lengths of answers, by the Kaplan–Meier estimate. A truncated answer counts as at least as long as its
    received part."""

    words: str
    turns: int
    cut: int = Field(description="The number of turns with a truncated answer.")
    undecided: float = Field(description="The share of answers that are longer than the longest complete one.")
    suffices: int | None = Field(
        description="A limit that is enough for an estimated 95 % of further answers, if they are like those counted: "
        "their tokens, and 5 for an end marker that is not reported. Null if too few answers ended, or too many of "
        "them were cut. If answers have become longer, only the newest count."
    )
    quantiles: list[Quantile]
    capped: bool = Field(description="Whether only the newest turns were counted, because there were more.")
    certainties: dict[str, int] = Field(
        description="How certain the lengths are, by turns: `recorded` (one call returned the answer), `certain` "
        "(every "
        "continuation was exact), `estimated` (continued after a hint, or usage was not reported), `undecidable` (cut)."
    )
