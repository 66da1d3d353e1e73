"""`{% live_tries_of_backtest backtest %}` and `{% live_tries_of_shadow shadow %}`: turns of unknown end, tried live;
`{% tried_from turn %}`: the way from such a re-run back to the page it was tried from."""

from decimal import Decimal
from typing import Any

from django import template
from django.template.context import Context
from django.urls import reverse

from agentcore.number_format import number, read_number
from agentcore.reasons import TurnStatus
from dashboard.agents.models import PolicyActivation
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.models import Shadow
from dashboard.policies.predictions.live_trials import (
    ONCE,
    TOKENS,
    TrialProgress,
    TrialSource,
    asked_of_backtest,
    asked_of_shadow,
    made_for,
    tried_before,
    tried_so_far,
)
from dashboard.policies.predictions.presenters import compared_at
from dashboard.turns.end_summary import cut_sign, end_summary_now
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.prices.templatetags.prices import dollars_in_words, no_price
from dashboard.turns.provider_words import asks_simulator
from dashboard.turns.selectors import turns_on_simulator

register = template.Library()


@register.inclusion_tag("predictions/_live_tries.html", takes_context=True)
def live_tries_of_backtest(context: Context, backtest: Backtest) -> dict[str, Any]:
    page, act = (reverse(f"backtests:{name}", args=[backtest.pk]) for name in ("show", "live"))
    return shown(asked_of_backtest(backtest), page=page, act=act, perms=context.get("perms"), **_typed(context))


@register.inclusion_tag("predictions/_live_tries.html", takes_context=True)
def live_tries_of_shadow(context: Context, shadow: Shadow) -> dict[str, Any]:
    page = reverse("policies:show", args=[shadow.version.policy_id])
    act = reverse("policies:shadow_live", args=[shadow.pk])
    return shown(asked_of_shadow(shadow), page=page, act=act, perms=context.get("perms"), **_typed(context))


@register.inclusion_tag("predictions/_tried_from.html")
def tried_from(turn: Turn) -> dict[str, Any]:
    found = made_for(turn)
    if isinstance(found, Shadow):
        return {"page": reverse("policies:show", args=[found.version.policy_id]), "words": "a shadow"}
    return {"page": reverse("backtests:show", args=[found.pk]), "words": "a backtest"} if found else {}


@register.simple_tag
def tried_before_activation(activation: PolicyActivation) -> str:
    """What the live re-runs of a shadow showed that was activated; empty where none was made before."""
    reruns = tried_before((activation.evidence or {}).get("shadow", ""), activation.created_at)
    completed = sum(rerun.status == TurnStatus.COMPLETED for rerun in reruns)
    return f"Before, {completed:,} of {len(reruns):,} live re-runs of such turns completed." if reruns else ""


def _typed(context: Context) -> dict[str, Any]:
    """What stays as it is where a page asks for this part again: the budget in the field, and how many were begun."""
    asked = context["request"].GET if "request" in context else {}
    return {"typed": asked.get("tokens", ""), "begun": tokens_in(asked.get("begun", ""))}


def tokens_in(text: str) -> int:
    """A budget as it was typed; 0 where that is no number of tokens."""
    typed = read_number(text)
    return typed if isinstance(typed, int) else 0


def _price(tried: TrialProgress) -> str:
    """Of the next turns, at most. The simulator's cost nothing; of others no price may be known."""
    if not tried.next:
        return ""
    free = turns_on_simulator(trial.turn for trial in tried.next)
    paid = [trial.bound.dollars for trial in tried.next if trial.turn not in free]
    if None in paid or not paid:
        return no_price(simulated=not paid)
    return f"≈ {dollars_in_words(sum(filter(None, paid), Decimal(0)))}"


def _used_price(tried: TrialProgress) -> str:
    """Of those that were tried, as far as prices are known."""
    if tried.used.dollars:
        return f"≈ {dollars_in_words(tried.used.dollars)}"
    return no_price(simulated=all(asks_simulator(row.child) for row in tried.predictions))


def shown(asked: TrialSource, *, page: str, act: str, perms: Any, typed: str = "", begun: int = 0) -> dict[str, Any]:
    """The part's context. `page`: where it stands; `act`: where a click goes; `typed`: the budget in its field;
    `begun`: how many the last click tried where those were not all. A view adds `fault`, why it tried none."""
    tried = tried_so_far(asked)
    ends = [end_summary_now(row.child) for row in tried.predictions]
    return {
        "key": asked.key,
        "page": page,
        "act": act,
        "perms": perms,
        "begun": begun,
        "once": ONCE,
        "tokens": typed or number(max(TOKENS, tried.most_tokens)),
        "tried": tried,
        "turns": len(asked.turns),
        "price": _price(tried),
        "used_price": _used_price(tried),
        "ended": len(ended := [row.child for row in tried.predictions if row.child.status not in UNFINISHED]),
        "completed": sum(child.status == TurnStatus.COMPLETED for child in ended),
        "doubtful": sum(child.status == TurnStatus.COMPLETED and cut_sign(child) != "" for child in ended),
        "rows": [
            (row, end, compared_at(row.parent_id, row.child_id))
            for row, end in zip(tried.predictions, ends, strict=True)
        ],
    }
