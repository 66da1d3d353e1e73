"""`{% with ended=turn|ended %}`: how a turn ended, as one reading."""

from copy import copy

from django import template

from dashboard.turns.end_summary import EndSummary, end_summary_of
from dashboard.turns.models import Turn
from dashboard.turns.refused_calls import refused_by
from dashboard.turns.verdicts import resource_now

register = template.Library()


@register.filter
def ended(turn: Turn) -> EndSummary:
    """Its look, its words and their detail."""
    resource = resource_now(turn)
    if resource != turn.resource:
        turn = copy(turn)
        turn.resource = resource
    return end_summary_of(turn, refused_by(turn))
