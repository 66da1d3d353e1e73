"""A suggestion as JSON: what the API returns, and what a prediction keeps."""

from typing import Any

from dashboard.policies.suggestions.suggestion import Costs, Suggestion
from dashboard.policies.suggestions.suggestion_text import because, certainty_word, name_of, sentence

#: The figures of a suggestion, as the API returns them and a prediction keeps them.
_FIGURES = ("limit", "value", "recorded", "share", "answers", "cut", "longer_than")


def figures(said: Suggestion) -> dict[str, Any]:
    """The limit and its numbers, and what they rest on, as JSON."""
    words = {"certainty": said.certainty.value, "basis": said.basis.value, "goal": said.goal.value}
    return {**{name: getattr(said, name) for name in _FIGURES}, **words}


def told(said: Suggestion) -> dict[str, Any]:
    """The suggestion as the API returns it."""
    more = {name: getattr(said, name) for name in ("calls", "used", "rerun", "overrides")}
    words = {"certainty_word": certainty_word(said), "words": f"{sentence(said)} {because(said)}"}
    words["certainty"] = said.finish_certainty.value
    return {**figures(said), **more, **words, "costs": _costs_told(said.costs), "name": name_of(said.limit)}


def _costs_told(costs: Costs | None) -> dict[str, Any]:
    if costs is None:
        return dict.fromkeys(("output_tokens", "price", "most_output_tokens", "most_price"))
    prices = {"price": costs.price, "most_price": costs.most_price}
    dollars = {name: None if price is None else float(price.dollars) for name, price in prices.items()}
    return {"output_tokens": costs.output_tokens, "most_output_tokens": costs.most_tokens, **dollars}
