"""Messages as a caller dialect."""

import re
from collections.abc import MutableMapping
from typing import Any

from agentcore.providers.wire.request_messages import FROM_CALLERS
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.caller_dialect import CallerDialect, EndMarkers, HeaderRules
from dashboard.gateway.wire.messages.faults import fault_body, fault_event
from dashboard.gateway.wire.messages.request_parser import DIALECT, read_request
from dashboard.gateway.wire.messages.serializers import CLOSING, EventStream, body_of
from dashboard.gateway.wire.messages.stop_reasons import stop_reason
from dashboard.gateway.wire.parsed_request import ParsedRequest
from dashboard.gateway.wire.request_fields import stops_of

_FINISH = re.compile(rb'^(?:event: ?message_delta|data:[^\n]*"type": ?"message_delta")', re.MULTILINE)
_DONE = re.compile(rb'^(?:event: ?message_stop|data:[^\n]*"type": ?"message_stop")', re.MULTILINE)


def add_prompt(body: MutableMapping[str, Any], prompt: str) -> None:
    """An agent's prompt, before what the caller's own says."""
    system = body.get("system") or []
    told = [{"type": "text", "text": system}] if isinstance(system, str) else system
    body["system"] = [{"type": "text", "text": prompt}, *told]


def _stream(named: AnswerIdentity, asked: ParsedRequest) -> EventStream:
    return EventStream(named, stops_of(asked))


def _whole(named: AnswerIdentity, asked: ParsedRequest, ended: EndedTurn) -> bytes:
    return body_of(named, ended, stops_of(asked))


MESSAGES = CallerDialect(
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
    marks=EndMarkers(_FINISH, _DONE, {_FINISH: (b"message_delta",), _DONE: (b"message_stop",)}),
    headers=HeaderRules(
        up=FROM_CALLERS,
        on=frozenset({"retry-after", "retry-after-ms", "x-should-retry"}),
        groups=("anthropic-ratelimit-",),
        request_id="request-id",
    ),
    knows_pauses=True,
)
