"""The audit log: who changed what, when and from where."""

# ruff: noqa: ARG001 - every view is given its request

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, Field

from dashboard.api.list_pages import Page, page_of
from dashboard.api.problems import aware
from dashboard.api.request_base import Moment, Text
from dashboard.audit import selectors

router = Router(tags=["audit"])


class Change(BaseModel):
    """A change of the configuration that the action made."""

    table: str = Field(examples=["agents_agentevent"])
    id: int
    object_id: str
    how: str = Field(description="made, changed or deleted.", examples=["changed"])


class Entry(BaseModel):
    """One action."""

    id: UUID
    began_at: datetime
    at: datetime = Field(description="When it was done.")
    by: str = Field(description="The user's name.", examples=["operator"])
    via: str = Field(description="`session`, `token NAME` or `command`.", examples=["token ci"])
    address: str = Field(description="Of the client; empty for a command.", examples=["127.0.0.1"])
    method: str = Field(description="Of HTTP; empty for a command.", examples=["POST"])
    action: str = Field(description="The address's pattern, or the command.", examples=["api/v1/agents"])
    target: str = Field(examples=["/api/v1/agents"])
    status: int | None = Field(description="Of HTTP; null for a command.", examples=[201])
    led_to: str = Field(description="The address that the answer sent on to.", examples=[""])
    changes: list[Change]


class EntryPage(BaseModel):
    items: list[Entry]
    next: str | None = Field(description="The cursor of older entries; null at the end.")
    previous: str | None = Field(description="The cursor of newer entries; null at the beginning.")


class Asked(Page):
    """Which entries; what is left out lets all through."""

    by: Text = Field(default="", description="The user's name.", max_length=150)
    action: Text = Field(default="", description="A part of the action.", max_length=100)
    target: Text = Field(default="", description="A part of the address.", max_length=200)
    since: Moment | None = Field(default=None, description="Done at this time or later.")
    until: Moment | None = Field(default=None, description="Done before this time.")


@router.get("/audit", response=EntryPage, summary="Read the audit log")
def audit_list(request: HttpRequest, asked: Annotated[Asked, Query()]) -> dict[str, Any]:
    """Newest first, a page at a time. For admins."""
    filters = selectors.Filters(
        by=asked.by,
        action=asked.action,
        target=asked.target,
        since=aware(asked.since),
        until=aware(asked.until),
    )
    page = page_of(selectors.entries(filters), asked, order="-id", limit=asked.limit)
    return {**page.as_dict(), "items": [_shown(*one) for one in selectors.with_changes(page.items)]}


def _shown(entry: Any, changes: list[selectors.Changed]) -> dict[str, Any]:
    told = {name: getattr(entry, name) for name in Entry.model_fields if name != "changes"}
    return {**told, "changes": [{name: getattr(one, name) for name in Change.model_fields} for one in changes]}
