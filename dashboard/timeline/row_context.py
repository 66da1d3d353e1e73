"""Adds to timeline rows what is not in the turn's own columns: cost, held time, highlighted words."""

from collections.abc import Iterable

from dashboard.turns.held_time import held_ms_of
from dashboard.turns.models import Turn
from dashboard.turns.prices.selectors import prices_of
from dashboard.turns.snippets import snippet_of
from dashboard.turns.timeline_page import SHOWN


def with_row_context(turns: Iterable[Turn], asked: str) -> list[Turn]:
    """These turns, each with its price, how long it was held and, where `asked` are words, the place of these in it."""
    shown = list(turns)
    prices, held = prices_of(shown), held_ms_of(shown)
    for turn in shown:
        turn.price = prices[turn.id]
        turn.held_ms = held.get(turn.id, 0)
        turn.snippet = snippet_of(turn, asked) if asked else None
        turn.input_text, turn.output_text = turn.input_text[:SHOWN], ""  # a socket keeps its rows
    return shown
