"""How a reason looks: every word of why something stopped, and where a turn stands, has a hue, a shape and a label.

`{% reason turn.status badge=True %}` draws it. The shapes are symbols of `static/img/shapes.svg`, the hues tokens of
`static/css/tokens.css`.
"""

from functools import lru_cache

from django import template
from django.templatetags.static import static
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard.turns.envelope_faults import wrong_fields
from dashboard.turns.error_types import error_words
from dashboard.turns.reason_looks import look_of, reason_label

register = template.Library()
register.filter(reason_label)
register.filter(error_words)


@register.filter
def code_beside(word: str) -> str:
    """The API's code of a reason, to stand beside its label; empty where the label says the same."""
    return "" if reason_label(word) == word.replace("_", " ") else word


@register.filter
def reason_hue(word: object) -> str:
    """The part after `w-` of the class that colours a word."""
    return look_of(word).hue


@register.filter
def reason_shape(word: object) -> str:
    """The id of a word's symbol in `shapes.svg`."""
    return look_of(word).shape


@register.simple_tag
def reason(word: object, *, text: str | None = None, badge: bool = False) -> SafeString:
    """A reason as word, colour and shape. `text`: another wording; `badge`: on a ground of its hue."""
    shown = text or ("unknown" if word is None else str(word))
    return _drawn(str(word), reason_label(word), str(conditional_escape(shown)), bool(badge))


@register.simple_tag
def reason_and_code(word: object) -> SafeString:
    """A reason in words, and the API's code of it beside them where the words are others."""
    drawn, code = reason(word, text=reason_label(word)), code_beside(str(word))
    return format_html('{} <code class="soft">{}</code>', drawn, code) if code else drawn


@lru_cache(maxsize=1_000)  # a list draws the same few words for each of its rows
def _drawn(word: str, label: str, shown: str, badge: bool) -> SafeString:
    """`shown`: as HTML, so that a text which is markup and one which only looks like it are kept apart."""
    look = look_of(word)
    # A word is laid out as symbol and text. A text with markup in it is one part all the same.
    whole = f"<span>{shown}</span>" if "<" in shown else shown
    return format_html(
        '<span class="word w-{}{}" data-reason="{}" title="{}">'
        '<svg aria-hidden="true"><use href="{}#{}"/></svg>{}</span>',
        look.hue,
        " badge" if badge else "",
        word,
        label,
        static("img/shapes.svg"),
        look.shape,
        mark_safe(whole),  # noqa: S308 - escaped by its caller
    )


register.filter(wrong_fields)
