"""A readable request or answer: foldable JSON, and a stream as the one answer it adds up to."""

import json
from dataclasses import dataclass

from django.utils.safestring import SafeString

from agentcore import serial
from agentcore.errors import DecodeError
from agentcore.providers import UnknownProviderError, get_provider
from dashboard.turns.json_view import folded
from dashboard.turns.models import Attempt

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
