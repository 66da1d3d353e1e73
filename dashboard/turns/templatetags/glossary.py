"""`{% term "continuation" %}`: a word with its explanation on hover and focus, linked to the glossary.

`{{ sentence|keys_in_code }}`: the keys of limits and of the error policy as code, each with its name;
`|keys_as_names`: these names in their place.
"""

import re
from typing import Any

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from agentcore.errors import ErrorType
from agentcore.policy import LIMIT_NAMES
from dashboard.turns.glossary import term_of
from dashboard.turns.unbroken_units import unbroken

register = template.Library()

_NAMES = {**LIMIT_NAMES, **{f"on_{error}_error": f"On {error.replace('_', ' ')} errors" for error in ErrorType}}
_KEYS = re.compile(rf"\b({'|'.join(_NAMES)})\b")


@register.inclusion_tag("turns/_term.html")
def term(key: str, text: str = "") -> dict[str, Any]:
    """The word as the glossary names it, or in another wording; a word without an entry stands alone."""
    return {"term": term_of(key), "text": text}


@register.filter
def limit_name(key: str) -> str:
    """`Max steps`; a word that is no limit's key stays as it is."""
    return LIMIT_NAMES.get(key, key)


@register.filter
def keys_in_code(sentence: str) -> SafeString:
    """The sentence as HTML: `stopped at <code title="Max steps">max_steps</code>`."""
    return mark_safe(_KEYS.sub(_in_code, conditional_escape(unbroken(sentence))))  # noqa: S308 - escaped, and keys are ours


def _in_code(found: re.Match[str]) -> str:
    return format_html('<code title="{}">{}</code>', _NAMES[found[0]], found[0])


@register.filter
def keys_as_names(sentence: str) -> str:
    """`Max steps 30` for `max_steps 30`: for narrow columns, since a name is broken between words and a key is not."""
    return _KEYS.sub(lambda found: _NAMES[found[0]], unbroken(sentence))


@register.filter
def field_named(path: str) -> SafeString:
    """`limits.max_seconds` as HTML: the limit's name with its key in code; any other field as code."""
    key = path.rpartition(".")[2]
    if key not in LIMIT_NAMES:
        return format_html("<code>{}</code>", path)
    return format_html("{} <code>{}</code>", LIMIT_NAMES[key], key)
