"""Response schemas of stop explanations: the derivation as a tree, and the alternative transitions."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from agentcore.policy import LIMIT_NAMES
from agentcore.reasons import NormalizedStopReason, StopReason
from agentcore.replay import Certainty
from agentcore.resource import RESOURCES
from agentcore.why import Kind
from dashboard.api import configuration_response_schemas


class Fact(BaseModel):
    """One value of a node."""

    name: str
    value: str | float | bool | None
    unit: str = Field(description="The unit, in the plural; empty if there is none.")
    estimated: bool = Field(description="Whether the number is an estimate of Whystop, not a count of the provider.")


class WhyNode(BaseModel):
    """One step of a derivation, and what it follows from."""

    kind: str = Field(description=", ".join(Kind))
    name: str = Field(
        description="A name of the state machine, of a policy (`limits.max_continuations`) or of the provider."
    )
    words: str
    facts: list[Fact]
    source: configuration_response_schemas.PolicySource | None = Field(description="The source of a clause.")
    because: list["WhyNode"]


class SuggestionCosts(BaseModel):
    """What a live re-run under the value costs: expected, and at most."""

    output_tokens: int | None = Field(
        description="If one call is enough; for a limit of the whole turn, in proportion to what this turn used."
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
        description="`finish`; `one_call`: the turn completed in several calls; `retry`: a failed call would have "
        "been tried again."
    )
    share: float | None = Field(
        description="The estimated share of further answers longer than `longer_than` that are complete within this "
        "value, if they are like the agent's or model's recorded ones."
    )
    longer_than: int | None = Field(
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


class Decided(BaseModel):
    """The transition that decided how the turn ended."""

    seq: int = Field(description="Of its record.")
    number: int = Field(description="The number of the transition in the whole history, from 1.")


class Why(BaseModel):
    """Why a turn stopped: why the agent, which limit, why the model; and the tree behind the sentence."""

    verdict: str
    loop_reason: str | None = Field(description="Why the agent stopped: " + ", ".join(StopReason))
    terminal_reason: str | None
    resource: str | None = Field(description="The limit that ended it: " + ", ".join(RESOURCES))
    model_reason: str | None = Field(description="Why the model stopped: " + ", ".join(NormalizedStopReason))
    raw_model_reason: str | None = Field(description="The provider's stop reason.")
    clause: str | None = Field(description="The policy field that ended the turn.")
    decided_at: Decided | None
    tree: WhyNode | None = Field(description="Null while the turn runs, and if its history is not kept.")
    suggestion: Suggestion | None = Field(
        description=(
            "The limit that would have let the turn finish; null if it needs none or no limit would have helped."
        )
    )


class Road(BaseModel):
    """A transition that the state machine allows at a step, and that was not taken."""

    trigger: str
    to: str
    guard: str = Field(description="Its condition as text, to follow “when”.")
    open: bool | None = Field(description="Whether the condition held; null if the record does not show it.")
    miss: str = Field(description="The state of the condition, as text with numbers.")
    near: bool = Field(description="A limit was near, or its condition was true too.")


class RoadsStep(BaseModel):
    """A transition out of a deciding state, and the other possible transitions there."""

    model_config = ConfigDict(populate_by_name=True)

    seq: int
    number: int
    from_: str = Field(alias="from")
    trigger: str
    to: str
    roads: list[Road]
