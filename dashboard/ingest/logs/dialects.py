"""Whose request or answer it is, by what stands in it, and by the address that it went to."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from dashboard.ingest.logs.values import Json

#: What an address ends in, and the dialect spoken there.
_PATHS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"/chat/completions/?$"), "openai"),
    (re.compile(r"/responses/?$"), "openai_responses"),
    (re.compile(r"/v1/messages/?$"), "anthropic"),
    (re.compile(r":(?:stream)?[gG]enerateContent$"), "gemini"),
    (re.compile(r"/api/(?:chat|generate)/?$"), "ollama"),
    (re.compile(r"/model/[^/]+/converse(?:-stream)?$"), "bedrock"),
    (re.compile(r"/v2/chat/?$"), "cohere"),
)
#: Events of streams, by the beginning of their type.
_EVENTS: tuple[tuple[str, str], ...] = (
    ("response.", "openai_responses"),
    ("message_", "anthropic"),
    ("content_block_", "anthropic"),
    ("message-", "cohere"),
    ("content-", "cohere"),
    ("tool-", "cohere"),
)


def _is_gemini(told: Json) -> bool:
    return isinstance(told.get("candidates"), list) or "promptFeedback" in told


def _is_ollama(told: Json) -> bool:
    return isinstance(told.get("done"), bool) and ("message" in told or "response" in told)


def _is_bedrock(told: Json) -> bool:
    output = told.get("output")
    return "stopReason" in told and isinstance(output, dict) and "message" in output


def _is_cohere(told: Json) -> bool:
    message = told.get("message")
    return "finish_reason" in told and isinstance(message, dict) and isinstance(message.get("content"), list | None)


#: What an answer, or a piece of a streamed one, looks like. The first that fits counts.
_ANSWERS: tuple[tuple[Callable[[Json], bool], str], ...] = (
    (lambda told: str(told.get("object")).startswith("chat.completion"), "openai"),
    (lambda told: told.get("object") == "response", "openai_responses"),
    (lambda told: told.get("type") == "message" and told.get("role") == "assistant", "anthropic"),
    (lambda told: isinstance(told.get("choices"), list), "openai"),
    (_is_gemini, "gemini"),
    (_is_bedrock, "bedrock"),
    (_is_ollama, "ollama"),
    (_is_cohere, "cohere"),
)
_REQUESTS: tuple[tuple[Callable[[Json], bool], str], ...] = (
    (lambda told: isinstance(told.get("contents"), list), "gemini"),
    (lambda told: isinstance(told.get("input"), str | list) and "messages" not in told, "openai_responses"),
    (lambda told: isinstance(told.get("messages"), list) and _is_anthropic_request(told), "anthropic"),
    (lambda told: isinstance(told.get("messages"), list), "openai"),
)


def _is_anthropic_request(told: Json) -> bool:
    tools = told.get("tools")
    has_schema = isinstance(tools, list) and any(isinstance(tool, dict) and "input_schema" in tool for tool in tools)
    return "system" in told or has_schema or str(told.get("model")).startswith("claude")


def dialect_of_answer(told: Any) -> str | None:
    """Of a whole answer, or of one piece of a stream."""
    if not isinstance(told, dict):
        return None
    found = _first(_ANSWERS, told)
    if found is not None:
        return found
    kind = str(told.get("type") or "")
    return next((dialect for begin, dialect in _EVENTS if kind.startswith(begin)), None)


def dialect_of_request(told: Any) -> str | None:
    return _first(_REQUESTS, told) if isinstance(told, dict) else None


def dialect_of_address(url: str) -> str | None:
    """Of the calls that this address takes; None where it is no address of a model."""
    path = url.partition("?")[0].partition("#")[0]
    return next((dialect for pattern, dialect in _PATHS if pattern.search(path)), None)


def model_of_address(url: str) -> str:
    """The model's name, where the address has it."""
    found = re.search(r"/models?/([^/:?]+)", url)
    return found.group(1) if found else ""


def _first(table: tuple[tuple[Callable[[Json], bool], str], ...], told: Mapping[str, Any]) -> str | None:
    return next((dialect for fits, dialect in table if fits(told)), None)
