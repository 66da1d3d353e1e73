"""Keys of the gateway: who may call through it, what, how fast, and for how much."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router, Status
from pydantic import BaseModel, Field

from dashboard.accounts.selectors import token_by
from dashboard.agents.selectors import connection_list, project_current
from dashboard.api.callers import caller
from dashboard.api.list_pages import PagedArray, rows_array
from dashboard.api.name_lookup import asked_for
from dashboard.api.problems import aware
from dashboard.api.request_base import Body, Line, Moment, Text, Whole
from dashboard.gateway import services
from dashboard.gateway.models import GatewayKey
from dashboard.gateway.presenters import key_views
from dashboard.gateway.selectors import keys_seen_by

router = Router(tags=["keys"])

Tokens = Annotated[Whole | None, Field(description="Input and output tokens; null: no limit.")]
Dollars = Annotated[float | None, Field(description="US dollars at list prices; null: no limit.")]


class KeyLimits(Body):
    """Rate limits and budgets. The minute is a sliding window; days and months are calendar days and months in UTC."""

    requests_per_minute: Annotated[Whole | None, Field(description="Calls; null: no limit.")] = None
    tokens_per_minute: Tokens = None
    tokens_per_day: Tokens = None
    tokens_per_month: Tokens = None
    tokens_in_total: Tokens = None
    dollars_per_day: Dollars = None
    dollars_per_month: Dollars = None
    dollars_in_total: Dollars = None


class NewKey(Body):
    """A gateway key. It grants access to `/v1/…` only."""

    name: Line = Field(description="The program that uses it.", examples=["notebook"])
    scope: list[Text] | None = Field(
        default=None,
        description="Names of agents, `connection/model`, `connection/*`, and `otlp` for traces. Default: everything.",
        max_length=200,
        examples=[["near/*"]],
    )
    mode: Literal["observe", "continue"] | None = Field(
        default=None, description="The gateway's mode for its calls; overrides the agent's mode."
    )
    default_connection: Text | None = Field(
        default=None, description="The connection for files and batches, whose requests name no model."
    )
    expires_at: Moment | None = Field(default=None, description="Default: never.")
    limits: KeyLimits | None = Field(default=None, description="Default: none.")


class Spent(BaseModel):
    tokens: int
    dollars: float = Field(description="At list prices, for the calls whose price is known.")


class SpentBySpan(BaseModel):
    day: Spent
    month: Spent
    total: Spent


class Key(BaseModel):
    """A key, without its secret. Its usage is up to one second behind."""

    id: UUID
    name: str
    prefix: str = Field(description="The first characters of the secret.")
    scope: list[str]
    mode: str | None
    default_connection: str | None = Field(description="The connection for files and batches.")
    limits: KeyLimits
    spent: SpentBySpan
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute.")


class MadeKey(Key):
    """A new key with its secret."""

    secret: str = Field(description="Shown only once. Only its hash is stored.")


@router.post("/keys", response={201: MadeKey}, summary="Create a gateway key")
def key_create(request: HttpRequest, body: NewKey) -> Status[dict[str, Any]]:
    """Only this response contains the secret. If the key is created with a token, it ends when that token is revoked,
    and expires no later."""
    limits = body.limits.given() if body.limits is not None else {}
    key, secret = services.key_create(
        project=project_current(),
        by=caller(request),
        name=body.name,
        scope=body.scope or (),
        mode=body.mode or "",
        default_connection=None
        if body.default_connection is None
        else asked_for(connection_list(project=project_current()), body.default_connection, "default_connection"),
        expires_at=aware(body.expires_at),
        parent=token_by(request),
        **{name: Decimal(str(limit)) if isinstance(limit, float) else limit for name, limit in limits.items()},
    )
    return Status(201, {**_told(key), "secret": secret})


@router.get("/keys", response=list[Key], summary="List gateway keys")
def key_list(request: HttpRequest, response: HttpResponse, page: PagedArray) -> list[dict[str, Any]]:
    """Keys that are not revoked, newest first: your own, or all of them if you may manage keys."""
    rows = keys_seen_by(caller(request), project=project_current())
    found = rows_array(request, response, rows, page, order="-id")
    return [shown.told() for shown in key_views(found)]


@router.post("/keys/{key_id}/revoke", response=Key, summary="Revoke a gateway key")
def key_revoke(request: HttpRequest, key_id: UUID) -> dict[str, Any]:
    """The key stops working within two seconds. 404 if it was revoked before."""
    project, by = project_current(), caller(request)
    key = keys_seen_by(by, project=project).get(pk=key_id)
    services.key_revoke(project=project, by=by, key_id=key_id)
    key.refresh_from_db()
    return _told(key)


def _told(key: GatewayKey) -> dict[str, Any]:
    return key_views([key])[0].told()
