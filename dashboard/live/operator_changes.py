"""What an operator wants changed in a turn that runs, judged in words before its driver is told."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import zip_longest
from typing import Any, TypedDict

from django.core.exceptions import ValidationError

from agentcore import serial
from agentcore.messages import ChatResponse, Message, Role, ToolCall
from agentcore.policy import limit_in_words
from agentcore.providers import PROVIDERS, get_provider
from agentcore.reasons import NormalizedStopReason
from agentcore.states import DECIDING
from dashboard.agents.policies import error_policy_of
from dashboard.agents.policy_validation import error_policy_clean, limits_clean, listed
from dashboard.agents.validation import max_tokens_within
from dashboard.live.turn_loader import connection_of
from dashboard.live.turn_overrides import model_clean
from dashboard.live.turn_startup import breakpoint_stored
from dashboard.platform.fields import storable_text
from dashboard.tools.selectors import wire_name_of
from dashboard.turns.models import Turn
from dashboard.turns.sent_caps import DEFAULT_CAP


class Changes(TypedDict, total=False):
    """What is asked for; null leaves what there is."""

    limits: Mapping[str, Any] | None
    max_tokens: int | None  #: of the calls to come
    no_max_tokens: bool  #: none is sent with them
    error_policy: Mapping[str, Any] | None
    request: Mapping[str, Any] | None
    answer: Mapping[str, Any] | None  #: in the model's place
    run_to: str | None
    tool_result: Mapping[str, Any] | None
    tool_call: Mapping[str, Any] | None
    tool_results: Sequence[Mapping[str, Any]]
    tool_calls: Sequence[Mapping[str, Any]]
    rewritten: Mapping[int, str] | None  #: other texts for messages of the conversation, by place from 1
    breakpoints: Sequence[Mapping[str, Any]] | None  #: clean ones, in place of those there are


EMPTY = "A message cannot be empty; most models refuse one."
PARTS = ("tool_result", "tool_call")
#: What one event holds of them.
Part = Mapping[str, Mapping[str, Any]]


def operator_changes(turn: Turn, asked: Changes) -> dict[str, Any]:
    """Fields of the `operator_acted` event. Raises `ValidationError`, by field."""
    payload: dict[str, Any] = {}
    if limits := asked.get("limits"):
        payload["limits"] = limits_clean(limits)
    if (max_tokens := asked.get("max_tokens")) is not None:
        payload["max_tokens"] = max_tokens_clean(turn, max_tokens)
    if asked.get("no_max_tokens"):
        payload |= _uncapped(turn, asked.get("max_tokens"))
    if error_policy := asked.get("error_policy"):
        error_policy_clean(error_policy)
        payload["error_policy"] = _error_policy_fields(error_policy)
    payload |= _request(asked.get("request") or {})
    if (answer := asked.get("answer")) is not None:
        payload["answer"] = _answer(answer)
    if (run_to := asked.get("run_to")) is not None:
        payload["run_to"] = _run_to(run_to)
    if (breakpoints := asked.get("breakpoints")) is not None:
        payload["breakpoints"] = [breakpoint_stored(one) for one in breakpoints]
    return payload


def parts_clean(asked: Changes) -> list[Part]:
    """Results and changed calls, event by event: one holds one result and one call. Raises `ValidationError`."""
    results = [*asked.get("tool_results", ()), *filter(None, [asked.get("tool_result")])]
    calls = [*asked.get("tool_calls", ()), *filter(None, [asked.get("tool_call")])]
    pairs = zip_longest(map(_tool_result, results), map(_tool_call, calls))
    return [{key: value for key, value in zip(PARTS, pair, strict=True) if value} for pair in pairs]


def _uncapped(turn: Turn, beside: int | None) -> dict[str, Any]:
    if beside is not None:
        raise ValidationError({"no_max_tokens": "Set either max_tokens or no_max_tokens, not both."})
    if why_not := cap_stays(turn):
        raise ValidationError({"no_max_tokens": why_not})
    connection = connection_of(turn)
    ceiling = connection.ceiling if connection else None
    return {"uncapped": True, "max_tokens": DEFAULT_CAP if ceiling is None else min(DEFAULT_CAP, ceiling)}


def cap_stays(turn: Turn) -> str:
    """Why the provider must be sent a cap, in words; empty where none need be."""
    # A turn from elsewhere may name a provider that is not known here.
    if not (turn.provider in PROVIDERS and get_provider(turn.provider).demands_cap):
        return ""
    return f"The limit cannot be removed: {turn.provider} requires {limit_in_words('max_tokens')} in every request."


def max_tokens_clean(turn: Turn, wanted: int) -> int:
    """Judged by the connection that this turn asks, which need not be its agent's. Raises `ValidationError`."""
    connection = connection_of(turn)
    ceiling, name = (connection.ceiling, connection.name) if connection else (None, "")
    max_tokens_within(wanted, ceiling=ceiling, connection=name)
    return wanted


