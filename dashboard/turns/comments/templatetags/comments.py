"""How comments are shown. A page that shows them has `remarks` in its context (`selectors.TurnComments`)."""

import re

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard.turns.comments.selectors import TurnComments
from dashboard.turns.waterfall import Rail

register = template.Library()
MARKS_Y = 44  #: in the rail's own measure

LINK = re.compile(r"https?://[^\s<>\"'“”]+")  #: an address as people paste it
MARKS = ".,;:!?)]}"  #: of a sentence: the last ones are no part of the address


@register.filter
def said(text: str) -> SafeString:
    """A comment's text: escaped, line breaks kept, http and https addresses as links that tell nothing of us."""
    parts, end = [], 0
    for found in LINK.finditer(text):
        address = found[0].rstrip(MARKS)
        if address.endswith("://"):
            continue
        parts += [_lines(text[end : found.start()]), _link(address)]
        end = found.start() + len(address)
    return mark_safe("".join([*parts, _lines(text[end:])]))  # noqa: S308 - every part is escaped


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _link(address: str) -> str:
    return format_html('<a href="{}" rel="noopener noreferrer nofollow ugc" target="_blank">{}</a>', address, address)


@register.simple_tag
def marks(remarks: TurnComments, rail: Rail) -> str:
    """The transitions that something was said about, as one path under the rail's dots."""
    return "".join(f"M{dot.x:g} {MARKS_Y}h.01" for dot in rail.dots if dot.number in remarks.at)
