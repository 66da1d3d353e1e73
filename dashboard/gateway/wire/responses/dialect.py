"""Responses as a caller dialect."""

import json
import re
from collections.abc import Mapping, MutableMapping
from typing import Any

from dashboard.gateway.wire.caller_dialect import CallerDialect, EndMarkers, HeaderRules
from dashboard.gateway.wire.chat.dialect import CHAT
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.responses.output import word_of
from dashboard.gateway.wire.responses.request_parser import CAP, DIALECT, read_request
from dashboard.gateway.wire.responses.serializers import body_of
from dashboard.gateway.wire.responses.stream_serializer import EventStream

#: The last event says all: why it ended, and the whole answer.
_LAST = re.compile(
    rb"^(?:event: ?response\.(?:completed|incomplete|failed)\b"
    rb'|data:[^\n]{0,200}?"type": ?"response\.(?:completed|incomplete|failed)")',
    re.MULTILINE,
)


#: Where a fault of the turn lies, which chat completions call otherwise.
_PARAMS: Mapping[str | None, str] = {"messages": "input", "max_tokens": CAP}


def _param(fault: Fault) -> str | None:
    return _PARAMS.get(fault.param, fault.param)


def add_prompt(body: MutableMapping[str, Any], prompt: str) -> None:
    """An agent's prompt, before what the caller's own instructions say."""
    given = body.get("instructions")
    body["instructions"] = f"{prompt}\n\n{given}" if given else prompt


def add_cap(body: MutableMapping[str, Any], cap: int) -> None:
    """The agent's cap."""
    body[CAP] = cap


def _fault(fault: Fault, _request_id: str) -> bytes:
    return json.dumps({"error": {**fault.told()["error"], "param": _param(fault)}}).encode()


def _fault_event(fault: Fault, _request_id: str) -> bytes:
    told = {"type": "error", "code": fault.code, "message": fault.message, "param": _param(fault)}
    return b"event: error\ndata: " + json.dumps(told).encode() + b"\n\n"


RESPONSES = CallerDialect(
    dialect=DIALECT,
    read=read_request,
    prompt=add_prompt,
    answer_id=lambda turn: f"resp_{turn}",
    whole=body_of,
    stream=EventStream,
    word=word_of,
    fault=_fault,
    fault_event=_fault_event,
    closing=b"",
    marks=EndMarkers(_LAST, _LAST, {_LAST: (b"response.completed", b"response.incomplete", b"response.failed")}),
    headers=HeaderRules(on=CHAT.headers.on, groups=CHAT.headers.groups),
    keeps=True,
    cap=add_cap,
)
