"""What exporters of traces and logs were told is refused."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, Field

from dashboard.agents.selectors import project_current
from dashboard.api.callers import caller
from dashboard.api.list_pages import Page, page_of
from dashboard.api.problems import aware
from dashboard.api.request_base import Moment, Text
from dashboard.ingest.refusals import Filters, refusals_seen_by, views_of

router = Router(tags=["traces"])


class RefusalShown(BaseModel):
    """Spans and log records that were refused for one reason, of one sender."""

    id: int
    sender: str = Field(description="The name of the key, or of the user whose token was used.")
    key_id: UUID | None = Field(description="The gateway key; null if an API token was used.")
    why: str = Field(
        description="The reason, as the exporter received it.", examples=["The span has no id, or one of zeros."]
    )
    number: int = Field(description="How many spans and log records were refused for this reason since the first.")
    first_at: datetime
    last_at: datetime


class RefusalPage(BaseModel):
    items: list[RefusalShown]
    next: str | None = Field(description="The cursor of the older entries; null on the last page.")
    previous: str | None = Field(description="The cursor of the newer entries; null on the first page.")


class RefusalFilter(Page):
    """Which refusals; what is left out lets all through."""

    key_id: UUID | None = Field(default=None, description="Only refusals of this gateway key.")
    why: Text = Field(default="", description="Part of the reason.", max_length=200)
    since: Moment | None = Field(default=None, description="Last refused at this time or later.")
    until: Moment | None = Field(default=None, description="Last refused before this time.")


@router.get("/refusals", response=RefusalPage, summary="List refused spans and log records")
def refusal_list(request: HttpRequest, asked: Annotated[RefusalFilter, Query()]) -> dict[str, Any]:
    """Spans and log records that were refused, by sender and reason. The reason that first occurred last is first. A
    reason is kept for 90 days after it last occurred. You see the refusals of your own keys and tokens, or all of them
    if you may manage keys."""
    filters = Filters(asked.key_id, asked.why, aware(asked.since), aware(asked.until))
    found = refusals_seen_by(caller(request), project_current(), filters)
    page = page_of(found, asked, order="-id", limit=asked.limit)
    return {**page.as_dict(), "items": [asdict(view) for view in views_of(page.items)]}
