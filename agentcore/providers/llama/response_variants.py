"""What else than a chat completion a server of the protocol may answer with, put as one (providers.md §1.4, llama.cpp).

{"content": "…", "stop": true, "stop_type": "limit", "truncated": false, …}   llama.cpp's own `/completion`
{"tool_call": {…}} or {"response": "…"}                                       the protocol's object, bare
"""

from collections.abc import Mapping
from typing import Any

from agentcore.providers.wire.tool_arguments import write_json
from agentcore.providers.wire.untrusted_json import string

_NATIVE_KEYS = frozenset({"stop", "stop_type", "tokens_predicted"})
_PROTOCOL_KEYS = frozenset({"tool_call", "response"})
_OLD_STOPS = ("stopped_eos", "stopped_limit", "stopped_word")


def is_bare(payload: Mapping[str, Any]) -> bool:
    """Whether a body is the protocol's object itself, without an envelope around it."""
    return not _PROTOCOL_KEYS.isdisjoint(payload) and "done" not in payload and "choices" not in payload


def as_chat(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The payload as a body or a chunk of the chat API; unchanged where it is one, or nothing of ours."""
    if is_bare(payload):
        return {"choices": [{"message": {"content": write_json(payload)}}]}
    content = payload.get("content")
    if "choices" in payload or not isinstance(content, str) or _NATIVE_KEYS.isdisjoint(payload):
        return payload
    spoken = {"text": content, "finish_reason": _stop_of(payload)}
    counted = {"prompt_tokens": payload.get("tokens_evaluated"), "completion_tokens": payload.get("tokens_predicted")}
    kept = {key: payload[key] for key in ("model", "truncated") if key in payload}
    return {**kept, "choices": [spoken], "usage": counted if payload.get("stop") else None}


def _stop_of(payload: Mapping[str, Any]) -> str | None:
    """llama.cpp's word for the end; `none` until then."""
    if payload.get("stop") is False:
        return None
    word = string(payload.get("stop_type"))
    return word or next((key.removeprefix("stopped_") for key in _OLD_STOPS if payload.get(key) is True), None)
