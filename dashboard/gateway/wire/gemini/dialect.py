"""Gemini as a caller dialect."""

import re
from collections.abc import MutableMapping
from dataclasses import replace
from functools import partial
from typing import Any

from agentcore.providers.wire.untrusted_json import mapping, sequence
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.caller_dialect import CallerDialect, EndMarkers, HeaderRules
from dashboard.gateway.wire.gemini.address import WHOLE, ParsedAddress, camel
from dashboard.gateway.wire.gemini.faults import fault_body, fault_event
from dashboard.gateway.wire.gemini.finish_reasons import finish_reason
from dashboard.gateway.wire.gemini.request_parser import CAP, CONFIG, DIALECT, read_request, thoughts_wanted
from dashboard.gateway.wire.gemini.serializers import EventStream, body_of
from dashboard.gateway.wire.parsed_request import ParsedRequest

_FINISH = re.compile(rb'^data:[^\n]*"(?:finishReason|blockReason)" ?: ?["\d]', re.MULTILINE)
_NEVER = re.compile(rb"(?!)")  #: a stream has no event that only closes it


def add_prompt(body: MutableMapping[str, Any], prompt: str) -> None:
    """An agent's prompt, before what the caller's own instruction says."""
    name = _as_named(body, "systemInstruction", "system_instruction")
    given = mapping(body.get(name))
    body[name] = {**given, "parts": [{"text": prompt}, *sequence(given.get("parts"))]}


def add_cap(body: MutableMapping[str, Any], cap: int) -> None:
    """The agent's cap, beside what else the caller's configuration says."""
    name = _as_named(body, CONFIG, "generation_config")
    body[name] = {**mapping(body.get(name)), CAP: cap}


def _as_named(body: MutableMapping[str, Any], *names: str) -> str:
    """The name under which the caller has it; the first where it has not."""
    return next((name for name in names if body.get(name) is not None), names[0])


def add_prompt_to_count(body: MutableMapping[str, Any], prompt: str) -> None:
    """The same where tokens are counted: only a whole request within has a place for it."""
    known = camel(dict(body))
    request = dict(mapping(known.get("generateContentRequest")) or {"contents": known.get("contents")})
    add_prompt(request, prompt)
    body.clear()
    body["generateContentRequest"] = request


def _stream(named: AnswerIdentity, asked: ParsedRequest) -> EventStream:
    return EventStream(named, thoughts=thoughts_wanted(asked))


def _whole(named: AnswerIdentity, asked: ParsedRequest, ended: EndedTurn) -> bytes:
    return body_of(named, ended, thoughts=thoughts_wanted(asked))


GEMINI = CallerDialect(
    dialect=DIALECT,
    read=partial(read_request, called=ParsedAddress("", WHOLE)),
    prompt=add_prompt,
    answer_id=str,
    whole=_whole,
    stream=_stream,
    word=finish_reason,
    fault=fault_body,
    fault_event=fault_event,
    closing=b"",
    marks=EndMarkers(_FINISH, _NEVER, {_FINISH: (b'finishReason"', b'blockReason"'), _NEVER: ()}),
    headers=HeaderRules(on=frozenset({"retry-after", "server-timing"})),
    cap=add_cap,
    names_model=False,
    comments=False,
)


def door_for(called: ParsedAddress) -> CallerDialect:
    """The door, where the address says the model and whether it is a stream."""
    return replace(GEMINI, read=partial(read_request, called=called))
