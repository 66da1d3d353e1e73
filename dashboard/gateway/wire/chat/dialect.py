"""Chat completions as a caller dialect."""

import json
import re
from collections.abc import MutableMapping
from typing import Any

from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.caller_dialect import CallerDialect, EndMarkers, HeaderRules
from dashboard.gateway.wire.chat.request_parser import read_request
from dashboard.gateway.wire.chat.serializers import DONE, ChunkStream, body_of
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.parsed_request import ParsedRequest

_DONE = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
_FINISH = re.compile(rb'^data:[^\n]*"finish_reason": ?"[^"]', re.MULTILINE)


def _prompt(body: MutableMapping[str, Any], prompt: str) -> None:
    body["messages"] = [{"role": "system", "content": prompt}, *body["messages"]]


def _whole(named: AnswerIdentity, _asked: ParsedRequest, ended: EndedTurn) -> bytes:
    return body_of(named, ended.said, ended.usage, ended.reasoning)


def _stream(named: AnswerIdentity, asked: ParsedRequest) -> ChunkStream:
    return ChunkStream(named, include_usage=asked.include_usage)


def _fault(fault: Fault, _request_id: str) -> bytes:
    return json.dumps(fault.told()).encode()


def _fault_event(fault: Fault, _request_id: str) -> bytes:
    return b"data: " + json.dumps(fault.told()).encode() + b"\n\n"


CHAT = CallerDialect(
    dialect="openai",
    read=read_request,
    prompt=_prompt,
    answer_id=lambda turn: f"chatcmpl-{turn}",
    whole=_whole,
    stream=_stream,
    word=lambda ended: ended.said.finish_reason,
    fault=_fault,
    fault_event=_fault_event,
    closing=DONE,
    marks=EndMarkers(_FINISH, _DONE, {_DONE: (b"[DONE]",), _FINISH: (b'"finish_reason":"', b'"finish_reason": "')}),
    headers=HeaderRules(
        on=frozenset({"retry-after", "retry-after-ms", "x-should-retry", "x-request-id"}),
        groups=("x-ratelimit-", "openai-"),
    ),
)
