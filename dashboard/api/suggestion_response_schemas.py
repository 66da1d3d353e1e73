"""Response schemas of the limit that would have let a turn finish."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from agentcore.policy import LIMIT_NAMES
from agentcore.replay import Certainty

#: Of a turn that completed in two calls.
EXAMPLE: dict[str, Any] = {
    "limit": "max_tokens",
    "name": LIMIT_NAMES["max_tokens"],
    "value": 391,
    "recorded": 200,
    "certainty": Certainty.ESTIMATED,
    "certainty_word": "likely",
    "basis": "recording",
    "goal": "one_call",
    "share": None,
    "longer_than": None,
    "answers": 0,
    "cut": 0,
    "calls": 1,
    "used": 350,
    "rerun": None,
    "overrides": {"max_tokens": 391},
    "costs": {"output_tokens": 350, "price": 0.0007, "most_output_tokens": 1955, "most_price": 0.0042},
    "words": "With Max tokens per call (max_tokens) 391, one call would likely have been enough. By this recording, "
    "one call would have taken about 350 tokens, at most 386. The limit leaves a margin of 5 tokens above that, "
    "because this is an estimate.",
}
NONE = "Null if the turn needs none or no limit would have helped."


class SuggestionCosts(BaseModel):
    """What a live re-run under the value costs: expected, and at most."""

    output_tokens: int | None = Field(
        description="As the recording or a re-run shows it; otherwise the median of other completed turns of the agent "
        "or model that used more; otherwise what this turn used."
    )
    price: float | None = Field(description="Of this, in US dollars at list prices; null if not known.")
    most_output_tokens: int | None = Field(
        description="At most: if every call that the limits allow is made and reaches its cap."
    )
    most_price: float | None = Field(
        description="At most, in US dollars at list prices; null if not known, also if tools return part of the input."
    )


class Suggestion(BaseModel):
    """The limit that would have let the turn finish, or complete in one call; the same as on the turn's page."""

    limit: str = Field(description="Its key: " + ", ".join(LIMIT_NAMES))
    name: str = Field(description="The display name.")
    value: int | float
    recorded: int | float | None = Field(description="The value in this turn; null: no limit.")
    certainty: str = Field(description=", ".join(Certainty))
    certainty_word: str = Field(
        description="The word on the pages: `proven` (by a live re-run with the same answer), `certain`, `likely` or "
        "`not known`, which a value has that only lets a failed call be tried again."
    )
    basis: str = Field(
        description="The evidence for the value: the turn's `recording`, a live `rerun` that completed, the turns of "
        "its `agent` or of its `model`, or the retry that the provider requested (`setting`); `none`: it is a starting "
        "value."
    )
    goal: str = Field(
        description="`finish`; `one_call`: the turn completed in several calls; `no_repair`: a tool call was "
        "truncated and requested again, which the value would have made unnecessary; `retry`: a failed call would have "
        "been tried again."
    )
    share: float | None = Field(
        description="The estimated share of further answers longer than `longer_than` that are complete within this "
        "value, if they are like the agent's or model's recorded ones."
    )
    longer_than: int | float | None = Field(
        description="What this turn used of the limit, or the value of a re-run that was not complete, if more. Only "
        "answers longer than this are counted; null if none are."
    )
    answers: int = Field(description="The number of answers in this estimate.")
    cut: int = Field(
        description="How many of these answers were truncated, so only a lower bound of their length is known."
    )
    calls: int | None
    used: int | None = Field(description="The output tokens of the turn under this value.")
    rerun: UUID | None
    overrides: dict[str, Any] = Field(description="The change, in the form that a replay accepts.")
    costs: SuggestionCosts
    words: str
