"""How comments are shown. A page that shows them has `remarks` in its context (`selectors.Remarks`)."""

import re

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard.commenting.models import Comment
from dashboard.commenting.selectors import Remarks

register = template.Library()

#: An address as people paste it; a last mark of a sentence is not part of it.
LINK = re.compile(r"https?://[^\s<>\"'“”]+?(?=[.,;:!?)\]}]*(?:[\s<>\"'“”]|$))")


@register.filter
def said(text: str) -> SafeString:
    """A comment's text: escaped, line breaks kept, http and https addresses as links that tell nothing of us."""
    parts, end = [], 0
    for found in LINK.finditer(text):
        parts += [_lines(text[end : found.start()]), _link(found[0])]
        end = found.end()
    return mark_safe("".join([*parts, _lines(text[end:])]))  # noqa: S308 - every part is escaped


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _link(address: str) -> str:
    return format_html('<a href="{}" rel="noopener noreferrer nofollow ugc" target="_blank">{}</a>', address, address)


@register.filter
def at(remarks: Remarks | str, transition: int) -> tuple[Comment, ...]:
    """Those of a transition; none where the page shows no comments."""
    return () if isinstance(remarks, str) else remarks.at.get(transition, ())
