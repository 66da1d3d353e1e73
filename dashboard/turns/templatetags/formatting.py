"""How numbers, times and steps are written on pages.

A number and its unit stay in one line. Pages alone are written so: programs get plain spaces.
"""

import json
import re
from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator

from agentcore.number_format import duration
from dashboard.turns import sent_caps
from dashboard.turns.models import Turn
from dashboard.turns.provider_words import name_of
from dashboard.turns.sent_caps import cap_in_list, cap_in_words, demand_in_words
from dashboard.turns.transcript import TINTS
from dashboard.turns.verdicts import verdict_now

THIN = "\u202f"  #: the space of all pages between a number and its unit
_UNITS = re.compile(r"(?<=\d) (?=%|(?:ms|s|min|h|d|B|kB|MB)\b)")


def unbroken(sentence: str) -> str:
    """The sentence with a narrow space that does not break between each number and its percent sign or unit."""
    return _UNITS.sub(THIN, sentence)


register = template.Library()

WORDLESS = "A turn without text"  #: an image alone, say, or an empty message
UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
MARKUP = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}
MARKS = {(True, False): "future", (False, True): "past", (False, False): "now"}


@register.filter
def prompt(text: str, length: int) -> str:
    """At most `length` characters of what was asked; where that has no words, words that say so: a link needs some."""
    if not text.strip():
        return WORDLESS
    return text if len(text) <= length else Truncator(text).chars(length)


@register.filter
def quoted(text: str, length: int) -> str:
    """As `prompt`, in quotes where it is what was asked."""
    return f"“{prompt(text, length)}”" if text.strip() else WORDLESS


@register.filter
def verdict(turn: Turn) -> str:
    """Why it stopped, as this version of the core says it."""
    return unbroken(verdict_now(turn))


@register.filter
def number(value: float | str | None) -> str:
    """`1214` as `1,214`; a dash for nothing (a template's missing value is an empty text)."""
    if value is None or isinstance(value, str):
        return "–"
    whole = int(value) if float(value).is_integer() else value
    return f"{whole:,}"


register.filter("cap", cap_in_words)
register.filter(cap_in_list)


@register.filter
def cap_demanded(turn: Turn) -> str:
    """Why a cap was sent that nobody had set; else empty."""
    return demand_in_words(turn.provider) if sent_caps.cap_demanded(turn) else ""


@register.filter
def seconds(value: float | None) -> str:
    """`0.42 s`, `21.4 s`, `3 min 20 s`; a dash for nothing."""
    return "–" if value is None else duration(value, space=THIN)


@register.filter
def milliseconds(value: int | None) -> str:
    """A duration in milliseconds, formatted as `seconds` does."""
    return seconds(None if value is None else value / 1000)


@register.filter
def size(value: int) -> str:
    """Bytes as `812 B`, `4.1 kB`, `2.3 MB`."""
    if value < 1000:
        return f"{value}{THIN}B"
    return f"{value / 1000:.1f}{THIN}kB" if value < 1_000_000 else f"{value / 1_000_000:.1f}{THIN}MB"


@register.filter
def age(moment: datetime | None) -> str:
    """How long ago, in one unit: `12 s`, `4 min`. The page's script keeps it right."""
    if moment is None:
        return "–"
    passed = max(0, int((timezone.now() - moment).total_seconds()))
    length, unit = next(((length, unit) for length, unit in UNITS if passed >= length), (1, "s"))
    return f"{passed // length}{THIN}{unit}"


@register.filter
def words(value: object) -> str:
    """`continue_pending` as `continue pending`."""
    return str(value).replace("_", " ")


@register.filter
def breaking(key: str) -> SafeString:
    """A key that a narrow column may break at its underscores, and nowhere else."""
    return format_html_join(SafeString("_<wbr>"), "{}", ((part,) for part in key.split("_")))


register.filter(unbroken)


@register.filter
def counted(count: int, word: str) -> SafeString:
    """`{{ 2|counted:"call" }}` is `2 calls`, the number in bold and in one line with its unit."""
    return format_html("<b>{}</b>\u00a0{}", number(count), word if count == 1 else f"{word}s")


register.filter("provider_word", name_of)


@register.filter
def tint(attempt: int) -> int:
    """Which of the answer's tints an attempt has."""
    return (attempt - 1) % TINTS + 1


@register.filter
def as_json(value: object) -> str:
    """A value as JSON text, indented."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@register.filter
def as_data(text: str) -> SafeString:
    """JSON text that stands in a page as text: what would be markup there is written as JSON writes any character."""
    return mark_safe(text.translate(MARKUP))  # noqa: S308 - nothing is left in it that could be markup


@register.simple_tag
def shown_from(now: int, since: int, until: int = 0) -> SafeString:
    """The attributes of what is there from transition `since` on, before `until` (0: to the end), seen from `now`."""
    mark = MARKS[now < since, bool(until) and now >= until]
    if not until:
        return format_html('data-from="{}" data-when="{}"', since, mark)
    return format_html('data-from="{}" data-until="{}" data-when="{}"', since, until, mark)
