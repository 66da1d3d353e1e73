"""Runs: calls that go on from one another, found and read."""

# ruff: noqa: ARG001 - every view is given its request

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Router

from dashboard.agents.selectors import project_current
from dashboard.api import run_response_schemas
from dashboard.api.openapi import TIMELINE_PARAMETERS
from dashboard.api.turns import asked_of
from dashboard.timeline.runs import selectors
from dashboard.turns.api_serializers import turns_json

router = Router(tags=["runs"])


@router.get(
    "/runs",
    response=run_response_schemas.RunPage,
    summary="Find runs",
    openapi_extra={"parameters": TIMELINE_PARAMETERS},
)
def run_list(request: HttpRequest) -> dict[str, Any]:
    """Runs with a turn that matches the filters; the run with the newest such turn is first. A turn that no other turn
    continues is a run of its own."""
    filters, limit = asked_of(request.GET)
    cursor = request.GET.get("cursor")
    items, page = selectors.run_page(project=project_current(), filters=filters, cursor=cursor, limit=limit)
    return {"items": items, "next": page.next, "previous": page.previous}


@router.get("/runs/{run_id}", response=run_response_schemas.RunWhole, summary="Get a run")
def run_get(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """The turns of the run, oldest first; of more than 500, the newest. `follows` is the turn that each one
    continues."""
    run = selectors.run_get(run_id, project=project_current())
    prices = [
        {
            "turn_id": turn.id,
            "follows": turn.follows,
            "dollars": None if (price := run.prices[turn.id]) is None else float(price.dollars),
        }
        for turn in run.turns
    ]
    return {
        **selectors.run_shown(run.sums, run.turns[-1]),
        "dollars": None if run.price is None else float(run.price.dollars),
        "path": prices,
        "items": turns_json(run.turns),
    }
