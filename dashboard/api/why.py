"""Why a turn stopped, as a tree, and at each step the roads it did not take."""

# ruff: noqa: ARG001 - every view is given its request

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from dashboard.api import why_response_schemas
from dashboard.api.list_pages import PagedArray, items_array
from dashboard.policies.stop_explanation import derivation_of, roads_told, why_told
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.suggestion_text import told as suggested
from dashboard.turns import selectors

router = Router(tags=["turns"])


@router.get("/turns/{turn_id}/verdict", response=why_response_schemas.Why, summary="Get why a turn stopped")
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
    response=list[why_response_schemas.RoadsStep],
    by_alias=True,
    summary="List a turn's other possible transitions",
)
def turn_roads(request: HttpRequest, response: HttpResponse, turn_id: UUID, page: PagedArray) -> list[dict[str, Any]]:
    """For each step out of a deciding state: every other transition that the state machine allows, with its condition
    and how close it was to being met."""
    return list(items_array(request, response, roads_told(selectors.turn_get(turn_id)), page))
