"""JSON from people and programs, as RFC 8259 and Postgres have it: what either refuses is refused here, in words."""

import json
from typing import Any

from pydantic_core import from_json

BEYOND = "a number is too large to be stored, such as 1e999"

_KIND = {**dict.fromkeys(b"0123456789", ord("0")), **dict.fromkeys(b"eE", ord("e")), ord("+"): ord("+")}
#: Each byte as what it can be of a number: a digit, an exponent, its sign, or (a space) nothing.
_KINDS = bytes(_KIND.get(byte, ord(" ")) for byte in range(256))
_MANY_DIGITS = b"0" * 200


def read_strictly(text: str | bytes) -> Any:
    """The value. Raises `ValueError`; also for NaN, numbers out of range, endless nesting and halves of characters."""
    value = from_json(text, allow_inf_nan=False)
    if _may_be_beyond(text):
        try:
            json.dumps(value, allow_nan=False)  # 1e999 is read as a number that no JSON can hold
        except ValueError as error:
            raise ValueError(BEYOND) from error
    return value


def _may_be_beyond(text: str | bytes) -> bool:
    """Whether to look at every number: only one with an exponent of three digits, or two hundred digits, is so large.

    To look takes as long as to read it all, and nearly no text needs it.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    kinds = raw.translate(_KINDS)
    return b"0e000" in kinds or b"0e+000" in kinds or _MANY_DIGITS in kinds
