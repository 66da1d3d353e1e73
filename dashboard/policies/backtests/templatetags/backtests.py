"""Differences, with their sign; the backtest that goes with a version, and the one of a policy's form."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import template
from django.template.context import Context

from dashboard.agents.models import Policy
from dashboard.agents.selectors import project_current
from dashboard.policies.backtests.forms import OverForm
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.presenters import backtest_view
from dashboard.policies.backtests.result_text import in_words
from dashboard.policies.policy_forms import PolicyForm
from dashboard.turns.prices.templatetags.prices import dollars_in_words
from dashboard.turns.templatetags.formatting import number, seconds

register = template.Library()


@register.filter
def plus(value: float) -> str:
    """`+1,214`, `−3`, `0`."""
    return _signed(value, number(abs(value)))


@register.filter
def plus_seconds(value: float) -> str:
    """`+3 min 20 s`."""
    return _signed(round(value, 2), seconds(abs(value)))


@register.filter
def dollars(value: float) -> str:
    """A price in words."""
    return dollars_in_words(Decimal(str(round(value, 9))))


@register.filter
def asked_of(turn_id: UUID, asked: Mapping[UUID, str]) -> str:
    """What a turn was asked, of those at hand."""
    return asked.get(turn_id, "")


@register.filter
def said(backtest: Backtest) -> str:
    """What came of it, in one sentence."""
    return in_words(backtest)


@register.inclusion_tag("backtests/_panel.html", takes_context=True)
def backtest_of_form(context: Context, form: PolicyForm, policy: Policy | None) -> dict[str, Any]:
    """The panel in the form of a policy; with what ran before, where the form comes back to be corrected."""
    over = OverForm(project_current(), policy, form.data if form.is_bound else None)
    return {
        "policy": policy,
        "over": over,
        "faults": form.errors.get("backtest", ()),
        "shown": backtest_view(form.ran) if form.ran else None,
        "perms": context["perms"],
    }


def _signed(value: float, said: str) -> str:
    return f"+{said}" if value > 0 else f"−{said}" if value < 0 else said
