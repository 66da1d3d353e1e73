"""The audit log: who changed what, when and from where."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, Field

from dashboard.accounts.audit import selectors
from dashboard.accounts.audit.action_words import CONTROL_WORDS
from dashboard.accounts.projects import sees_all_projects
from dashboard.agents.policy_validation import listed
from dashboard.agents.selectors import project_current
from dashboard.api.callers import caller
from dashboard.api.list_pages import Page, page_of
from dashboard.api.problems import aware
from dashboard.api.request_base import Moment, Text

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
    at: datetime = Field(description="The time of the action.")
    by: str = Field(description="The user's name.", examples=["operator"])
    via: str = Field(description="`session`, `token NAME` or `command`.", examples=["token ci"])
    address: str = Field(description="The address of the client; empty for a command.", examples=["127.0.0.1"])
    method: str = Field(description="The HTTP method; empty for a command.", examples=["POST"])
    action: str = Field(
        description="The pattern of the request path, or the name of the command.", examples=["api/v1/agents"]
    )
    target: str = Field(examples=["/api/v1/agents"])
    status: int | None = Field(description="The HTTP status; null for a command.", examples=[201])
    led_to: str = Field(description="The address that the response redirected to.", examples=[""])
    changes: list[Change]


class EntryPage(BaseModel):
    items: list[Entry]
    next: str | None = Field(description="The cursor of the older entries; null on the last page.")
    previous: str | None = Field(description="The cursor of the newer entries; null on the first page.")


class AuditFilter(Page):
    """Which entries; what is left out lets all through."""

    by: Text = Field(default="", description="The user's name.", max_length=150)
    action: Text = Field(default="", description="Part of the action.", max_length=100)
    target: Text = Field(
        default="",
        description=f"Part of the address. Of an action on a turn it ends with `?action=` and {listed(CONTROL_WORDS)}.",
        max_length=200,
    )
    since: Moment | None = Field(default=None, description="At this time or later.")
    until: Moment | None = Field(default=None, description="Before this time.")


@router.get("/audit", response=EntryPage, summary="Read the audit log")
def audit_list(request: HttpRequest, asked: Annotated[AuditFilter, Query()]) -> dict[str, Any]:
    """Newest first, a page at a time. For admins."""
    filters = selectors.Filters(
        by=asked.by,
        action=asked.action,
        target=asked.target,
        since=aware(asked.since),
        until=aware(asked.until),
    )
    found = selectors.entries(filters, project=project_current(), of_none=sees_all_projects(caller(request)))
    page = page_of(found, asked, order="-id", limit=asked.limit)
    return {**page.as_dict(), "items": [_shown(*one) for one in selectors.with_changes(page.items)]}


def _shown(entry: Any, changes: list[selectors.Changed]) -> dict[str, Any]:
    told = {name: getattr(entry, name) for name in Entry.model_fields if name != "changes"}
    return {**told, "changes": [{name: getattr(one, name) for name in Change.model_fields} for one in changes]}
