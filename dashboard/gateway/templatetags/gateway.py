"""`{% call_of_turn turn %}`, `{% told word %}`: a turn's call, and what callers were told as word, colour and shape."""

from typing import Any

from django import template

from dashboard.gateway.overview import call_of
from dashboard.turns.models import Turn

register = template.Library()

#: What a caller was told: its hue, its shape and what it means.
TOLD = {
    "stop": ("end", "check", "the answer is whole"),
    "length": ("cut", "torn", "the answer was cut"),
    "tool_calls": ("tool", "nut", "the caller must run tools"),
    "function_call": ("tool", "nut", "the caller must run a function"),
    "content_filter": ("block", "octagon", "the content was withheld"),
    "error": ("block", "triangle", "an error, in OpenAI’s words"),
    "disconnected": ("wait", "cross", "nothing: the caller had disconnected"),
    "unfinished": ("wait", "ring", "nothing yet"),
}
UNKNOWN = ("odd", "question", "a stop reason of the provider’s own")


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
    if value is None:
        return "–"
    digits = 2 if value < 1 else 1 if value < 10 else 0
    return f"{value:.{digits}f}\u202fms"


@register.filter
def percent(share: float) -> str:
    """`0 %`, `0.4 %`, `37 %` of 0 to 1."""
    value = share * 100
    return f"{value:.1f}\u202f%" if 0 < value < 1 else f"{value:.0f}\u202f%"
