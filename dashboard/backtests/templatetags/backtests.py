"""Differences, with their sign."""

from decimal import Decimal

from django import template

from dashboard.prices.templatetags.prices import dollars_in_words
from dashboard.turns.templatetags.shown import number, seconds

register = template.Library()


@register.filter
def plus(value: float) -> str:
    """`+ 1 214`, `− 3`, `0`."""
    return _signed(value, number(abs(value)))


@register.filter
def plus_seconds(value: float) -> str:
    """`+ 3 min 20 s`."""
    return _signed(round(value, 2), seconds(abs(value)))


@register.filter
def dollars(value: float) -> str:
    """A price in words."""
    return dollars_in_words(Decimal(str(round(value, 9))))


def _signed(value: float, said: str) -> str:
    return f"+ {said}" if value > 0 else f"− {said}" if value < 0 else said
