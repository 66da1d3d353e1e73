"""`{% term "continuation" %}`: a word with its explanation on hover and focus, linked to the glossary.

`{{ sentence|keys_in_code }}`: the keys of limits and of the error policy as code.
"""

import re

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from agentcore.policy import SETTING_NAMES
from dashboard.turns.filter_names import FILTER_KEYS
from dashboard.turns.glossary import term_of
from dashboard.turns.templatetags.formatting import unbroken

register = template.Library()

#: A key, and the bracket before it where it follows its name.
_KEYS = re.compile(rf"(\(?)\b({'|'.join(SETTING_NAMES)})\b")

#: An example in JSON, between the marks of code.
_EXAMPLES = re.compile(r"`([\[{][^`]*[\]}])`")

#: The key of a filter behind its name.
_FILTERS = re.compile(rf"\(({'|'.join(FILTER_KEYS)})\)")


@register.simple_tag(takes_context=True)
def term(context: Context, key: str, text: str = "") -> SafeString:
    """The word as the glossary names it, or in another wording. It stands alone without an entry, and on a shared page,
    whose readers cannot open the glossary."""
    found = term_of(key)
    text = text or (found.name if found else "")
    shown = {"term": None if context.get("sealed") else found, "text": text}
    return mark_safe(render_to_string("turns/_term.html", shown).strip())  # noqa: S308 - its template escapes; the last line break would be a space


@register.filter
def explained(key: str) -> str:
    """What a term means; empty without an entry."""
    found = term_of(key)
    return found.meaning if found else ""


@register.filter
def limit_name(key: str) -> str:
    """`Max steps`; a word that is no setting's key stays as it is."""
    return SETTING_NAMES.get(key, key)


@register.filter
def keys_in_code(sentence: object) -> SafeString:
    """The sentence as HTML, keys of settings and of filters as code: `Max steps (<code>max_steps</code>)`; so are JSON
    examples between backticks. A setting's key that does not follow its name has it as its title."""
    text = sentence if isinstance(sentence, str) else str(sentence)  # a safe string stays one
    parts = _EXAMPLES.split(unbroken(conditional_escape(text)))
    return mark_safe("".join(f"<code>{part}</code>" if n % 2 else _keys_shown(part) for n, part in enumerate(parts)))  # noqa: S308 - escaped, and keys are ours


def _keys_shown(text: str) -> str:
    return _FILTERS.sub(r"(<code>\1</code>)", _KEYS.sub(_in_code, text))


@register.filter
def words_in_code(sentence: str) -> SafeString:
    """Like `keys_in_code`, without titles: where `max_tokens` may be a stop reason too."""
    return mark_safe(_KEYS.sub(r"\1<code>\2</code>", conditional_escape(sentence)))  # noqa: S308 - as above


def setting_keys(text: str) -> list[str]:
    """The keys of settings in a text, each once."""
    return sorted({key for _bracket, key in _KEYS.findall(text)})


def _in_code(found: re.Match[str]) -> str:
    bracket, key = found.groups()
    if bracket:
        return format_html("(<code>{}</code>", key)
    return format_html('<code title="{}">{}</code>', SETTING_NAMES[key], key)


@register.filter
def field_key(path: str) -> str:
    """`max_steps` for `limits.max_steps`: the key by which every page names a setting."""
    return path.removeprefix("limits.").removeprefix("error_policy.").removeprefix("retention.")


@register.filter
def field_named(path: str) -> SafeString:
    """`limits.max_seconds` as HTML: the setting's name with its key in code; any other field as code."""
    key = path.rpartition(".")[2]
    if key not in SETTING_NAMES:
        return format_html("<code>{}</code>", path)
    return format_html("{} <code>{}</code>", SETTING_NAMES[key], key)
