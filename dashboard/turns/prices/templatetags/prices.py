"""How prices are written on pages: `{% turn_price turn %}`, `{% attempt_price attempt %}`, `{{ price|money }}`."""

from decimal import Decimal
from typing import Any

from django import template

from dashboard.agents.samples import is_simulated
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.prices import selectors
from dashboard.turns.prices.rates import Price
from dashboard.turns.provider_words import asks_simulator

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
def money(price: Price | None, of: str | Turn = "") -> str:
    """`$0.0035`, `≈ $0.0035` where tokens are estimated, `price not known`; `simulator, free` for a model, or a turn,
    of the simulator."""
    if price is None:
        return no_price(simulated=_is_free(price, of))
    return f"{'≈ ' if price.estimated else ''}{dollars_in_words(price.dollars)}"


@register.filter
def money_or_free(price: Price | None, free: bool) -> str:
    """As `money`, where it is known whether the simulator was called."""
    return FREE if free else money(price)


@register.inclusion_tag("prices/_price.html")
def turn_price(turn: Turn) -> dict[str, Any]:
    """What a turn cost so far, with whose prices these are."""
    return price_shown(selectors.price_of(turn), turn)


@register.inclusion_tag("prices/_price.html")
def attempt_price(attempt: Attempt) -> dict[str, Any]:
    """What one call cost."""
    return price_shown(selectors.attempt_price(attempt), attempt.model)


@register.inclusion_tag("prices/_price.html")
def price_shown(price: Price | None, of: str | Turn = "") -> dict[str, Any]:
    """A price that is known already, or not; `of`: the model, or the turn, for the simulator has none."""
    return {"price": price, "free": _is_free(price, of), "of": of}


def _is_free(price: Price | None, of: str | Turn) -> bool:
    """A maker's price is found for another model that the simulator refused. Nothing was used, so it is $0."""
    if price is not None and price.dollars:
        return False
    return asks_simulator(of) if isinstance(of, Turn) else is_simulated(of)


@register.simple_tag
def price_of(turn: Turn) -> Price | None:
    """`{% price_of turn as price %}`."""
    return selectors.price_of(turn)
