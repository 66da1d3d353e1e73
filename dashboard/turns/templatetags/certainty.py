"""How certain something is, on pages; see `_certainty.html`."""

from django import template

from agentcore.replay import Assumption, Certainty
from dashboard.turns.certainty_text import (
    MEANINGS,
    SHOWN_BY_RERUN,
    assumption_and_share,
    assumption_in_words,
    certainty_word,
)

register = template.Library()


@register.filter
def meaning(certainty: str) -> str:
    """What a certainty says, or a word of a re-run, in a sentence; empty for a word that is none."""
    if certainty in SHOWN_BY_RERUN:
        return SHOWN_BY_RERUN[certainty]
    return MEANINGS.get(Certainty(certainty), "") if certainty in set(Certainty) else ""


register.filter("certainty_word", certainty_word)


@register.filter
def assumed(assumption: Assumption) -> str:
    """An assumption in words."""
    return assumption_in_words(assumption)


@register.filter
def assumed_and_examined(assumption: Assumption) -> str:
    """The same, with how often such estimates came true where it often fails."""
    return assumption_and_share(assumption)


@register.simple_tag
def certainties() -> tuple[tuple[str, str], ...]:
    """Every certainty with its meaning, the strongest first."""
    return tuple((certainty.value, words) for certainty, words in MEANINGS.items())
