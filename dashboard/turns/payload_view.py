"""A readable request or answer: foldable JSON, and a stream as the one answer it adds up to."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from agentcore import serial
from agentcore.errors import DecodeError
from agentcore.providers import UnknownProviderError, get_provider
from dashboard.turns.models import Attempt

MOST_VALUES = 5_000  #: of a text that is folded; a larger one is shown as it is
MOST_DEPTH = 60
OPEN_DEPTH, OPEN_LENGTH = 3, 40  #: what lies deeper, or is longer, begins folded
INDENT = "  "
BREAK = "<s hidden>\n</s>"  #: for what is copied; on the page, what follows begins a line by itself


class _Number(str):
    """The digits of a number."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """An object, as its pairs."""


def folded(text: str) -> SafeString | None:
    """The text as HTML; None where it is no JSON object or list, or too large to be folded."""
    try:
        value = json.loads(text, object_pairs_hook=_Pairs, parse_int=_Number, parse_float=_Number)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list) or not _fits(value):
        return None
    return mark_safe("".join(_lines(value, "", 0, "")))  # noqa: S308 - every text in it is escaped


def _fits(value: Any) -> bool:
    waiting, count = [(value, 0)], 0
    while waiting:
        one, depth = waiting.pop()
        count += 1
        if count > MOST_VALUES or depth > MOST_DEPTH:
            return False
        waiting += [(child, depth + 1) for child in _children(one)]
    return True


def _children(value: Any) -> Sequence[Any]:
    if isinstance(value, _Pairs):
        return [child for _, child in value]
    return value if isinstance(value, list) else ()


def _lines(value: Any, key: str, depth: int, after: str) -> Iterator[str]:
    """`key`: what stands before the value, as HTML; `after`: what stands behind it."""
    indent = INDENT * depth
    if not isinstance(value, list) or not value:
        yield f"<span>{indent}{key}{_scalar(value)}{after}\n</span>"
        return
    is_object = isinstance(value, _Pairs)
    begin, end = "{}" if is_object else "[]"
    is_open = depth < OPEN_DEPTH and len(value) <= OPEN_LENGTH
    counted = f"{len(value):,} {'key' if is_object else 'item'}{'' if len(value) == 1 else 's'}"
    yield f'<details{" open" if is_open else ""}><summary data-count="{counted}">{indent}{key}{begin}{BREAK}</summary>'
    for place, child in enumerate(value, start=1):
        name, said = child if is_object else ("", child)
        shown = f"<b>{_quoted(name)}</b>: " if is_object else ""
        yield from _lines(said, shown, depth + 1, "," if place < len(value) else "")
    yield f"</details><span>{indent}{end}{after}\n</span>"


def _scalar(value: Any) -> str:
    if isinstance(value, _Number):
        return f"<i>{escape(value)}</i>"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return "{}" if isinstance(value, _Pairs) else "[]"
    return f"<i>{json.dumps(value)}</i>"


def _quoted(text: str) -> str:
    """As JSON writes it, in its own letters where these can be sent."""
    plain = json.dumps(text, ensure_ascii=False)
    try:
        plain.encode()
    except UnicodeEncodeError:
        plain = json.dumps(text)
    return escape(plain, quote=False)


#: Of an answer, what says something of the call; the rest is as its provider wants it back.
TOLD = (
    "text", "reasoning_content", "refusal", "tool_calls", "broken_tool_calls", "stop_reason", "raw_stop_reason",
    "usage", "error", "incomplete_stream", "diagnostics", "model", "response_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Readable:
    """Each None where there is nothing to fold. `is_stream`: `came` is put together from many events."""

    sent: SafeString | None
    came: SafeString | None
    is_stream: bool = False


def readable_of(attempt: Attempt, sent: str, came: bytes) -> Readable:
    """`sent` and `came`: whole."""
    whole = folded(came.decode("utf-8", "replace"))
    if whole is not None:
        return Readable(folded(sent), whole)
    return Readable(folded(sent), _put_together(attempt, came), is_stream=True)


def _put_together(attempt: Attempt, came: bytes) -> SafeString | None:
    """The answer that a stream adds up to, as its dialect reads it; None where it does not."""
    if not came or attempt.status_code is None or attempt.status_code >= 300:
        return None
    try:
        decoder = get_provider(attempt.provider).stream_decoder(max_tokens=attempt.max_tokens)
        decoder.feed(came)
        answer = serial.to_json(decoder.close())
    except (DecodeError, UnknownProviderError):
        return None
    return folded(json.dumps({name: answer[name] for name in TOLD if answer.get(name)}, ensure_ascii=False))
