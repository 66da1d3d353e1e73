"""`{% call_of_turn turn %}`, `{% told word %}`: a turn's call, and what callers were told as word, colour and shape."""

from typing import Any

from django import template

from agentcore import number_format
from agentcore.number_format import milliseconds
from dashboard.gateway.overview import call_of
from dashboard.turns.models import Turn
from dashboard.turns.templatetags.formatting import THIN

register = template.Library()

#: What a caller was told: its hue, its shape and what it means.
TOLD = {
    "stop": ("end", "check", "the answer is complete"),
    "length": ("cut", "torn", "the answer was truncated"),
    "tool_calls": ("tool", "nut", "the caller must run tools"),
    "function_call": ("tool", "nut", "the caller must run a function"),
    "content_filter": ("block", "octagon", "the content was withheld"),
    "error": ("block", "triangle", "an error, in OpenAI's format"),
    "disconnected": ("wait", "cross", "nothing was returned: the caller had disconnected"),
    "unfinished": ("wait", "ring", "nothing was returned yet"),
}
UNKNOWN = ("odd", "question", "a stop reason that only this provider uses")


@register.inclusion_tag("gateway/_turn_call.html")
def call_of_turn(turn: Turn) -> dict[str, Any]:
    """How a turn came through the gateway; nothing where it did not."""
    return call_of(turn.id)


@register.inclusion_tag("gateway/_finish_reason.html")
def told(word: str | None) -> dict[str, str]:
    """A finish reason, or what was in its place."""
    word = word or "unfinished"
    hue, shape, means = TOLD.get(word, UNKNOWN)
    return {"word": word, "hue": hue, "shape": shape, "means": means}


@register.filter
def milliseconds_of(value: float | None) -> str:
    """`0.42 ms`, `3.1 ms`, `120 ms`; a dash for nothing."""
    return "–" if value is None else milliseconds(value, space=THIN)


@register.filter
def percent(share: float) -> str:
    """`0 %`, `0.4 %`, `37 %` of 0 to 1."""
    return number_format.percent(share, digits=1 if 0 < share < 0.01 else 0, space=THIN)