def _request(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the next request asks with. An empty prompt is none; a model or a conversation cannot be empty."""
    changed: dict[str, Any] = {}
    if given.get("system_prompt") is not None:
        changed["system_prompt"] = storable_text(given["system_prompt"])
    if given.get("model") is not None:
        try:
            changed["model"] = model_clean(given["model"])
        except ValidationError as error:
            raise ValidationError({"model": error.messages}) from error
    if given.get("messages") is not None:
        if not given["messages"]:
            raise ValidationError({"request": "A conversation cannot be empty; leave messages out to keep it."})
        changed["messages"] = [_message(message) for message in given["messages"]]
    return changed


def _run_to(state: str) -> str:
    if state not in DECIDING:
        known = listed(one.value for one in DECIDING)
        raise ValidationError({"run_to": f"A turn cannot be run to “{state}”; choose from {known}."})
    return state


def _error_policy_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that change: all of them where a preset is named, else those given."""
    if "preset" not in given:
        return dict(given)
    policy = error_policy_of(given)
    return {field.name: getattr(policy, field.name) for field in fields(policy)}


def _message(given: Mapping[str, Any]) -> dict[str, Any]:
    """One message of an edited request: `{role: user | assistant, text}` (or `content` for `text`)."""
    role, text = given.get("role"), given.get("text", given.get("content"))
    if role not in (Role.USER, Role.ASSISTANT) or not isinstance(text, str):
        raise ValidationError({"request": "Each message needs a role, user or assistant, and a text."})
    if not text.strip():
        raise ValidationError({"request": EMPTY})
    written: dict[str, Any] = serial.to_json(Message(Role(role), storable_text(text)))
    return written


def _tool_result(given: Mapping[str, Any]) -> dict[str, Any]:
    """`{call_id, result}` as the event's `tool_result`."""
    call_id, result = given.get("call_id"), given.get("result")
    if not isinstance(call_id, str) or result is None:
        raise ValidationError({"tool_result": "A tool result needs the call_id of the call and a result."})
    content = result if isinstance(result, str) else json.dumps(result)
    return {"call_id": call_id, "name": str(given.get("name", "")), "content": storable_text(content)}


def _tool_call(given: Mapping[str, Any]) -> dict[str, Any]:
    """`{call_id, arguments}` as the event's `tool_call`."""
    call_id, arguments = given.get("call_id"), given.get("arguments")
    if not isinstance(call_id, str) or not isinstance(arguments, Mapping):
        raise ValidationError({"tool_call": "A changed call needs its call_id, and its arguments as an object."})
    return {"call_id": call_id, "arguments": dict(arguments)}


#: Why an answer of an operator's may stop. A pause needs what only its provider knows.
ANSWERING = tuple(
    reason.value
    for reason in NormalizedStopReason
    if reason not in (NormalizedStopReason.PAUSED, NormalizedStopReason.UNKNOWN)
)


def _answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """`{text?, tool_calls?: [{name, arguments}], stop_reason?}` as a `ChatResponse`; the machine marks whose it is."""
    text, calls, reason = given.get("text") or "", given.get("tool_calls") or [], given.get("stop_reason")
    if not text and not calls and reason is None:
        raise ValidationError({"answer": "Enter a response for the model: a text, a tool call, or a stop reason."})
    if reason is not None and reason not in ANSWERING:
        raise ValidationError({"answer": f"The stop reason cannot be “{reason}”; choose from {listed(ANSWERING)}."})
    natural = NormalizedStopReason.TOOL_CALL if calls else NormalizedStopReason.END_TURN
    response = ChatResponse(
        storable_text(text),
        tuple(map(_given_call, calls)),
        stop_reason=natural if reason is None else NormalizedStopReason(reason),
    )
    written: dict[str, Any] = serial.to_json(response)
    return written


def _given_call(given: Mapping[str, Any]) -> ToolCall:
    name, arguments = given.get("name"), given.get("arguments", {})
    if not isinstance(name, str) or not name or not isinstance(arguments, Mapping):
        raise ValidationError({"answer": "Each call of an answer needs a tool's name, and arguments as an object."})
    return ToolCall("", wire_name_of(name), dict(arguments), json.dumps(dict(arguments), ensure_ascii=False))
