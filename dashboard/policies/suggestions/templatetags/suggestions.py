"""`{% limit_of_turn turn snapshot %}`: the limit that would have let a turn finish, in the head of its page;
`{% suggested turn snapshot as said %}` and `{{ said|suggestion_words }}`: the same as a sentence on other pages;
`{{ said|beside }}`: the settings that must change with it, in short;
`{{ turn|may_need_a_limit }}`: whether a list should ask which limit that is; `{{ turn|last_suggestion }}`: what it was
told last."""

from typing import Any

from django import template
from django.template.context import Context

from agentcore.machine.snapshot import Snapshot
from dashboard.policies.suggestions.exhausted_limits import may_need_a_limit
from dashboard.policies.suggestions.next_step import leading_on
from dashboard.policies.suggestions.panel import panel_of
from dashboard.policies.suggestions.selectors import suggestion_of
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.policies.suggestions.suggestion_cache import last_suggestion
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.suggestion_text import because, beside, sentence
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.unbroken_units import unbroken

register = template.Library()
register.filter(may_need_a_limit)
register.filter(last_suggestion)
register.filter(beside)


@register.inclusion_tag("suggesting/_limit.html", takes_context=True)
def limit_of_turn(context: Context, turn: Turn, last: Snapshot) -> dict[str, Any]:
    """What a socket pushes knows nobody's rights: there the panel asks for itself."""
    if turn.status in UNFINISHED:
        return {"turn": turn}
    if "request" not in context:
        return {"turn": turn, "later": True}
    rights = {"perms": context["perms"], "csrf_token": context["csrf_token"]}
    panel = panel_of(turn, last)
    if panel is not None:
        tell(turn, panel.suggestion, panel.less)
    return {"turn": turn, "panel": panel, **leading_on(turn, last), **rights}


@register.simple_tag
def suggested(turn: Turn, last: Snapshot) -> Suggestion | None:
    """The suggestion alone, for pages that have no room to act on it; None where there is none."""
    said = None if turn.status in UNFINISHED else suggestion_of(turn, last)
    tell(turn, said)
    return said


@register.filter
def suggestion_words(said: Suggestion) -> str:
    """What would have let the turn finish, and what that rests on."""
    return unbroken(f"{sentence(said)} {because(said)}")
