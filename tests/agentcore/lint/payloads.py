"""Whole answers as each provider puts them on the wire, decoded as the transport decodes them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentcore.messages import ChatResponse
from agentcore.providers import get_provider

Json = dict[str, Any]

#: The word of each dialect for an end by itself.
ENDED: Mapping[str, str] = {
    "openai": "stop", "openai_responses": "completed", "anthropic": "end_turn", "gemini": "STOP",
    "bedrock": "end_turn", "ollama": "stop", "cohere": "COMPLETE", "llama": "stop",
}  # fmt: skip
#: And for a cut.
CUT: Mapping[str, str] = {
    "openai": "length", "openai_responses": "incomplete", "anthropic": "max_tokens", "gemini": "MAX_TOKENS",
    "bedrock": "max_tokens", "ollama": "length", "cohere": "MAX_TOKENS", "llama": "length",
}  # fmt: skip
#: And for calls; empty where it has none.
CALLED: Mapping[str, str] = {
    "openai": "tool_calls", "openai_responses": "completed", "anthropic": "tool_use", "gemini": "STOP",
    "bedrock": "tool_use", "ollama": "stop", "cohere": "TOOL_CALL",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer says, in no dialect. `used`: output tokens, None where the provider counts none; `call`: the name
    and the argument text of one; `more`: what a bridge puts beside the reason."""

    text: str = ""
    word: str = ""  #: empty: that of an end by itself
    used: int | None = None
    reasoning: str = ""
    reasoned: int = 0  #: tokens
    call: tuple[str, str] | None = None
    more: tuple[tuple[str, Any], ...] = ()


def decoded(dialect: str, answer: Answer, cap: int) -> ChatResponse:
    """The answer to a call of `cap` output tokens."""
    payload = PAYLOADS[dialect](answer, answer.word or (CALLED if answer.call else ENDED)[dialect])
    decoder = get_provider(dialect).stream_decoder(max_tokens=cap)
    decoder.feed(json.dumps(payload).encode())
    return decoder.close()


def _openai(answer: Answer, word: str) -> Json:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.call:
        function = dict(zip(("name", "arguments"), answer.call, strict=True))
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": word, **dict(answer.more)}
    usage = {"prompt_tokens": 40, "completion_tokens": answer.used}
    usage["completion_tokens_details"] = {"reasoning_tokens": answer.reasoned}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice]} | _with(answer, usage)


def _responses(answer: Answer, word: str) -> Json:
    status = dict(answer.more).get("item_status", "completed")
    output: list[Json] = []
    if answer.reasoning:
        output.append(
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": answer.reasoning}]}
        )
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content})
    if answer.call:
        name, arguments = answer.call
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "arguments": arguments}
        output.append({**call, "status": "completed"})
    usage = {"input_tokens": 40, "output_tokens": answer.used}
    usage["output_tokens_details"] = {"reasoning_tokens": answer.reasoned}
    details = {"incomplete_details": {"reason": "max_output_tokens"}} if word == "incomplete" else {}
    return {"id": "resp_1", "object": "response", "status": word, "model": "m", "output": output, **details} | _with(
        answer, usage
    )


def _anthropic(answer: Answer, word: str) -> Json:
    content: list[Json] = []
    if answer.reasoning:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": "c2ln"})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    if answer.call:
        content.append(
            {"type": "tool_use", "id": "toolu_1", "name": answer.call[0], "input": json.loads(answer.call[1])}
        )
    said = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    usage = {"input_tokens": 40, "output_tokens": answer.used}
    return {**said, "stop_reason": word, "stop_sequence": None} | _with(answer, usage)


def _gemini(answer: Answer, word: str) -> Json:
    parts: list[Json] = []
    if answer.reasoning:
        parts.append({"text": answer.reasoning, "thought": True})
    if answer.text:
        parts.append({"text": answer.text})
    if answer.call:
        parts.append({"functionCall": {"name": answer.call[0], "args": json.loads(answer.call[1])}})
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": word, "index": 0}
    told = {"candidates": [candidate], "modelVersion": "m", "responseId": "r"}
    if answer.used is None:
        return told
    shown = answer.used - answer.reasoned
    usage = {"promptTokenCount": 40, "candidatesTokenCount": shown, "totalTokenCount": 40 + answer.used}
    return {**told, "usageMetadata": usage | ({"thoughtsTokenCount": answer.reasoned} if answer.reasoned else {})}


def _bedrock(answer: Answer, word: str) -> Json:
    content: list[Json] = []
    if answer.reasoning:
        content.append({"reasoningContent": {"reasoningText": {"text": answer.reasoning, "signature": "c2ln"}}})
    if answer.text:
        content.append({"text": answer.text})
    if answer.call:
        content.append({"toolUse": {"toolUseId": "t1", "name": answer.call[0], "input": json.loads(answer.call[1])}})
    told = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": word}
    return told | _with(answer, {"inputTokens": 40, "outputTokens": answer.used})


def _ollama(answer: Answer, word: str) -> Json:
    message: Json = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["thinking"] = answer.reasoning
    if answer.call:
        message["tool_calls"] = [{"function": {"name": answer.call[0], "arguments": json.loads(answer.call[1])}}]
    told = {"model": "m", "created_at": "2026-11-20T12:00:00Z", "message": message, "done": True, "done_reason": word}
    return told if answer.used is None else {**told, "prompt_eval_count": 40, "eval_count": answer.used}


def _cohere(answer: Answer, word: str) -> Json:
    message: Json = {"role": "assistant"}
    if answer.text:
        message["content"] = [{"type": "text", "text": answer.text}]
    if answer.reasoning:
        message["content"] = [{"type": "thinking", "thinking": answer.reasoning}, *message.get("content", [])]
    if answer.call:
        function = dict(zip(("name", "arguments"), answer.call, strict=True))
        message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
    counted = {"input_tokens": 40, "output_tokens": answer.used}
    return {"id": "c", "finish_reason": word, "message": message} | _with(answer, {"tokens": counted})


def _llama(answer: Answer, word: str) -> Json:
    """OpenAI's wire, its text an object of the protocol."""
    return _openai(replace(answer, text=json.dumps({"response": answer.text})), word)


def _with(answer: Answer, usage: Json) -> Json:
    return {} if answer.used is None else {"usage": usage}


PAYLOADS: Mapping[str, Callable[[Answer, str], Json]] = {
    "openai": _openai,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "ollama": _ollama,
    "cohere": _cohere,
    "llama": _llama,
}
