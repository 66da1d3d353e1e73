"""What a request asks: the body of `POST /v1/chat/completions` and the headers that steer a simulated model."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from dashboard.simulator import errors
from dashboard.simulator.tokens import count_tokens

CEILING = 16_384  #: tokens; more is refused
UNLIMITED = 4_096  #: tokens, where the request sets no limit
SLOWEST_MS = 10_000.0

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_GUIDES = ("system", "developer")
#: A user message of these words asks to go on; it is no new question.
_HINT = re.compile(
    r"truncated by token limit|continue (from )?exactly|left off|was interrupted|not valid json|tool call payload",
    re.IGNORECASE,
)
_LONGEST_HINT = 600  #: characters

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, checked.

    `said`: what the assistant has said of the answer asked for, empty at its start. `results`: what the tools called
    since the last user message returned. `attempt`: 1-based, `None` if the caller does not count. `delay_ms`: the pace
    the caller wishes, per token. `digest`: hex digits that depend on the body only.
    """

    model: str
    budget: int
    stream: bool
    include_usage: bool
    tools: tuple[str, ...]
    wants_json: bool
    said: str
    results: tuple[str, ...]
    prompt_tokens: int
    attempt: int | None
    delay_ms: float | None
    digest: str


def read(body: bytes, headers: Mapping[str, str]) -> Asked:
    """The request in `body`; header names are lower case. Raises `RequestError` for what OpenAI would refuse."""
    payload = _payload(body)
    model = payload.get("model")
    if not isinstance(model, str):
        raise errors.wrong_type("model", "a string", model)
    messages = _messages(payload.get("messages"))
    since = _since_last_question(messages)
    return Asked(
        model=model,
        budget=_budget(payload),
        stream=payload.get("stream") is True,
        include_usage=_mapping(payload.get("stream_options")).get("include_usage") is True,
        tools=_tools(payload),
        wants_json=_wants_json(payload, messages),
        said=_said(since),
        results=tuple(_text(message) for message in since if message["role"] == "tool"),
        prompt_tokens=sum(map(_tokens_in, messages)),
        attempt=_attempt(headers),
        delay_ms=_delay(headers),
        digest=sha256(body).hexdigest(),
    )


def _payload(body: bytes) -> Mapping[str, Any]:
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise errors.broken_json(str(error)) from error
    if not isinstance(payload, dict):
        raise errors.broken_json(f"it is a {type(payload).__name__}")
    return payload


def _messages(value: object) -> Sequence[Message]:
    if not isinstance(value, list):
        raise errors.wrong_type("messages", "an array of objects", value)
    if not value:
        raise errors.no_messages()
    for index, message in enumerate(value):
        if not isinstance(message, dict):
            raise errors.wrong_type(f"messages[{index}]", "an object", message)
        if message.get("role") not in _ROLES:
            raise errors.unknown_role(index, message.get("role"), _ROLES)
    return value


def _budget(payload: Mapping[str, Any]) -> int:
    for param in ("max_completion_tokens", "max_tokens"):
        value = payload.get(param)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise errors.wrong_type(param, "an integer", value)
        if value < 1:
            raise errors.budget_too_small(param, value)
        if value > CEILING:
            raise errors.budget_too_large(param, value, CEILING)
        return value
    return UNLIMITED


def _since_last_question(messages: Sequence[Message]) -> Sequence[Message]:
    questions = (index for index in reversed(range(len(messages))) if _is_question(messages, index))
    return messages[next(questions, -1) + 1 :]


def _is_question(messages: Sequence[Message], index: int) -> bool:
    message = messages[index]
    if message["role"] != "user":
        return False
    text = _text(message)
    asks_to_go_on = 0 < index == len(messages) - 1 and len(text) <= _LONGEST_HINT and _HINT.search(text)
    return not asks_to_go_on


def _said(since: Sequence[Message]) -> str:
    """The text of the assistant's message the conversation ends with, hints left out. A message that calls is over."""
    spoken = [message for message in since if message["role"] in ("assistant", "tool")]
    if not spoken or spoken[-1]["role"] == "tool" or spoken[-1].get("tool_calls"):
        return ""
    return _text(spoken[-1])


def _tools(payload: Mapping[str, Any]) -> tuple[str, ...]:
    tools = payload.get("tools")
    if not isinstance(tools, list) or payload.get("tool_choice") == "none":
        return ()
    names = (_mapping(_mapping(tool).get("function")).get("name") for tool in tools)
    return tuple(name for name in names if isinstance(name, str))


def _wants_json(payload: Mapping[str, Any], messages: Sequence[Message]) -> bool:
    if _mapping(payload.get("response_format")).get("type") in ("json_schema", "json_object"):
        return True
    return any("json" in _text(message).lower() for message in messages if message["role"] in _GUIDES)


def _tokens_in(message: Message) -> int:
    calls = message.get("tool_calls")
    functions = [_mapping(_mapping(call).get("function")) for call in calls] if isinstance(calls, list) else []
    parts = (str(function.get(key, "")) for function in functions for key in ("name", "arguments"))
    return count_tokens(_text(message)) + sum(map(count_tokens, parts))


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (_mapping(part).get("text") for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _attempt(headers: Mapping[str, str]) -> int | None:
    ours, stainless = headers.get("x-whystop-attempt", ""), headers.get("x-stainless-retry-count", "")
    if ours.isdecimal():
        return int(ours[:9])
    return int(stainless[:9]) + 1 if stainless.isdecimal() else None


def _delay(headers: Mapping[str, str]) -> float | None:
    value = headers.get("x-sim-delay-ms")
    if value is None:
        return None
    try:
        delay = float(value)
    except ValueError:
        delay = -1.0
    if not 0 <= delay <= SLOWEST_MS:
        raise errors.bad_delay(value, SLOWEST_MS)
    return delay
