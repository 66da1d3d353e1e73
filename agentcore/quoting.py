"""How sentences quote what somebody gave: short, whatever it is."""

import json

MOST_QUOTED = 80  #: characters of a value that a sentence quotes


def quoted(value: object) -> str:
    """`“many”` of a text, `[1, 2]` or `null` of any other value as JSON has it; cut at `MOST_QUOTED` characters."""
    if isinstance(value, str):
        return f"“{shortened(value)}”"
    try:
        return shortened(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, TypeError):  # too many digits, or a key that no JSON has
        return f"a value of type {type(value).__name__}"


def shortened(text: str) -> str:
    """The text, or its first characters and `…`."""
    return text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 1]}…"
