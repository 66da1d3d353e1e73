"""What every word means that generateContent sends as a finish reason, also where it sends its number instead."""

from agentcore.providers.wire import stop_reasons
from agentcore.providers.wire.reason_tracker import fold
from agentcore.reasons import NormalizedStopReason

#: Vertex with `enum-encoding=int`, by number. Google's other API numbers the rarer ones differently.
_NUMBERED = (
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
    "UNEXPECTED_TOOL_CALL",
    "NO_IMAGE",
)


def name_of(raw: str) -> str:
    """The word that a number stands for; any other text as it is."""
    text = raw.strip()
    named = len(text) <= 2 and text.isascii() and text.isdigit() and int(text) < len(_NUMBERED)
    return _NUMBERED[int(text)] if named else raw


#: The status of an Interactions answer that reached its cap; elsewhere the word says less.
_INCOMPLETE = "incomplete"


def normalize(raw: str | None) -> NormalizedStopReason:
    """The table alone. The words of this dialect are among those that gateways pass on."""
    if raw is None or fold(raw) == _INCOMPLETE:
        return NormalizedStopReason.UNKNOWN if raw is None else NormalizedStopReason.MAX_TOKENS
    return stop_reasons.normalize(name_of(raw))
