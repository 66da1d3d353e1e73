"""`{% with ended=turn|ended %}`: how a turn ended, as one reading."""

from django import template

from dashboard.turns.end_summary import EndSummary, end_summary_now
from dashboard.turns.models import Turn

register = template.Library()


@register.filter
def ended(turn: Turn) -> EndSummary:
    """Its look, its words and their detail."""
    return end_summary_now(turn)
