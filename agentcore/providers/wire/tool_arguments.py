"""The argument text of a tool call, read strictly: one complete JSON object or a named issue, never a guess.

A parser that repairs or completes would hand a half-written call to a tool; this one says what is wrong instead.
"""

import json
import math
from typing import Any

import jiter

from agentcore.messages import CallIssue
from agentcore.providers.wire.untrusted_json import string


def read_arguments(text: str, *, cut: bool) -> tuple[dict[str, Any], CallIssue | None]:
    """The arguments, and what is wrong with them (then the arguments are empty).

    `cut` says that something else shows the answer to be cut: its stop reason, its tokens at the cap, or a stream that
    broke off. Only then is text that ends too early called truncated; by itself it is malformed. Empty, blank or `null`
    text is a call without arguments, unless the answer was cut.
    """
    if text.strip() in ("", "null"):
        return {}, CallIssue.TRUNCATED if cut else None
    try:
        value = jiter.from_json(text.encode("utf-8", "surrogatepass"), allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        ends_too_early = str(error).startswith("EOF while parsing")
        return {}, CallIssue.TRUNCATED if cut and ends_too_early else CallIssue.MALFORMED
    if not isinstance(value, dict) or not _is_finite(value):
        return {}, CallIssue.MALFORMED
    return value, None


def write_json(value: object) -> str:
    """A value as compact JSON. What cannot be written down becomes a brace that no reader takes for JSON: as the
    arguments of a call it reads as malformed, and must not run."""
    try:
        return string(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (RecursionError, ValueError):
        return "{"


def _is_finite(value: object) -> bool:
    """Whether no number in it overflows: `1e999` is read as infinity, which no JSON can hold."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return all(map(_is_finite, value)) if isinstance(value, list) else True
