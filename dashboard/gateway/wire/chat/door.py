"""Chat completions as a door."""

import json
import re
from collections.abc import MutableMapping
from typing import Any

from dashboard.gateway.wire.answers import Ended, Named
from dashboard.gateway.wire.asked import Asked
from dashboard.gateway.wire.chat.answering import DONE, Chunks, body_of
from dashboard.gateway.wire.chat.asking import read_request
from dashboard.gateway.wire.door import Door, Headers, Marks
from dashboard.gateway.wire.faults import Fault

_DONE = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
_FINISH = re.compile(rb'^data:[^\n]*"finish_reason": ?"[^"]', re.MULTILINE)


def _prompt(body: MutableMapping[str, Any], prompt: str) -> None:
    body["messages"] = [{"role": "system", "content": prompt}, *body["messages"]]


def _whole(named: Named, _asked: Asked, ended: Ended) -> bytes:
    return body_of(named, ended.said, ended.usage, ended.reasoning)


def _stream(named: Named, asked: Asked) -> Chunks:
    return Chunks(named, include_usage=asked.include_usage)


def _fault(fault: Fault, _request_id: str) -> bytes:
    return json.dumps(fault.told()).encode()


def _fault_event(fault: Fault, _request_id: str) -> bytes:
    return b"data: " + json.dumps(fault.told()).encode() + b"\n\n"


CHAT = Door(
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
    marks=Marks(_FINISH, _DONE, {_DONE: (b"[DONE]",), _FINISH: (b'"finish_reason":"', b'"finish_reason": "')}),
    headers=Headers(
        on=frozenset({"retry-after", "retry-after-ms", "x-should-retry", "x-request-id"}),
        groups=("x-ratelimit-", "openai-"),
    ),
)
