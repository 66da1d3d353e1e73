"""Answers in the Responses API's form: the response as an object, with which a stream begins and ends. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.messages import TokenUsage
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.parsed_request import ParsedRequest
from dashboard.gateway.wire.responses import output
from dashboard.gateway.wire.responses.output import Json, reason_of, status_of
from dashboard.gateway.wire.responses.request_parser import PREVIOUS

#: What an answer says of its request, and what it says where that is silent.
_REPEATED: Mapping[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    PREVIOUS: None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "store": True,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}


def body_of(named: AnswerIdentity, asked: ParsedRequest, ended: EndedTurn) -> bytes:
    """A whole answer."""
    return to_json(ended_response(named, asked, ended, output.output_of(named, ended))).encode()


def ended_response(named: AnswerIdentity, asked: ParsedRequest, ended: EndedTurn, items: Sequence[Json]) -> Json:
    """The response with these items. Usage that the provider did not count is not made up: it is null."""
    reason = reason_of(ended)
    told = response_of(named, asked, status_of(ended), items)
    return {
        **told,
        "incomplete_details": None if reason is None else {"reason": reason},
        "usage": _counts(ended.usage),
    }


def response_of(
    named: AnswerIdentity, asked: ParsedRequest, status: str, items: Sequence[Json] = (), error: Json | None = None
) -> Json:
    """The response as it stands."""
    given = asked.body if asked.goes_on_from == "" else {**asked.body, PREVIOUS: asked.goes_on_from}
    repeated = {name: default if given.get(name) is None else given[name] for name, default in _REPEATED.items()}
    return {
        "id": named.id,
        "object": "response",
        "created_at": named.created,
        "status": status,
        "background": False,
        "error": error,
        "incomplete_details": None,
        "model": named.model,
        "output": list(items),
        **repeated,
        "usage": None,
    }


def _counts(usage: TokenUsage | None) -> Json | None:
    """Clients require the reasoning's number; where the upstream told of none, `reported` says that it is no count."""
    if usage is None:
        return None
    told = {} if usage.tells_reasoning else {"reported": False}
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens, **told},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
