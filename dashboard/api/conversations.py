"""Conversations: begun, found, given another budget. Their turns are started as all turns are."""

# ruff: noqa: ARG001 - every view is given its request

from typing import Annotated, Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status

from dashboard.agents.selectors import agent_list, project_current
from dashboard.api import request_schemas, run_response_schemas
from dashboard.api.callers import caller
from dashboard.api.list_pages import PageOfArray, array_of, page_of
from dashboard.api.name_lookup import asked_for
from dashboard.live.conversations import selectors, services

router = Router(tags=["conversations"])


@router.post("/conversations", response={201: run_response_schemas.Conversation}, summary="Create a conversation")
def conversation_create(request: HttpRequest, body: request_schemas.NewConversation) -> Status[dict[str, Any]]:
    """The conversation has no turns yet: send them to `/turns` with its id as `conversation`. They run one after
    another, and each receives the conversation so far."""
    agent = asked_for(agent_list(project=project_current()), body.agent, "agent")
    made = services.conversation_start(agent=agent, token_budget=body.token_budget, created_by=caller(request))
    return Status(201, _shown(made.id))


@router.get("/conversations", response=list[run_response_schemas.Conversation], summary="List conversations")
def conversation_list(
    request: HttpRequest,
    response: HttpResponse,
    agent: str | None = None,
    limit: int = selectors.DEFAULT_LIMIT,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
) -> list[dict[str, Any]]:
    """Conversations of one agent or of all, newest first. The header `Link` has the address of older ones."""
    if not 1 <= limit <= selectors.MAX_LIMIT:
        raise ValidationError({"limit": f"limit must be a whole number from 1 to {selectors.MAX_LIMIT}, not {limit}."})
    if "\x00" in (agent or ""):
        return []
    rows = selectors.conversation_rows(project=project_current(), agent_name=agent)
    page = page_of(rows, PageOfArray(cursor=cursor), order="-id", limit=limit)
    found = selectors.told(rows.filter(pk__in=[row.pk for row in array_of(request, response, page)]))
    return [selectors.as_shown(conversation) for conversation in found]


@router.get(
    "/conversations/{conversation_id}", response=run_response_schemas.Conversation, summary="Get a conversation"
)
def conversation_get(request: HttpRequest, conversation_id: UUID) -> dict[str, Any]:
    """The used part of its budget, and its turns in order."""
    return _shown(conversation_id)


@router.patch(
    "/conversations/{conversation_id}",
    response=run_response_schemas.Conversation,
    summary="Set a conversation's budget",
)
def conversation_budget(request: HttpRequest, conversation_id: UUID, body: request_schemas.Budget) -> dict[str, Any]:
    """null removes the budget. A change applies from the next turn on. The budget cannot be less than the tokens used
    so far."""
    conversation = selectors.conversation_get(conversation_id, project=project_current())
    services.budget_set(conversation=conversation, token_budget=body.token_budget)
    return _shown(conversation_id)


def _shown(conversation_id: UUID) -> dict[str, Any]:
    return selectors.as_shown(selectors.conversation_shown(conversation_id, project=project_current()))
