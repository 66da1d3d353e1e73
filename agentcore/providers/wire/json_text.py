"""JSON as servers send it: slightly wrong, or cut short."""

import json
from typing import Any

import jiter

from agentcore.errors import DecodeError

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
