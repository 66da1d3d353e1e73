"""Differences, with their sign; the backtest that goes with a version."""

from collections.abc import Mapping
from decimal import Decimal
from uuid import UUID

from django import template

from agentcore.number_format import count
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.result_text import in_words
from dashboard.policies.backtests.sweep_map import Cell
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
def cell_words(cell: Cell) -> str:
    """What a cell of the map shows, in a sentence."""
    shares = f"{cell.complete} complete, {cell.estimated} likely, {cell.undecidable} not known"
    limits = f"Max continuations {cell.continuations}, Max tokens per call {cell.max_tokens}"
    cost = "" if cell.dollars is None else f", about {dollars(cell.dollars)} for {count(cell.priced, 'turn')}"
    return f"{shares}: {limits}{cost}"


@register.filter
def asked_of(turn_id: UUID, asked: Mapping[UUID, str]) -> str:
    """What a turn was asked, of those at hand."""
    return asked.get(turn_id, "")


@register.filter
def said(backtest: Backtest) -> str:
    """What came of it, in one sentence."""
    return in_words(backtest)


def _signed(value: float, said: str) -> str:
    return f"+{said}" if value > 0 else f"−{said}" if value < 0 else said
