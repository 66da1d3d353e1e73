"""Where an ingested turn came from, in a template."""

from django import template

from dashboard.ingest.selectors import IngestView, ingested_of
from dashboard.turns.models import Turn

register = template.Library()


@register.filter
def ingested_shown(turn: Turn) -> IngestView | None:
    return ingested_of(turn)
