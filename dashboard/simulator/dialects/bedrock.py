"""Bedrock's Converse and ConverseStream: messages of AWS's event stream, or one body."""

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from dashboard.simulator.dialects.base import Dialect, encoded, finished_keys, gather
from dashboard.simulator.dialects.request_reader import (
    budget_of,
    mapping,
    mappings,
    messages_of,
    names_of,
    payload_of,
    text_of,
    written,
)
from dashboard.simulator.errors import Reply, RequestError
from dashboard.simulator.request_values import CheckedRequest, Incoming, RequestFields, RequestMessage, Speaker, ask
from dashboard.simulator.script_player import CallOpened, CallPiece, Ending, Finished, RefusalPiece, TextPiece, Token

_SPEAKERS = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT}
_WORDS: Mapping[Ending, str | None] = {
    Ending.END: "end_turn",
    Ending.LENGTH: "max_tokens",
    Ending.CALLS: "tool_use",
    Ending.MALFORMED: "malformed_tool_use",
    Ending.FILTERED: "content_filtered",
    Ending.BLOCKED: "guardrail_intervened",
    Ending.REFUSED: "content_filtered",  # its words stand where the answer would
    Ending.CONTEXT: "model_context_window_exceeded",
    Ending.ODD: "solar_flare",
    Ending.MISSING: None,
}
_BLOCKED = "Sorry, the guardrail of this simulator blocks your question."
_EXCEPTIONS = {
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_STRING = 7


def event_message(name: str, payload: bytes) -> bytes:
    """An event of this name, whose payload is JSON."""
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return _message(headers, payload)


def _message(headers: Mapping[str, str], payload: bytes) -> bytes:
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    message = prelude + _crc(prelude) + head + payload
    return message + _crc(message)


def _header(name: str, value: str) -> bytes:
    name_bytes, value_bytes = name.encode(), value.encode()
    return struct.pack(f">B{len(name_bytes)}sBH", len(name_bytes), name_bytes, _STRING, len(value_bytes)) + value_bytes


def _crc(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def _error(refused: RequestError) -> Reply:
    status = 503 if refused.status == 529 else refused.status
    name = _EXCEPTIONS.get(status, "ValidationException")
    return Reply(
        status, encoded({"message": refused.message}), headers=(*refused.headers, ("x-amzn-errortype", f"{name}:"))
    )


def _read(incoming: Incoming) -> CheckedRequest:
    payload = payload_of(incoming.body)
    text_format = mapping(mapping(payload.get("outputConfig")).get("textFormat"))
    messages = messages_of(payload, "messages", _SPEAKERS)
    told = RequestFields(
        model=incoming.place["model"],
        lines=[
            *(RequestMessage(Speaker.GUIDE, str(part.get("text", ""))) for part in mappings(payload.get("system"))),
            *(line for message in messages for line in _lines(message)),
        ],
        budget=budget_of(mapping(payload.get("inferenceConfig")), "maxTokens"),
        stream=incoming.place["method"] == "converse-stream",
        tools=names_of(mapping(payload.get("toolConfig")).get("tools"), "toolSpec", "name"),
        wants_json=text_format.get("type") == "json_schema",
    )
    return ask(told, incoming)


def _lines(message: Mapping[str, Any]) -> Iterator[RequestMessage]:
    """A message; a user's tool results are lines of their own."""
    blocks = mappings(message.get("content"))
    results = [mapping(block["toolResult"]) for block in blocks if "toolResult" in block]
    for result in results:
        yield RequestMessage(Speaker.TOOL, text_of(result.get("content")))
    calls = [mapping(block["toolUse"]) for block in blocks if "toolUse" in block]
    words = tuple(text for call in calls for text in (str(call.get("name")), written(call.get("input"))))
    text = text_of(blocks)
    if text or calls or not results:
        yield RequestMessage(_SPEAKERS[message["role"]], text, words)


class ConverseWire:
    """One answer's rendering. It knows which block is open."""

    stream_type = "application/vnd.amazon.eventstream"

    def __init__(self, asked: CheckedRequest, _created: int) -> None:
        self._asked = asked
        self._index = 0
        self._open = False

    def opening(self) -> bytes:
        return _event("messageStart", {"role": "assistant"})

    def token(self, token: Token, /) -> bytes:
        match token:
            case TextPiece(text) | RefusalPiece(text):
                self._open = True  # the block of a text is not announced
                return self._delta({"text": text})
            case CallOpened(index, name):
                stop, self._open = self._stop(), True
                start = {"contentBlockIndex": self._index, "start": {"toolUse": self._call(index, name)}}
                return stop + _event("contentBlockStart", start)
            case CallPiece(_, text):
                return self._delta({"toolUse": {"input": text}})
            case _:
                assert_never(token)

    def closing(self, finished: Finished, /) -> bytes:
        blocked = self.token(TextPiece(_BLOCKED)) if finished.reason is Ending.BLOCKED else b""
        metadata = {"usage": self._usage(finished.tokens), "metrics": {"latencyMs": 1}}
        stop = _event("messageStop", _end(finished))
        return blocked + self._stop() + stop + _event("metadata", metadata)

    def whole(self, tokens: Sequence[Token], finished: Finished, /, *, withheld: bool) -> bytes:
        said = gather(tokens)
        text = _BLOCKED if finished.reason is Ending.BLOCKED else "" if withheld else said.text + said.refusal
        content: list[dict[str, Any]] = [{"text": text}] if text else []
        for index, call in enumerate(said.calls):
            if finished.reason is not Ending.MALFORMED:  # such a call cannot be written down, and is left out
                content.append({"toolUse": {**self._call(index, call.name), "input": finished_keys(call.arguments)}})
        message = {"message": {"role": "assistant", "content": content}}
        usage = {"usage": self._usage(finished.tokens), "metrics": {"latencyMs": 1}}
        return encoded({"output": message, **_end(finished), **usage})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("contentBlockDelta", {"contentBlockIndex": self._index, "delta": delta})

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        self._open, index, self._index = False, self._index, self._index + 1
        return _event("contentBlockStop", {"contentBlockIndex": index})

    def _call(self, index: int, name: str) -> dict[str, str]:
        return {"toolUseId": f"tooluse_{self._asked.digest[:18]}{index:04d}", "name": name}

    def _usage(self, tokens: int) -> dict[str, int]:
        taken = self._asked.prompt_tokens
        return {"inputTokens": taken, "outputTokens": tokens, "totalTokens": taken + tokens}


def _end(finished: Finished) -> dict[str, str]:
    word = finished.word(_WORDS)
    return {} if word is None else {"stopReason": word}


def _event(name: str, payload: dict[str, Any]) -> bytes:
    return event_message(name, encoded(payload))


BEDROCK = Dialect("bedrock", _WORDS, _read, _error, ConverseWire)
