"""Gemini's generateContent: a row of whole responses, as events or in one array, or one alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from dashboard.simulator import errors
from dashboard.simulator.dialects.base import EVENTS, Dialect, data_event, encoded, gather, parsed
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
from dashboard.simulator.errors import CONTEXT_EXCEEDED, WINDOW, Reply, RequestError
from dashboard.simulator.request_values import CheckedRequest, Incoming, RequestFields, RequestMessage, Speaker, ask
from dashboard.simulator.script_player import (
    Call,
    CallOpened,
    CallPiece,
    Ending,
    Finished,
    RefusalPiece,
    TextPiece,
    Token,
)

_SPEAKERS = {"user": Speaker.USER, "model": Speaker.ASSISTANT, "function": Speaker.TOOL}
_MALFORMED = "MALFORMED_FUNCTION_CALL"
_WORDS: Mapping[Ending, str | None] = {
    Ending.END: "STOP",
    Ending.LENGTH: "MAX_TOKENS",
    Ending.CALLS: "STOP",
    Ending.MALFORMED: _MALFORMED,
    Ending.FILTERED: "SAFETY",
    Ending.REFUSED: "PROHIBITED_CONTENT",
    Ending.OPEN_CALL: "MAX_TOKENS",
    Ending.BLOCKED: None,  # then there is no candidate, but a feedback on the prompt
    Ending.ODD: "SOLAR_FLARE",
    Ending.MISSING: None,
}
_STATUSES = {404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
_TOO_LONG = f"The input token count exceeds the maximum number of tokens allowed ({WINDOW})."
_BLOCKED = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "The prompt was blocked by the simulator."}


def _error(refused: RequestError) -> Reply:
    status = 503 if refused.status == 529 else refused.status
    message = _TOO_LONG if refused.code == CONTEXT_EXCEEDED else refused.message
    error: dict[str, Any] = {
        "code": status,
        "message": message,
        "status": _STATUSES.get(status, "INVALID_ARGUMENT"),
    }
    headers = dict(refused.headers)
    wait = headers.pop("retry-after", None)  # which this API tells in the body
    if wait is not None:
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{wait}s"}]
    return Reply(status, encoded({"error": error}), headers=tuple(headers.items()))


def _read(incoming: Incoming) -> CheckedRequest:
    payload = payload_of(incoming.body)
    payload = mapping(payload.get("generateContentRequest")) or payload  # where tokens are counted
    config = mapping(payload.get("generationConfig"))
    system = text_of(mapping(payload.get("systemInstruction")).get("parts"))
    contents = messages_of({"contents": _with_roles(payload.get("contents"))}, "contents", _SPEAKERS)
    declared = (mappings(tool.get("functionDeclarations")) for tool in mappings(payload.get("tools")))
    guides = [RequestMessage(Speaker.GUIDE, system)] if system else []
    told = RequestFields(
        model=incoming.place["model"],
        lines=[*guides, *(line for content in contents for line in _lines(content))],
        budget=budget_of(config, "maxOutputTokens"),
        stream=incoming.place["method"] == "streamGenerateContent",
        tools=names_of([function for functions in declared for function in functions], "name"),
        wants_json=config.get("responseMimeType") == "application/json",
        flat=incoming.query.get("alt") != "sse",
    )
    return ask(told, incoming)


def _with_roles(contents: object) -> object:
    """Contents whose role, which may be left out, is said."""
    if not isinstance(contents, list):
        return contents
    return [{"role": "user", **content} if isinstance(content, dict) else content for content in contents]


def _lines(content: Mapping[str, Any]) -> Iterator[RequestMessage]:
    """A content; results of functions are lines of their own."""
    parts = mappings(content.get("parts"))
    results = [mapping(part["functionResponse"]) for part in parts if "functionResponse" in part]
    for result in results:
        output = mapping(result.get("response"))
        yield RequestMessage(Speaker.TOOL, written(output.get("output", output)))
    calls = [mapping(part["functionCall"]) for part in parts if "functionCall" in part]
    words = tuple(text for call in calls for text in (str(call.get("name")), written(call.get("args"))))
    text = text_of(parts)
    if text or calls or not results:
        yield RequestMessage(_SPEAKERS[content["role"]], text, words)


class GenerateWire:
    """One answer's rendering. A call is kept back until it is whole; one that never is, is not shown."""

    def __init__(self, asked: CheckedRequest, _created: int) -> None:
        self._asked = asked
        self._kept: list[Token] = []  # what is told at the end
        self._said = 0
        self._sent = False
        self.stream_type = "application/json; charset=utf-8" if asked.flat else EVENTS

    def opening(self) -> bytes:
        return b""

    def token(self, token: Token, /) -> bytes:
        self._said += 1
        match token:
            case TextPiece(text):
                return self._chunk(self._response([{"text": text}], self._said))
            case CallOpened() | CallPiece() | RefusalPiece():
                self._kept.append(token)
                return b""
            case _:
                assert_never(token)

    def closing(self, finished: Finished, /) -> bytes:
        opened = b""
        if finished.reason is Ending.OPEN_CALL:
            parts = [part for call in gather(self._kept).calls for part in _open_parts(call)]
            opened = b"".join(self._chunk(self._response([part], None)) for part in parts)
        last = opened + self._chunk(self._last([], self._kept, finished))
        return last + b"]" if self._asked.flat else last

    def whole(self, tokens: Sequence[Token], finished: Finished, /, *, withheld: bool) -> bytes:
        text = gather(tokens).text
        return encoded(self._last([{"text": text}] if text and not withheld else [], tokens, finished))

    def _last(self, parts: list[dict[str, Any]], tokens: Sequence[Token], finished: Finished) -> dict[str, Any]:
        """The response that says how it ended."""
        if finished.reason is Ending.BLOCKED:
            usage = {"promptTokenCount": self._asked.prompt_tokens, "totalTokenCount": self._asked.prompt_tokens}
            return {"promptFeedback": _BLOCKED, "usageMetadata": usage, **self._head()}
        said = gather(tokens)
        word, broken = finished.word(_WORDS), ""
        for call in () if finished.reason is Ending.OPEN_CALL else said.calls:
            arguments = parsed(call.arguments)
            if arguments is None:
                word, broken = _MALFORMED, f"Malformed function call: {call.name}({call.arguments}"
            else:
                parts.append({"functionCall": {"name": call.name, "args": arguments}})
        # Of an attempt that was thrown away not even the tokens are told.
        response = self._response(parts, None if broken else finished.tokens)
        candidate = response["candidates"][0]
        if word is not None:
            candidate["finishReason"] = word
        if broken or said.refusal:
            candidate["finishMessage"] = broken or said.refusal
        return response

    def _response(self, parts: list[dict[str, Any]], tokens: int | None) -> dict[str, Any]:
        content = {"role": "model", **({"parts": parts} if parts else {})}
        usage = {"promptTokenCount": self._asked.prompt_tokens}
        if tokens:
            usage["candidatesTokenCount"] = tokens
        usage["totalTokenCount"] = sum(usage.values())
        return {"candidates": [{"content": content, "index": 0}], "usageMetadata": usage, **self._head()}

    def _head(self) -> dict[str, str]:
        return {"modelVersion": self._asked.model, "responseId": self._asked.digest[:22]}

    def _chunk(self, response: dict[str, Any]) -> bytes:
        if not self._asked.flat:
            return data_event(response)
        before, self._sent = b",\r\n" if self._sent else b"[", True
        return before + encoded(response)


def _open_parts(call: Call) -> Iterator[dict[str, Any]]:
    """A call whose arguments come value by value (`streamFunctionCallArguments`), the last of them cut."""
    yield {"functionCall": {"name": call.name, "willContinue": True}}
    values = parsed(call.arguments + '"}') or {}
    for key, value in values.items():
        entry = {"jsonPath": f"$.{key}", "stringValue": str(value), "willContinue": True}
        yield {"functionCall": {"partialArgs": [entry], "willContinue": True}}


GEMINI = Dialect(
    "gemini",
    _WORDS,
    _read,
    _error,
    GenerateWire,
    {Ending.CONTEXT: errors.context_exceeded},
    {"countTokens": "totalTokens"},
)
