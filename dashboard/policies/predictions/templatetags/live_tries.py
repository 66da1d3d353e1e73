"""`{% live_tries_of_backtest backtest %}` and `{% live_tries_of_shadow shadow %}`: turns of unknown end, tried live."""

from decimal import Decimal
from typing import Any

from django import template
from django.template.context import Context
from django.urls import reverse

from dashboard.agents.samples import is_simulated
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.models import Shadow
from dashboard.policies.predictions.live_trials import (
    ONCE,
    TOKENS,
    TrialProgress,
    TrialSource,
    asked_of_backtest,
    asked_of_shadow,
    tried_so_far,
)
from dashboard.policies.predictions.presenters import compared_at
from dashboard.turns.end_summary import end_summary_of
from dashboard.turns.models import Turn
from dashboard.turns.prices.templatetags.prices import dollars_in_words, no_price

register = template.Library()


@register.inclusion_tag("predictions/_live_tries.html", takes_context=True)
def live_tries_of_backtest(context: Context, backtest: Backtest) -> dict[str, Any]:
    page, act = (reverse(f"backtests:{name}", args=[backtest.pk]) for name in ("show", "live"))
    return shown(asked_of_backtest(backtest), page=page, act=act, perms=context.get("perms"), tokens=_typed(context))


@register.inclusion_tag("predictions/_live_tries.html", takes_context=True)
def live_tries_of_shadow(context: Context, shadow: Shadow) -> dict[str, Any]:
    page = reverse("policies:show", args=[shadow.version.policy_id])
    act = reverse("policies:shadow_live", args=[shadow.pk])
    return shown(asked_of_shadow(shadow), page=page, act=act, perms=context.get("perms"), tokens=_typed(context))


def _typed(context: Context) -> int:
    """The budget in the field of a page that asks for this part again: it stays as it is."""
    return tokens_in(context["request"].GET.get("tokens", "")) if "request" in context else 0


def tokens_in(text: str) -> int:
    """A budget as it was typed; 0 where that is no number of tokens."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _no_price(tried: TrialProgress) -> str:
    """What stands in place of the price of the next turns."""
    models = Turn.objects.filter(id__in=[trial.turn for trial in tried.next]).values_list("model", flat=True)
    return no_price(simulated=all(map(is_simulated, models))) if tried.next else ""


def shown(asked: TrialSource, *, page: str, act: str, perms: Any, fault: str = "", tokens: int = 0) -> dict[str, Any]:
    """The part's context. `page`: where it stands; `act`: where a click goes; `fault`: why the last one did nothing."""
    tried = tried_so_far(asked)
    dollars = [bound.dollars for bound in tried.bounds]
    known = None not in dollars and bool(dollars)
    return {
        "key": asked.key,
        "page": page,
        "act": act,
        "perms": perms,
        "fault": fault,
        "once": ONCE,
        "tokens": tokens or max(TOKENS, tried.most_tokens),
        "tried": tried,
        "turns": len(asked.turns),
        "price": f"≈ {dollars_in_words(sum(filter(None, dollars), Decimal(0)))}" if known else _no_price(tried),
        "used_price": dollars_in_words(tried.used.dollars) if tried.used.dollars else "",
        "rows": [
            (row, end_summary_of(row.child), compared_at(row.parent_id, row.child_id)) for row in tried.predictions
        ],
    }
