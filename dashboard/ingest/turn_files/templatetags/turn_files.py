"""Where a turn came from, in a template."""

from django import template

from dashboard.turns.models import Turn
from dashboard.turns.origins import OriginView, Provenance, origin_of, vouched_of

register = template.Library()

COMPARED = (
    "The recorded events were evaluated again and gave the same transitions, evaluations and commands; the requests "
    "are the ones that they ask for, and the stored answers are the ones in the provider's bytes."
)


@register.filter
def origin_shown(turn: Turn) -> OriginView | None:
    return origin_of(turn)


@register.filter
def vouched(turn: Turn) -> Provenance:
    return vouched_of(turn)


@register.filter
def compared(vouched: Provenance, unproven: str) -> str:
    """What a verified replay shows, and who vouches for the recording. `unproven`: what was not compared."""
    return f"{unproven or COMPARED} {vouched.words}"
