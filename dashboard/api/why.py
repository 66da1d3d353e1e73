"""Why a turn stopped: the derivation as a tree, and at each step the transitions that were possible as well."""

# ruff: noqa: ARG001 - every view is given its request

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from agentcore.reasons import NormalizedStopReason, StopReason
from agentcore.resource import RESOURCES
from agentcore.why import Kind
from dashboard.api import configuration_response_schemas
from dashboard.api.list_pages import PagedArray, items_array
from dashboard.api.suggestion_response_schemas import EXAMPLE, NONE, Suggestion
from dashboard.policies.stop_explanation import derivation_of, roads_told, why_told
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion_json import told as suggested
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.turns import selectors


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


router = Router(tags=["turns"])


@router.get("/turns/{turn_id}/verdict", response=Why, summary="Get why a turn stopped")
def turn_verdict(request: HttpRequest, turn_id: UUID) -> dict[str, Any]:
    """The verdict as a sentence, and the tree behind it: the terminal state, the transition that decided, its
    evaluations, the clauses of the policy with their sources, the inputs, and the provider's own stop reason.
    Everything is read from the history. `suggestion` is the limit that would have let the turn finish."""
    turn = selectors.turn_get(turn_id)
    suggestion = suggestion_for(turn)
    tell(turn, suggestion)
    return {**why_told(turn, derivation_of(turn)), "suggestion": suggested(suggestion) if suggestion else None}


@router.get(
    "/turns/{turn_id}/roads",
    response=list[RoadsStep],
    by_alias=True,
    summary="List a turn's other possible transitions",
)
def turn_roads(request: HttpRequest, response: HttpResponse, turn_id: UUID, page: PagedArray) -> list[dict[str, Any]]:
    """For each step out of a deciding state: every other transition that the state machine allows, with its condition
    and how close it was to being met."""
    return list(items_array(request, response, roads_told(selectors.turn_get(turn_id)), page))
