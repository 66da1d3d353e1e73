"""Reading what a provider sent without trusting its shape: the wrong type is the same as absent.

Also holds JSON as servers send it: slightly wrong, or cut short.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jiter

from agentcore.errors import DecodeError

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


_MOST_DIGITS = 400
_ENDS_TOO_EARLY = "EOF while parsing"


class CutError(ValueError):
    """The JSON ends too early."""


def read_json(data: bytes) -> Any:
    """Any JSON a server may send; ValueError where it is none, `CutError` where only its end is missing.

    The fast parser refuses lone surrogates, broken UTF-8, deep nesting and numbers of thousands of digits, which are no
    reason to lose an answer. What it finds cut, the patient one would find cut too, in ten times the time.
    """
    try:
        return jiter.from_json(data)
    except ValueError as error:
        if str(error).startswith(_ENDS_TOO_EARLY):
            raise CutError(str(error)) from error
    try:
        return json.loads(data.decode("utf-8", "replace"), parse_int=_whole_number)
    except RecursionError as error:
        raise ValueError("The JSON is nested too deeply to be read.") from error


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)


def read_json_or_cut(data: bytes) -> tuple[Any, bool]:
    """As `read_json`, or what is there of a document that ends too early; and whether it does."""
    try:
        return read_json(data), False
    except CutError:
        return read_cut_json(data), True


def is_cut_json(data: bytes) -> bool:
    """Whether these bytes begin a JSON object or array, and only lack its end."""
    try:
        jiter.from_json(data)
    except ValueError as error:
        return data.startswith((b"{", b"[")) and str(error).startswith(_ENDS_TOO_EARLY)
    return False


def read_cut_json(data: bytes) -> Any:
    """What is there of a JSON document that ends too early; DecodeError where its end is not what is wrong."""
    try:
        jiter.from_json(data)
    except ValueError as error:
        if not str(error).startswith(_ENDS_TOO_EARLY):
            raise DecodeError(f"The provider answered with JSON that cannot be read: {error}.") from error
    try:
        return jiter.from_json(data, partial_mode="trailing-strings")
    except ValueError as error:
        raise DecodeError(f"The provider answered with JSON that cannot be read: {error}.") from error
