"""`{% with ended=turn|ended %}`: how a turn ended, as one reading."""

from django import template

from dashboard.turns.ended import Ended, ended_of
from dashboard.turns.models import Turn

register = template.Library()


@register.filter
def ended(turn: Turn) -> Ended:
    """Its look, its words and their detail."""
    return ended_of(turn)
