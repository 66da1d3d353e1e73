"""JSON as servers send it: slightly wrong, or cut short."""

import json
from typing import Any

import jiter

from agentcore.errors import DecodeError

_MOST_DIGITS = 400
_ENDS_TOO_EARLY = "EOF while parsing"


def read_json(data: bytes) -> Any:
    """Any JSON a server may send; ValueError where it is none.

    The fast parser refuses lone surrogates, broken UTF-8, deep nesting and numbers of thousands of digits, which are no
    reason to lose an answer.
    """
    try:
        return jiter.from_json(data)
    except ValueError:
        pass
    try:
        return json.loads(data.decode("utf-8", "replace"), parse_int=_whole_number)
    except RecursionError as error:
        raise ValueError("The JSON is nested too deeply to be read.") from error


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)


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
