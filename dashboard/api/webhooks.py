"""Webhooks and what was sent to them. They are made and changed by who has signed in, at /webhooks/."""

# ruff: noqa: ARG001 - every view is given its request

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field

from dashboard.agents.selectors import project_current
from dashboard.api.list_pages import Page, PagedArray, page_of, rows_array
from dashboard.api.request_base import Text
from dashboard.exports.webhooks import selectors
from dashboard.exports.webhooks.models import Delivery as Stored
from dashboard.exports.webhooks.models import Webhook as StoredWebhook

router = Router(tags=["webhooks"])


class Webhook(BaseModel):
    """A webhook, without its secret. Only the host of its address is shown, because the rest may be secret."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str = Field(examples=["pager"])
    host: str = Field(examples=["hooks.example.com"])
    events: list[str] = Field(examples=[["turn.ended"]])
    statuses: list[str] = Field(description="Report only turns with these statuses; empty: all.")
    stop_reasons: list[str] = Field(description="Report only turns with these agent stop reasons; empty: all.")
    model_stop_reasons: list[str] = Field(description="Report only turns with these model stop reasons; empty: all.")
    enabled: bool
    disabled_because: str = Field(
        description="Why it was disabled automatically; empty if a person disabled it or it is enabled.",
        examples=[""],
    )
    waiting: int = Field(description="Deliveries that are still to be sent.")
    dead: int = Field(description="Deliveries that were given up.")
    created_at: datetime


class Try(BaseModel):
    """One request, and its answer."""

    at: datetime
    status: int | None = Field(description="The HTTP status; null if there was no response.", examples=[204])
    fault: str = Field(description="Why there was no response.", examples=[""])
    duration_ms: int


class Delivery(BaseModel):
    """One event on its way to one webhook."""

    id: UUID
    kind: str = Field(examples=["turn.ended"])
    turn_id: UUID | None = Field(description="Null: a test.")
    state: str = Field(description="waiting, delivered or dead.", examples=["delivered"])
    tried: int = Field(description="How often it was sent since the first sending, or since the last “Send again”.")
    next_at: datetime | None = Field(description="When it is sent again.")
    created_at: datetime
    tries: list[Try]


class DeliveryPage(BaseModel):
    items: list[Delivery]
    next: str | None = Field(description="The cursor of the older deliveries; null on the last page.")
    previous: str | None = Field(description="The cursor of the newer deliveries; null on the first page.")


class DeliveryFilter(Page):
    """Which deliveries."""

    state: Literal["waiting", "delivered", "dead"] | None = Field(
        default=None, description="Only deliveries in this state."
    )
    kind: Text | None = Field(default=None, description="Only deliveries of this event.", max_length=40)


@router.get("/webhooks", response=list[Webhook], summary="List webhooks")
def webhook_list(request: HttpRequest, response: HttpResponse, page: PagedArray) -> list[StoredWebhook]:
    """By name."""
    rows = selectors.webhooks_of(project_current()).order_by("name")
    return list(rows_array(request, response, rows, page, order="name"))


@router.get("/webhooks/{webhook_id}", response=Webhook, summary="Get a webhook")
def webhook_get(request: HttpRequest, webhook_id: UUID) -> StoredWebhook:
    """The webhook, with the number of its waiting deliveries."""
    return selectors.webhook_get(webhook_id, project=project_current())


@router.get("/webhooks/{webhook_id}/deliveries", response=DeliveryPage, summary="List a webhook's deliveries")
def delivery_list(request: HttpRequest, webhook_id: UUID, asked: Annotated[DeliveryFilter, Query()]) -> dict[str, Any]:
    """Deliveries, newest first, each with its requests and responses."""
    webhook = selectors.webhook_get(webhook_id, project=project_current())
    rows = selectors.delivery_rows(webhook, state=asked.state, kind=asked.kind)
    page = page_of(rows, asked, order="-id", limit=asked.limit)
    return {**page.as_dict(), "items": [_shown(delivery) for delivery in page.items]}


def _shown(delivery: Stored) -> dict[str, Any]:
    told = {name: getattr(delivery, name) for name in Delivery.model_fields if name != "tries"}
    tries = [{name: getattr(one, name) for name in Try.model_fields} for one in delivery.tries.all()]
    return {**told, "tries": tries}
