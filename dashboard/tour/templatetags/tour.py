"""`{% lesson_of_turn turn %}`: on the page of a turn of the tour, what it teaches and where the tour goes on."""

from typing import Any

from django import template

from dashboard.tour.lessons import LESSONS
from dashboard.tour.selectors import lesson_of
from dashboard.turns.models import Turn

register = template.Library()


@register.inclusion_tag("tour/_lesson.html")
def lesson_of_turn(turn: Turn) -> dict[str, Any]:
    """Nothing of a turn that is not the tour's."""
    found = lesson_of(turn)
    if found is None:
        return {}
    number, lesson, following = found
    return {"number": number, "count": len(LESSONS), "lesson": lesson, "following": following}
