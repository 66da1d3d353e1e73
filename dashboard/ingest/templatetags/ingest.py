"""Where an ingested turn came from, and what was refused of traces, in a template."""

from collections.abc import Iterable
from uuid import UUID

from django import template

from dashboard.agents.selectors import project_current
from dashboard.ingest.refusals import RefusalView, refusals_of
from dashboard.ingest.selectors import IngestView, ingested_of
from dashboard.turns.models import Turn

register = template.Library()


@register.filter
def ingested_shown(turn: Turn) -> IngestView | None:
    return ingested_of(turn)


@register.simple_tag
def refusals_shown(keys: Iterable[UUID], user_id: int, *, all_of_them: bool) -> list[RefusalView]:
    """What was refused of traces in the last days: of all senders, or of these keys and the tokens of a user."""
    senders = None if all_of_them else [*keys, UUID(int=user_id)]
    return refusals_of(project_current().pk, senders=senders)
