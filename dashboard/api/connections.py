"""Connections: an endpoint, its dialect and its ceilings."""

# ruff: noqa: ARG001 - every view is given its request

from typing import Any

from django.http import HttpRequest
from ninja import Router, Status

from dashboard.agents import models, selectors, services
from dashboard.agents.change_tracking import on_behalf
from dashboard.api import request_schemas, response_schemas
from dashboard.api.callers import caller
from dashboard.api.name_lookup import named

router = Router(tags=["connections"])


@router.post("/connections", response={201: response_schemas.Connection}, summary="Make a connection")
def connection_create(request: HttpRequest, body: request_schemas.NewConnection) -> Status[models.Connection]:
    """A name that is taken, an unknown provider or an address that is none is refused in words."""
    with on_behalf(caller(request)):
        made = services.connection_create(project=selectors.project_default(), **body.given())
    return Status(201, made)


@router.get("/connections", response=list[response_schemas.Connection], summary="List connections")
def connection_list(request: HttpRequest) -> Any:
    """All of them, by name."""
    return selectors.connection_list(project=selectors.project_default())


@router.get("/connections/{name}", response=response_schemas.Connection, summary="Get a connection")
def connection_get(request: HttpRequest, name: str) -> models.Connection:
    """By name or id."""
    return named(selectors.connection_list(project=selectors.project_default()), name)
