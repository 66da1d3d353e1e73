"""`{% term "continuation" %}`: a word with its explanation on hover and focus, linked to the glossary."""

from typing import Any

from django import template

from dashboard.turns.glossary import term_of

register = template.Library()


@register.inclusion_tag("turns/_term.html")
def term(key: str, text: str = "") -> dict[str, Any]:
    """The word as the glossary names it, or in another wording; a word without an entry stands alone."""
    return {"term": term_of(key), "text": text}
