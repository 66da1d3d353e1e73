"""`{% limit_of_turn turn snapshot %}`: the limit that would have let a turn finish, in the head of its page;
`{% suggested turn snapshot as said %}` and `{{ said|suggestion_words }}`: the same as a sentence on other pages;
`{% shown_elsewhere turn given as said %}`: the same where it is not the recording that tells it, beside a what-if;
`{{ said|beside }}`: the settings that must change with it, in short; `{{ value|as_setting:limit }}`: one with its unit;
`{{ turn|may_need_a_limit }}`: whether a list should ask which limit that is; `{{ turn|last_suggestion }}`: what it was
told last; `{{ backtest|backtest_words }}`: how far the backtest of a value is, and what it found."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.template.context import Context

from agentcore.snapshot import Snapshot
from dashboard.agents.limit_fields import setting, unit_for
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.result_text import in_words
from dashboard.policies.suggestions.need_by_row import may_need_a_limit
from dashboard.policies.suggestions.next_step import leading_on
from dashboard.policies.suggestions.panel import panel_of
from dashboard.policies.suggestions.relatives import flat
from dashboard.policies.suggestions.selectors import suggestion_of
from dashboard.policies.suggestions.suggestion import Basis, Goal, Suggestion
from dashboard.policies.suggestions.suggestion_cache import last_suggestion, suggestion_lately
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.suggestion_text import because, beside, certainty_word, sentence, was_in_words
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.templatetags.formatting import unbroken

register = template.Library()
register.filter(may_need_a_limit)
register.filter(last_suggestion)
register.filter(beside)


@register.filter
def as_setting(value: float, limit: str) -> str:
    """`1,305`, `8 s`: a value of a limit, with its unit where the limit's name does not say it."""
    return unbroken(setting(limit, value))


@register.filter(name="unit_for")
def unit_behind(value: float, limit: str) -> str:
    """What a limit counts, behind this number: in the singular behind 1."""
    return unit_for(limit, value)


@register.filter
def was_words(said: Suggestion) -> str:
    """`was 150`, `was not set`: the setting that the turn had."""
    return unbroken(was_in_words(said))


@register.filter
def backtest_words(backtest: Backtest) -> str:
    """What the backtest found, or how far it is, behind the word *Backtest*."""
    return in_words(backtest, begun="").removeprefix("a backtest ")


@register.inclusion_tag("suggestions/_limit.html", takes_context=True)
def limit_of_turn(context: Context, turn: Turn, last: Snapshot) -> dict[str, Any]:
    """What a socket pushes knows nobody's rights: there the panel asks for itself."""
    if turn.status in UNFINISHED:
        return {"turn": turn}
    if "request" not in context:
        return {"turn": turn, "later": True}
    rights = {"perms": context["perms"], "csrf_token": context["csrf_token"]}
    panel = panel_of(turn, last)
    if panel is not None:
        tell(turn, panel.suggestion, panel.less, panel.other)
    return {"turn": turn, "panel": panel, **leading_on(turn, last), **rights}


@register.simple_tag
def suggested(turn: Turn, last: Snapshot) -> Suggestion | None:
    """The suggestion alone, for pages that have no room to act on it; None where there is none."""
    said = None if turn.status in UNFINISHED else suggestion_of(turn, last)
    tell(turn, said)
    return said


@register.simple_tag
def shown_elsewhere(turn: Turn, given: Mapping[str, str]) -> Suggestion | None:
    """What a re-run, other turns or a tool call that was requested again tell of the limits that a what-if was given;
    None where that is nothing, or the what-if was given less."""
    said = suggestion_lately(turn) if given and turn.status not in UNFINISHED else None
    elsewhere = said is not None and (
        said.basis in (Basis.RERUN, Basis.AGENT, Basis.MODEL) or said.goal is Goal.NO_REPAIR
    )
    if said is None or not elsewhere:
        return None
    wanted = flat(said.overrides)
    return said if all(_is_as_much(given.get(name, ""), value) for name, value in wanted.items()) else None


@register.simple_tag
def known_value(turn: Turn, given: Mapping[str, str]) -> Suggestion | None:
    """The value that page, row and sweep name, beside a what-if that does not tell how the turn ends under others; None
    where there is none."""
    said = suggestion_lately(turn) if given and turn.status not in UNFINISHED else None
    return said if said is not None and said.sufficient else None


def _is_as_much(given: str, wanted: Any) -> bool:
    """Whether a field of a form holds this setting, or a number at least as large."""
    if isinstance(wanted, str):
        return given == wanted
    return given.isascii() and given.replace(".", "", 1).isdigit() and float(given) >= float(wanted or 0)


@register.filter
def certainty_named(said: Suggestion) -> str:
    """The word on its badge."""
    return certainty_word(said)


@register.filter
def suggestion_words(said: Suggestion) -> str:
    """What would have let the turn finish, and what that rests on."""
    return unbroken(f"{sentence(said)} {because(said)}")
