"""What a row of the timeline shows beside its turn's own columns: what it cost, and the words of a search in it."""

from collections.abc import Iterable

from dashboard.prices.selectors import prices_of
from dashboard.turns.models import Turn
from dashboard.turns.snippets import snippet_of


def dressed(turns: Iterable[Turn], asked: str) -> list[Turn]:
    """These turns, each with its price and, where `asked` are words of a search, the place where they stand."""
    shown = list(turns)
    prices = prices_of(shown)
    for turn in shown:
        turn.price = prices[turn.id]
        turn.snippet = snippet_of(turn, asked) if asked else None
    return shown
