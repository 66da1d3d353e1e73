"""Where an ingested turn came from, and what was refused of traces, in a template."""

from django import template

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.ingest.refusals import RefusalView, refusals_lately
from dashboard.turns.models import Turn
from dashboard.turns.origins import IngestView, ingested_of

register = template.Library()


@register.filter
def ingested_shown(turn: Turn) -> IngestView | None:
    return ingested_of(turn)


@register.simple_tag
def refusals_shown(user: User) -> list[RefusalView]:
    """What was refused of traces in the last days, as far as the user may see it."""
    return refusals_lately(user, project_current())
