"""Where a turn came from, in a template."""

from django import template

from dashboard.turns.models import Turn
from dashboard.turns.origins import OriginView, Provenance, origin_of, vouched_of

register = template.Library()


@register.filter
def origin_shown(turn: Turn) -> OriginView | None:
    return origin_of(turn)


@register.filter
def vouched(turn: Turn) -> Provenance:
    return vouched_of(turn)
