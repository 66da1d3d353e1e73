"""One answer of each provider family that ends in a given word, whole and streamed, as the vendor puts it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from tests.agentcore.providers import wires

Json = dict[str, Any]
CALL_WORDS = {"tool_calls", "function_call", "tool_use"}


def _openai(word: str, *, stream: bool) -> Json:
    said: Json = {"role": "assistant", "content": "Hello"}
    function = {"name": "look", "arguments": "{}"}
    if word == "tool_calls":
        said |= {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}
    if word == "function_call":
        said |= {"function_call": function}
    return {"id": "r", "model": "m", "choices": [{"index": 0, "delta" if stream else "message": said}]}


def _openai_whole(word: str) -> Json:
    body = _openai(word, stream=False)
    body["choices"][0]["finish_reason"] = word
    return body


def openai_stream(word: str) -> bytes:
    """Chunks in their order: what is said with `finish_reason` null, the word, the end mark."""
    said = _openai(word, stream=True)
    said["choices"][0]["finish_reason"] = None
    end = {**said, "choices": [{"index": 0, "delta": {}, "finish_reason": word}]}
    chunks = [json.dumps({"object": "chat.completion.chunk", **one}) for one in (said, end)]
    return "".join(f"data: {one}\n\n" for one in [*chunks, "[DONE]"]).encode()


def _anthropic_whole(word: str) -> Json:
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    return wires.message({"type": "text", "text": "Hello"}, *([call] * (word in CALL_WORDS)), reason=word)


def _anthropic_stream(word: str) -> bytes:
    calls = [wires.called(1, "c", "look", "{}")] if word in CALL_WORDS else []
    return wires.message_stream(wires.said(0, "Hello"), *calls, reason=word)


def gemini_whole(word: str, *parts: Json) -> Json:
    content = {"role": "model", "parts": [{"text": "Hello"}, *parts]}
    return {"candidates": [{"index": 0, "content": content, "finishReason": word}]}


def gemini_stream(word: str, *parts: Json) -> bytes:
    return b"data: " + json.dumps(gemini_whole(word, *parts)).encode() + b"\r\n\r\n"


def _bedrock_whole(word: str) -> Json:
    call = {"toolUse": {"toolUseId": "c", "name": "look", "input": {}}}
    return wires.answer({"text": "Hello"}, *([call] * (word in CALL_WORDS)), reason=word)


def _bedrock_stream(word: str) -> bytes:
    calls = wires.asked(1, "c", "look", "{}") if word in CALL_WORDS else []
    return wires.converse(*wires.answer_events(wires.grown(0, text="Hello"), *calls, reason=word))


WHOLE: Mapping[str, Callable[[str], Json]] = {
    "openai": _openai_whole,
    "anthropic": _anthropic_whole,
    "gemini": gemini_whole,
    "bedrock": _bedrock_whole,
}
STREAMED: Mapping[str, Callable[[str], bytes]] = {
    "openai": openai_stream,
    "anthropic": _anthropic_stream,
    "gemini": gemini_stream,
    "bedrock": _bedrock_stream,
}


def whole(provider: str, word: str) -> ChatResponse:
    """A whole answer that ends in the word, decoded."""
    return get_provider(provider).decode_response(WHOLE[provider](word))


def streamed(provider: str, word: str) -> ChatResponse:
    """A streamed answer that ends in the word, decoded byte by byte."""
    return wires.read(provider, STREAMED[provider](word), size=1)
