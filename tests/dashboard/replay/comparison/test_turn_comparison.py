"""Numbers side by side say which way they went, and which of them are estimates."""

from decimal import Decimal

from dashboard.replay.comparison.turn_comparison import Figure, Measured, figures_of
from dashboard.turns.models import Turn
from dashboard.turns.prices.rates import Price


def measured(price: Price | None = None, **columns: object) -> Measured:
    return Measured(Turn(**{"max_tokens": 1, **columns}), None, price)


def row(name: str, left: Measured, right: Measured) -> Figure:
    return next(figure for figure in figures_of(left, right) if figure.name == name)


def priced(dollars: str, *, estimated: bool = False) -> Measured:
    return measured(Price(Decimal(dollars), estimated, "somebody's list price"))


def test_a_lower_price_is_better_and_the_difference_is_shown():
    assert row("price", priced("0.0035"), priced("0.001")) == Figure(
        "price", "$0.00350", "$0.00100", "−$0.00250", "better"
    )
    assert row("price", priced("1"), priced("2.5")).tendency == "worse"


def test_an_unknown_price_is_not_compared():
    assert row("price", measured(), priced("0.5")) == Figure("price", "not known", "$0.500", "–", "")
    assert row("price", measured(), measured()).delta == "–"


def test_values_displayed_equally_are_called_the_same():
    assert row("took", measured(duration_ms=2981), measured(duration_ms=2983)).delta == ""
    assert row("took", measured(duration_ms=2980), measured(duration_ms=3250)).delta == "+0.27\u202fs"


def test_a_difference_is_that_of_the_two_numbers_as_they_are_shown():
    both = measured(duration_ms=2014), measured(duration_ms=2836)
    assert row("took", *both) == Figure("took", "2.01\u202fs", "2.84\u202fs", "+0.83\u202fs", "worse")
    assert row("took", measured(duration_ms=2014), measured(duration_ms=14_849)).delta == "+12.8\u202fs"


def test_estimates_are_marked():
    assert row("price", priced("0.5", estimated=True), priced("0.5")).left == "≈ $0.500"
    estimated = measured(tokens_estimated=True, output_tokens=7)
    assert row("output tokens", estimated, measured(output_tokens=7)) == Figure("output tokens", "≈ 7", "7", "", "")


def test_the_simulator_is_free_and_compared_with_a_known_price():
    assert row("price", measured(model="sim-essay"), priced("0.5")) == Figure(
        "price", "free", "$0.500", "+$0.500", "worse"
    )
