"""How prices are written on pages: `{% turn_price turn %}`, `{% attempt_price attempt %}`, `{{ price|money }}`."""

from decimal import Decimal
from typing import Any

from django import template

from dashboard.agents.samples import is_simulated
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.prices import selectors
from dashboard.turns.prices.rates import Price

register = template.Library()
FREE = "simulator, free"
DIGITS = 3  #: significant ones of what is less than a dollar


def dollars_in_words(dollars: Decimal) -> str:
    """`$1.25`, `$0.00348`: cents from a dollar on, three digits that count below."""
    if dollars >= 1 or not dollars:
        return f"${dollars:,.2f}"
    places = DIGITS - 1 - dollars.adjusted()
    return f"${round(dollars, places):f}"


def no_price(*, simulated: bool) -> str:
    """What stands in place of a price that is not there."""
    return FREE if simulated else "price not known"


@register.filter
def money(price: Price | None, model: str = "") -> str:
    """`$0.0035`, `≈ $0.0035` where tokens are estimated, `price not known`; for a simulated model `simulator, free`."""
    if price is None:
        return no_price(simulated=is_simulated(model))
    return f"{'≈ ' if price.estimated else ''}{dollars_in_words(price.dollars)}"


@register.inclusion_tag("prices/_price.html")
def turn_price(turn: Turn) -> dict[str, Any]:
    """What a turn cost so far, with whose prices these are."""
    return {"price": selectors.price_of(turn), "model": turn.model}


@register.inclusion_tag("prices/_price.html")
def attempt_price(attempt: Attempt) -> dict[str, Any]:
    """What one call cost."""
    return {"price": selectors.attempt_price(attempt), "model": attempt.model}


@register.inclusion_tag("prices/_price.html")
def price_shown(price: Price | None, model: str = "") -> dict[str, Any]:
    """A price that is known already, or not; `model`: whose, for one of the simulator has none."""
    return {"price": price, "model": model}


@register.simple_tag
def price_of(turn: Turn) -> Price | None:
    """`{% price_of turn as price %}`."""
    return selectors.price_of(turn)
