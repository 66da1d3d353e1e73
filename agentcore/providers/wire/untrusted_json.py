"""Reading what a provider sent without trusting its shape: the wrong type is the same as absent."""

from collections.abc import Mapping, Sequence
from typing import Any

NOTHING: Mapping[str, Any] = {}
_MOST = 2**53


def string(value: object) -> str:
    """The text, else "". Lone surrogates become U+FFFD, so that every text can be stored and sent."""
    if not isinstance(value, str):
        return ""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def mapping(value: object) -> Mapping[str, Any]:
    """The object, else an empty one."""
    return value if isinstance(value, dict) else NOTHING


def sequence(value: object) -> Sequence[Any]:
    """The array, else an empty one."""
    return value if isinstance(value, list) else ()


def count(value: object) -> int | None:
    """A whole number from 0 to what JSON holds exactly, else None."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MOST else None


def word(value: object) -> str:
    """A code as one provider sends it as text and another as a number, else ""."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return string(value)
