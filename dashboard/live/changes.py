"""What an operator wants changed in a turn that runs, judged in words before its driver is told."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django.core.exceptions import ValidationError

from agentcore import serial
from agentcore.messages import Message, Role
from dashboard.agents.policies import error_policy_of
from dashboard.agents.policy_validation import error_policy_clean, limits_clean
from dashboard.agents.validation import max_tokens_within
from dashboard.turns.fields import storable_text
from dashboard.turns.models import Turn


def operator_changes(
    turn: Turn,
    limits: Mapping[str, Any] | None,
    max_tokens: int | None,
    error_policy: Mapping[str, Any] | None,
    request: Mapping[str, Any] | None,
    tool_result: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Fields of the `operator_acted` event. Raises `ValidationError`."""
    payload: dict[str, Any] = {}
    if limits:
        payload["limits"] = limits_clean(limits)
    if max_tokens is not None:
        agent = turn.agent
        known = (agent.connection.ceiling, agent.connection.name) if agent else (None, "")
        max_tokens_within(max_tokens, ceiling=known[0], connection=known[1])
        payload["max_tokens"] = max_tokens
    if error_policy:
        error_policy_clean(error_policy)
        payload["error_policy"] = _error_policy_fields(error_policy)
    payload |= {key: value for key, value in (request or {}).items() if key in ("system_prompt", "model") and value}
    if request and request.get("messages"):
        payload["messages"] = [_message(message) for message in request["messages"]]
    if tool_result:
        payload["tool_result"] = _tool_result(tool_result)
    return payload


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
    written: dict[str, Any] = serial.to_json(Message(Role(role), storable_text(text)))
    return written


def _tool_result(given: Mapping[str, Any]) -> dict[str, Any]:
    call_id, result = given.get("call_id"), given.get("result")
    if not isinstance(call_id, str) or result is None:
        raise ValidationError({"tool_result": "A tool result needs the call_id of the call and a result."})
    content = result if isinstance(result, str) else json.dumps(result)
    return {"call_id": call_id, "name": str(given.get("name", "")), "content": storable_text(content)}
