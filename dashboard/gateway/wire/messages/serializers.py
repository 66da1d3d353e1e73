"""Answers in the Messages API's form: one message, or the events of a stream, in its order. Pure.

message_start → blocks of thoughts, text and calls, each opened, filled and closed → message_delta → message_stop.
"""

import json
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from agentcore.messages import TokenUsage, ToolCall
from agentcore.providers.anthropic.content import is_content
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.messages.stop_reasons import REFUSAL, STOP_SEQUENCE, stop_reason

CLOSING = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})

Json = dict[str, Any]


def body_of(named: AnswerIdentity, ended: EndedTurn, stops: Sequence[str] = ()) -> bytes:
    """A whole answer. `stops`: the strings at which it was to stop."""
    usage = _counts(ended.usage)
    told = {**_head(named), "content": list(_content(ended)), **_end(ended, stops), "usage": usage}
    return _json(told).encode()


def _head(named: AnswerIdentity) -> Json:
    return {"id": named.id, "type": "message", "role": "assistant", "model": named.model}


def _end(ended: EndedTurn, stops: Sequence[str]) -> Json:
    word = stop_reason(ended)
    matched = stops[0] if word == STOP_SEQUENCE and len(stops) == 1 else None
    end: Json = {"stop_reason": word, "stop_sequence": matched}
    if word == REFUSAL:
        end["stop_details"] = {"type": "refusal", "category": None, "explanation": ended.said.refusal}
    return end


def _counts(usage: TokenUsage | None) -> Json:
    """Tokens under their names here, where what was read from the cache is no part of the input. The form has no word
    for what is not known: then they are 0."""
    counted = usage or TokenUsage()
    return {
        "input_tokens": counted.input_tokens - counted.cached_tokens,
        "output_tokens": counted.output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": counted.cached_tokens,
    }


def _content(ended: EndedTurn) -> Iterable[Json]:
    """The blocks: those of a single answer of this dialect as they came, others made of what is said."""
    if _stands(ended):
        return ended.echoes[0]  # type: ignore[no-any-return]
    return [*_thoughts(ended), *_texts(ended), *(_call(call) for call in ended.said.calls)]


def _stands(ended: EndedTurn) -> bool:
    """Whether the one answer that there was is what is said, and came as blocks of this dialect."""
    said, echo = ended.said, ended.echoes[0] if len(ended.echoes) == 1 else None
    if not is_content(echo) or said.refusal is not None:
        return False
    text = "".join(block.get("text") or "" for block in echo if block.get("type") == "text")
    calls = [block.get("id") for block in echo if block.get("type") == "tool_use"]
    return text == (said.text or "") and calls == [call.id for call in said.calls]


def _thoughts(ended: EndedTurn) -> list[Json]:
    """What was thought before the answer: signed where it is Anthropic's, else as a text; none of what is withheld."""
    first = ended.echoes[0] if ended.echoes else None
    if ended.said.text is None and not ended.said.calls:
        return []
    if is_content(first):
        return [block for block in first if block.get("type") in _THOUGHTS]
    return [{"type": "thinking", "thinking": ended.reasoning, "signature": ""}] if ended.reasoning else []


def _texts(ended: EndedTurn) -> list[Json]:
    return [{"type": "text", "text": ended.said.text}] if ended.said.text else []


def _call(call: ToolCall) -> Json:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}


class EventStream:
    """The events of one stream. Thoughts are told up to the first word of the answer."""

    def __init__(self, named: AnswerIdentity, stops: Sequence[str] = ()) -> None:
        self._named = named
        self._stops = stops
        self._index = -1  #: of the last block
        self._open = ""  #: the type of the block that is open
        self._spoken = False  #: whether the answer itself has begun

    def texts(self, texts: Sequence[str]) -> bytes:
        """More of the answer, each text in an event of its own."""
        if not texts:
            return b""
        self._spoken = True
        opened = b"" if self._open == "text" else self._begin({"type": "text", "text": ""})
        head, tail = self._delta("text_delta", "text")
        return opened + f"{head}{(tail + head).join(map(quoted, texts))}{tail}".encode()

    def reasoning(self, text: str, signature: str) -> bytes:
        """What the model thinks aloud before it answers, and what signs it."""
        if self._spoken or not (text or signature):
            return b""
        empty = {"type": "thinking", "thinking": "", "signature": ""}
        told = b"" if self._open == "thinking" else self._begin(empty)
        for name, field, value in (("thinking_delta", "thinking", text), ("signature_delta", "signature", signature)):
            head, tail = self._delta(name, field)
            told += f"{head}{quoted(value)}{tail}".encode() if value else b""
        return told + (self._stop() if signature else b"")

    def end(self, ended: EndedTurn) -> bytes:
        """Calls, why it ended, and the usage; the text has been told before."""
        told = self._start() + b"".join(self._called(call) for call in ended.said.calls) + self._stop()
        delta = _end(ended, self._stops)
        return told + _event({"type": "message_delta", "delta": delta, "usage": _counts(ended.usage)})

    def _called(self, call: ToolCall) -> bytes:
        self._spoken = True
        begun = self._begin({**_call(call), "input": {}})
        head, tail = self._delta("input_json_delta", "partial_json")
        return begun + f"{head}{quoted(call.raw or _json(dict(call.arguments)))}{tail}".encode()

    def _start(self) -> bytes:
        if self._index >= 0:
            return b""
        head, usage = _head(self._named), _counts(None)
        message = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return _event({"type": "message_start", "message": message})

    def _begin(self, block: Json) -> bytes:
        before = self._start() + self._stop()
        self._index, self._open = self._index + 1, block["type"]
        return before + _event({"type": "content_block_start", "index": self._index, "content_block": block})

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        self._open = ""
        return _event({"type": "content_block_stop", "index": self._index})

    def _delta(self, name: str, field: str) -> tuple[str, str]:
        """What stands around a piece of the block that is open."""
        about = f'{{"type":"content_block_delta","index":{self._index},"delta":{{"type":"{name}","{field}":'
        return f"event: content_block_delta\ndata: {about}", "}}\n\n"


def _event(value: Json) -> bytes:
    return f"event: {value['type']}\ndata: {_json(value)}\n\n".encode()


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
