"""Agents: a model behind a connection, what it is told and given, and its policy."""

# ruff: noqa: ARG001 - every view is given its request

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from dashboard.agents import models, selectors, services
from dashboard.agents.change_tracking import on_behalf
from dashboard.api import configuration_response_schemas, request_schemas
from dashboard.api.callers import caller
from dashboard.api.list_pages import PagedArray, rows_array
from dashboard.api.name_lookup import asked_for, named

router = Router(tags=["agents"])
AS_STORED = (
    "id", "name", "model", "system_prompt", "max_tokens", "tools", "envelope_schema", "gateway_mode", "breakpoints",
    "approvals",
)  # fmt: skip


@router.post("/agents", response={201: configuration_response_schemas.Agent}, summary="Create an agent")
def agent_create(request: HttpRequest, body: request_schemas.NewAgent) -> Status[dict[str, Any]]:
    """`connection` and `policy` are the names of existing ones. `max_tokens` must not exceed the connection's
    ceiling."""
    project = selectors.project_current()
    rows: dict[str, QuerySet[Any]] = {
        "connection": selectors.connection_list(project=project),
        "policy": selectors.policy_list(project=project),
    }
    given, errors = body.given(), {}
    for field in rows.keys() & given.keys():
        try:
            given[field] = asked_for(rows[field], given[field], field)
        except ValidationError as error:
            errors.update(error.error_dict)
    if errors:
        raise ValidationError(errors)
    with on_behalf(caller(request)):
        return Status(201, shown(services.agent_create(project=project, **given)))


@router.get("/agents", response=list[configuration_response_schemas.Agent], summary="List agents")
def agent_list(request: HttpRequest, response: HttpResponse, page: PagedArray) -> list[dict[str, Any]]:
    """By name."""
    rows = selectors.agent_list(project=selectors.project_current()).order_by("name")
    return [shown(agent) for agent in rows_array(request, response, rows, page, order="name")]


@router.get("/agents/{name}", response=configuration_response_schemas.Agent, summary="Get an agent")
def agent_get(request: HttpRequest, name: str) -> dict[str, Any]:
    """By name or id."""
    return shown(named(selectors.agent_list(project=selectors.project_current()), name))


def shown(agent: models.Agent) -> dict[str, Any]:
    return {
        **{key: getattr(agent, key) for key in AS_STORED},
        "connection": agent.connection.name,
        "policy": agent.policy.name if agent.policy else None,
        "created_at": agent.created_at,
    }
