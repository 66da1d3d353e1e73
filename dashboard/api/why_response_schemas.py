"""Response schemas of stop explanations: the derivation as a tree, and the alternative transitions."""

from pydantic import BaseModel, ConfigDict, Field

from agentcore.reasons import NormalizedStopReason, StopReason
from agentcore.resource import RESOURCES
from agentcore.why import Kind
from dashboard.api import configuration_response_schemas
from dashboard.api.suggestion_response_schemas import EXAMPLE, NONE, Suggestion


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
        examples=[EXAMPLE], description=f"The limit that would have let the turn finish. {NONE}"
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
