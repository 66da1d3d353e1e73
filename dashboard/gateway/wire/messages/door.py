"""Messages as a door."""

import re
from collections.abc import MutableMapping
from typing import Any

from dashboard.gateway.wire.answers import Ended, Named
from dashboard.gateway.wire.asked import Asked
from dashboard.gateway.wire.dialects import stops_of
from dashboard.gateway.wire.door import Door, Headers, Marks
from dashboard.gateway.wire.messages.answering import CLOSING, Events, body_of
from dashboard.gateway.wire.messages.asking import DIALECT, read_request
from dashboard.gateway.wire.messages.faults import fault_body, fault_event
from dashboard.gateway.wire.messages.words import stop_reason

_FINISH = re.compile(rb'^(?:event: ?message_delta|data:[^\n]*"type": ?"message_delta")', re.MULTILINE)
_DONE = re.compile(rb'^(?:event: ?message_stop|data:[^\n]*"type": ?"message_stop")', re.MULTILINE)


def add_prompt(body: MutableMapping[str, Any], prompt: str) -> None:
    """An agent's prompt, before what the caller's own says."""
    system = body.get("system") or []
    told = [{"type": "text", "text": system}] if isinstance(system, str) else system
    body["system"] = [{"type": "text", "text": prompt}, *told]


def _stream(named: Named, asked: Asked) -> Events:
    return Events(named, stops_of(asked))


def _whole(named: Named, asked: Asked, ended: Ended) -> bytes:
    return body_of(named, ended, stops_of(asked))


MESSAGES = Door(
    dialect=DIALECT,
    read=read_request,
    prompt=add_prompt,
    answer_id=lambda turn: f"msg_{turn}",
    whole=_whole,
    stream=_stream,
    word=stop_reason,
    fault=fault_body,
    fault_event=fault_event,
    closing=CLOSING,
    marks=Marks(_FINISH, _DONE, {_FINISH: (b"message_delta",), _DONE: (b"message_stop",)}),
    headers=Headers(
        up=frozenset({"anthropic-version", "anthropic-beta"}),
        on=frozenset({"retry-after", "retry-after-ms", "x-should-retry"}),
        groups=("anthropic-ratelimit-",),
        request_id="request-id",
    ),
    knows_pauses=True,
)
