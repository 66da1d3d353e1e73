"""What callers are given of why a turn stopped: the derivation as a tree, and the roads not taken."""

from pydantic import BaseModel, ConfigDict, Field

from agentcore.reasons import NormalizedStopReason, StopReason
from agentcore.resource import RESOURCES
from agentcore.why import Kind
from dashboard.api import answers


class Fact(BaseModel):
    """One value of a node."""

    name: str
    value: str | float | bool | None
    unit: str = Field(description="A plural; empty where there is none.")
    estimated: bool = Field(description="The number is our estimate, not the provider's count.")


class WhyNode(BaseModel):
    """One step of a derivation, and what it follows from."""

    kind: str = Field(description=", ".join(Kind))
    name: str = Field(description="A word of the machine, of a policy (`limits.max_continuations`) or of the provider.")
    words: str
    facts: list[Fact]
    source: answers.PolicySource | None = Field(description="Of a clause: whose word it was.")
    because: list["WhyNode"]


class Decided(BaseModel):
    """The transition that decided how the turn ended."""

    seq: int = Field(description="Of its record.")
    number: int = Field(description="Of the transition, from 1 through the whole history.")


class Why(BaseModel):
    """Why a turn stopped: why the agent, which limit, why the model; and the tree behind the sentence."""

    verdict: str
    loop_reason: str | None = Field(description="Why the agent stopped: " + ", ".join(StopReason))
    terminal_reason: str | None
    resource: str | None = Field(description="The limit that ended it: " + ", ".join(RESOURCES))
    model_reason: str | None = Field(description="Why the model stopped: " + ", ".join(NormalizedStopReason))
    raw_model_reason: str | None = Field(description="The provider's own word.")
    clause: str | None = Field(description="The field of the policy that ended it.")
    decided_at: Decided | None
    tree: WhyNode | None = Field(description="Null while the turn runs, and where no history is kept of it.")


class Road(BaseModel):
    """A move that the table allows at a step and that was not made."""

    trigger: str
    to: str
    guard: str = Field(description="Its condition, in words, after “when”.")
    open: bool | None = Field(description="Whether the condition held; null where the record does not tell.")
    miss: str = Field(description="How the condition stood, in words and numbers.")
    near: bool = Field(description="A limit says how near it was, or its condition held too.")


class RoadsStep(BaseModel):
    """A move out of a deciding state, and the roads not taken there."""

    model_config = ConfigDict(populate_by_name=True)

    seq: int
    number: int
    from_: str = Field(alias="from")
    trigger: str
    to: str
    roads: list[Road]
