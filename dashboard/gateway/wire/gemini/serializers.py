"""Answers in Gemini's form: one response, or a stream of such, each with what is new. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from agentcore.messages import TokenUsage, ToolCall
from agentcore.providers.wire.untrusted_json import mapping, sequence
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.gemini.finish_reasons import block_reason, finish_reason
from dashboard.gateway.wire.signatures import signature_of

Json = dict[str, Any]


def body_of(named: AnswerIdentity, ended: EndedTurn, *, thoughts: bool) -> bytes:
    """A whole answer. `thoughts`: whether what the model thought is told."""
    return _json(_response(named, ended, _parts(ended, thoughts=thoughts))).encode()


def _response(named: AnswerIdentity, ended: EndedTurn, parts: Sequence[Json]) -> Json:
    """With these parts, why it ended, and what it used: not made up where the provider did not count it."""
    usage = {} if ended.usage is None else {"usageMetadata": _counts(ended.usage)}
    about = {**usage, "modelVersion": named.model, "responseId": named.id}
    refused = ended.said.refusal
    if blocked := block_reason(ended):
        why = {"blockReasonMessage": refused} if refused else {}
        return {"promptFeedback": {"blockReason": blocked, **why}, **about}
    content = {"role": "model", **({"parts": list(parts)} if parts else {})}
    candidate: Json = {"content": content, "finishReason": finish_reason(ended), "index": 0}
    return {"candidates": [candidate | ({"finishMessage": refused} if refused else {})], **about}


def _counts(usage: TokenUsage) -> Json:
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
    }
    rare = {"thoughtsTokenCount": usage.reasoning_tokens, "cachedContentTokenCount": usage.cached_tokens}
    return counts | {name: count for name, count in rare.items() if count}


def _parts(ended: EndedTurn, *, thoughts: bool) -> list[Json]:
    """The parts: those of a single answer of this dialect as they came, others made of what is said."""
    if _is_withheld(ended):
        return []
    standing = _standing(ended)
    kept = [part for part in standing or _theirs(ended.echoes[:1]) if part.get("thought") is True]
    thought = [] if kept or not (thoughts and ended.reasoning) else [_thought(ended.reasoning)]
    if standing is not None:
        return [*thought, *standing]
    texts = [{"text": ended.said.text}] if ended.said.text else []
    return [*kept, *thought, *texts, *_calls(ended)]


def _is_withheld(ended: EndedTurn) -> bool:
    return ended.said.text is None and not ended.said.calls


def _standing(ended: EndedTurn) -> list[Json] | None:
    """The parts of the one answer that there was, where they are this dialect's and say what is said."""
    said, parts = ended.said, _theirs(ended.echoes) if len(ended.echoes) == 1 else []
    text = "".join(part.get("text") or "" for part in parts if part.get("thought") is not True)
    called = [(call.get("name"), call.get("args")) for part in parts if (call := part.get("functionCall"))]
    same = text == (said.text or "") and called == [(call.name, dict(call.arguments)) for call in said.calls]
    return parts if parts and same and said.refusal is None else None


def _theirs(echoes: Sequence[Any]) -> list[Json]:
    """The parts of this dialect's answers."""
    contents = [mapping(echo) for echo in echoes]
    parts = [part for content in contents if content.get("role") == "model" for part in sequence(content.get("parts"))]
    return [dict(mapping(part)) for part in parts]


def _thought(text: str) -> Json:
    return {"text": text, "thought": True}


def _calls(ended: EndedTurn) -> Iterator[Json]:
    """The calls that are whole: arguments are an object here, which has no form for half of one."""
    beside = ended.said.beside
    return (_call(call, beside.get(call.id, {})) for call in ended.said.calls if call.issue is None)


def _call(call: ToolCall, beside: Mapping[str, Any]) -> Json:
    arguments = {"input": call.raw} if call.custom else dict(call.arguments)
    signature = signature_of(beside)
    told = {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}
    return {**told, **({"thoughtSignature": signature} if signature else {})}


class EventStream:
    """The events of one stream."""

    def __init__(self, named: AnswerIdentity, *, thoughts: bool) -> None:
        self._named = named
        self._thoughts = thoughts
        about = f'"modelVersion":{quoted(named.model)},"responseId":{quoted(named.id)}'
        self._tail = f'}}],"role":"model"}},"index":0}}],{about}}}\n\n'

    def texts(self, texts: Sequence[str]) -> bytes:
        """More of the answer, each text in an event of its own."""
        if not texts:
            return b""
        return f"{_HEAD}{(self._tail + _HEAD).join(map(quoted, texts))}{self._tail}".encode()

    def reasoning(self, text: str, signature: str) -> bytes:
        """What the model thinks aloud, for those who want to read it. What signs it is another dialect's."""
        del signature
        if not (text and self._thoughts):
            return b""
        return f'{_HEAD}{quoted(text)},"thought":true{self._tail}'.encode()

    def end(self, ended: EndedTurn) -> bytes:
        """Calls, why it ended, and the usage; the text has been told before."""
        told = _response(self._named, ended, self._rest(ended))
        return f"data: {_json(told)}\n\n".encode()

    def _rest(self, ended: EndedTurn) -> list[Json]:
        """The parts that have not been told. There is always one, for clients take an answer without parts for none."""
        if _is_withheld(ended):
            return []
        standing = _standing(ended)
        rest = _untold(standing) if standing is not None else list(_calls(ended))
        return rest or [{"text": ""}]


_HEAD = 'data: {"candidates":[{"content":{"parts":[{"text":'


def _untold(parts: Sequence[Json]) -> list[Json]:
    """All but the texts, and of those what stands beside them, such as a signature."""
    return [{**part, "text": ""} if "text" in part else part for part in parts if part.keys() - {"text", "thought"}]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
