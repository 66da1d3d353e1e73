"""Connections: an endpoint, its dialect and its ceilings."""

# ruff: noqa: ARG001 - every view is given its request

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from dashboard.agents import models, selectors, services
from dashboard.agents.change_tracking import on_behalf
from dashboard.api import configuration_response_schemas, request_schemas
from dashboard.api.callers import caller
from dashboard.api.list_pages import PagedArray, rows_array
from dashboard.api.name_lookup import named

router = Router(tags=["connections"])


@router.post("/connections", response={201: configuration_response_schemas.Connection}, summary="Create a connection")
def connection_create(request: HttpRequest, body: request_schemas.NewConnection) -> Status[models.Connection]:
    """A name that is taken, an unknown provider or an invalid address is refused with a message."""
    with on_behalf(caller(request)):
        made = services.connection_create(project=selectors.project_current(), **body.given())
    return Status(201, made)


@router.get("/connections", response=list[configuration_response_schemas.Connection], summary="List connections")
def connection_list(request: HttpRequest, response: HttpResponse, page: PagedArray) -> Any:
    """By name."""
    rows = selectors.connection_list(project=selectors.project_current()).order_by("name")
    return rows_array(request, response, rows, page, order="name")


@router.get("/connections/{name}", response=configuration_response_schemas.Connection, summary="Get a connection")
def connection_get(request: HttpRequest, name: str) -> models.Connection:
    """By name or id."""
    return named(selectors.connection_list(project=selectors.project_current()), name)
