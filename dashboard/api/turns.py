"""Turns: started, found, read, controlled."""

# ruff: noqa: ARG001 - every view is given its request

from typing import Annotated, Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from ninja import Query, Router, Status

from agentcore.quoting import quoted
from dashboard.agents.breakpoints import breakpoints_clean
from dashboard.agents.selectors import agent_list, project_current
from dashboard.api import request_schemas, turn_response_schemas
from dashboard.api.callers import caller
from dashboard.api.list_pages import PagedArray, items_array, rows_array
from dashboard.api.name_lookup import asked_for
from dashboard.api.openapi import TIMELINE_PARAMETERS
from dashboard.api.problems import about, about_parts_of
from dashboard.live import services
from dashboard.live.conversations.selectors import conversation_get
from dashboard.live.selectors import turn_now
from dashboard.live.turn_events import MAX_SEQ
from dashboard.turns import api_serializers, selectors
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.filters import TimelineFilters, unknown_filters
from dashboard.turns.history import messages_of, request_body_of
from dashboard.turns.record_reader import records_of
from dashboard.turns.sent_caps import cap_demanded

router = Router(tags=["turns"])
PAGING = ("cursor", "limit")


@router.post("/turns", response={201: turn_response_schemas.Turn}, summary="Start a turn")
def turn_start(request: HttpRequest, body: request_schemas.NewTurn) -> Status[dict[str, Any]]:
    """The turn runs in the background. Read it again, or watch it at `/turns/{turn_id}/events`."""
    agent = asked_for(agent_list(project=project_current()), body.agent, "agent")
    asked = body.given()
    with about("breakpoints"):
        breakpoints = breakpoints_clean(asked.get("breakpoints", []), tools=agent.tools)
    with about_parts_of("overrides", request_schemas.Overrides.model_fields):
        turn = services.turn_start(
            agent=agent,
            input_text=body.input,
            overrides=asked.get("overrides"),
            breakpoints=breakpoints,
            documents=asked.get("documents", []),
            created_by=caller(request),
            conversation=_conversation(body.conversation),
        )
    return Status(201, api_serializers.turn_json(turn))


def _conversation(wanted: UUID | None) -> Conversation | None:
    try:
        return None if wanted is None else conversation_get(wanted, project=project_current())
    except Conversation.DoesNotExist as error:
        words = f"There is no conversation {wanted}. Create one at /api/v1/conversations, or omit the field."
        raise ValidationError({"conversation": words}) from error


@router.get(
    "/turns",
    response=turn_response_schemas.TurnPage,
    summary="Find turns",
    openapi_extra={"parameters": TIMELINE_PARAMETERS},
)
def turn_list(request: HttpRequest) -> dict[str, Any]:
    """The turns of the timeline, newest first, one page at a time. A page of large texts has fewer turns than `limit`:
    `next` is null only on the last page. If a filter is repeated, turns with any of its values match."""
    filters, limit = asked_of(request.GET)
    cursor = request.GET.get("cursor")
    page = selectors.timeline(project=project_current(), filters=filters, cursor=cursor, limit=limit)
    return {"items": api_serializers.turns_json(page.items), "next": page.next, "previous": page.previous}


def asked_of(query: QueryDict) -> tuple[TimelineFilters, int]:
    """The filters and the limit of a query. Raises `ValidationError` for all that is wrong with it."""
    filters, errors = TimelineFilters.parse_stored(query)
    errors |= unknown_filters(query, beside=PAGING)
    limit = query.get("limit", str(selectors.DEFAULT_LIMIT))
    if not (limit.isascii() and limit.isdigit() and len(limit) < 5 and 1 <= int(limit) <= selectors.MAX_LIMIT):
        errors["limit"] = f"limit must be a whole number from 1 to {selectors.MAX_LIMIT}, not {quoted(limit)}."
    if errors:
        raise ValidationError(errors)
    return filters, int(limit)


@router.get("/turns/{turn_id}", response=turn_response_schemas.TurnNow, summary="Get a turn")
def turn_get(request: HttpRequest, turn_id: UUID) -> dict[str, Any]:
    """The status of the turn, and why it stopped."""
    return turn_now(selectors.turn_get(turn_id))


@router.get(
    "/turns/{turn_id}/attempts",
    response=list[turn_response_schemas.Attempt],
    summary="List a turn's calls",
)
def turn_attempts(
    request: HttpRequest, response: HttpResponse, turn_id: UUID, page: PagedArray
) -> list[dict[str, Any]]:
    """Each call with its request and its response, in order."""
    turn = selectors.turn_get(turn_id)
    raw = selectors.raw_responses_of(turn.id, most=api_serializers.MAX_SHOWN_RESPONSE)
    messages, demanded = messages_of(turn.id), cap_demanded(turn)
    return [
        api_serializers.attempt_json(
            attempt,
            request_body=request_body_of(attempt, messages),
            raw_response=raw.get(attempt.index),
            removed_at=turn.raw_removed_at,
            demanded=demanded,
            untimed=turn.untimed,
        )
        for attempt in rows_array(request, response, selectors.attempts_of(turn.id), page, order="index")
    ]


@router.get("/turns/{turn_id}/records", response=list[turn_response_schemas.Record], summary="List a turn's records")
def turn_records(
    request: HttpRequest,
    response: HttpResponse,
    turn_id: UUID,
    page: PagedArray,
    after: Annotated[int, Query(ge=0, le=MAX_SEQ)] = 0,
) -> list[dict[str, Any]]:
    """The history of the turn: event, transitions, command and observations. `after` is the `seq` of the last record
    that you have."""
    records = list(records_of(selectors.turn_get(turn_id).id, after=after))
    found = items_array(request, response, records, page)
    return [api_serializers.record_json(record) for record in found]


@router.get(
    "/turns/{turn_id}/evaluations", response=list[turn_response_schemas.Evaluation], summary="List a turn's evaluations"
)
def turn_evaluations(
    request: HttpRequest, response: HttpResponse, turn_id: UUID, page: PagedArray
) -> list[dict[str, Any]]:
    """The results of the criteria at every decision, in order."""
    outcomes = list(selectors.outcomes_of(selectors.turn_get(turn_id).id))
    return [api_serializers.outcome_json(outcome) for outcome in items_array(request, response, outcomes, page)]


@router.post("/turns/{turn_id}/cancel", response={202: turn_response_schemas.Turn}, summary="Cancel a turn")
def turn_cancel(request: HttpRequest, turn_id: UUID) -> Status[dict[str, Any]]:
    """The call or the tools in progress are ended soon. Text that has arrived is kept. 409 if the turn has ended."""
    turn = selectors.turn_get(turn_id)
    services.turn_cancel(turn=turn, by=caller(request).get_username())
    return Status(202, api_serializers.turn_json(selectors.turn_get(turn_id)))


@router.post(
    "/turns/{turn_id}/control", response={202: turn_response_schemas.Turn}, summary="Hold, release or step a turn"
)
def turn_control(request: HttpRequest, turn_id: UUID, body: request_schemas.Control) -> Status[dict[str, Any]]:
    """The same request may change limits and the next request, or supply a tool's result. 409 if the action is not
    possible in the turn's state."""
    turn = selectors.turn_get(turn_id)
    asked = body.given()
    if "breakpoints" in asked:
        with about("breakpoints"):
            asked["breakpoints"] = breakpoints_clean(asked["breakpoints"], tools=turn.agent.tools if turn.agent else ())
    services.turn_control(turn=turn, by=caller(request).get_username(), **asked)
    return Status(202, api_serializers.turn_json(selectors.turn_get(turn_id)))
