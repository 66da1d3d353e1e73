"""Anthropic's messages: events that open, fill and close blocks of content, or one message."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from dashboard.simulator import errors
from dashboard.simulator.dialects.base import EVENTS, Dialect, encoded, finished_keys, gather, named_event, parsed
from dashboard.simulator.dialects.request_reader import (
    budget_of,
    mapping,
    mappings,
    messages_of,
    model_of,
    names_of,
    payload_of,
    text_of,
    written,
)
from dashboard.simulator.errors import Reply, RequestError
from dashboard.simulator.request_values import CheckedRequest, Incoming, RequestFields, RequestMessage, Speaker, ask
from dashboard.simulator.script_player import CallOpened, CallPiece, Ending, Finished, RefusalPiece, TextPiece, Token

COUNT = "/count_tokens"  #: below the dialect's address: how long a request is, instead of an answer to it
_SPEAKERS = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT}
_WORDS: Mapping[Ending, str | None] = {
    Ending.END: "end_turn",
    Ending.LENGTH: "max_tokens",
    Ending.CALLS: "tool_use",
    Ending.MALFORMED: "tool_use",
    Ending.FILTERED: "refusal",
    Ending.BLOCKED: "refusal",
    Ending.REFUSED: "refusal",
    Ending.CONTEXT: "model_context_window_exceeded",
    Ending.PAUSED: "pause_turn",
    Ending.ODD: "solar_flare",
    Ending.MISSING: None,
}
_ERRORS = {
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_REFUSED = {"type": "refusal", "category": "general_harms", "explanation": "This is a simulated refusal."}


def _error(refused: RequestError) -> Reply:
    error = {"type": _ERRORS.get(refused.status, "invalid_request_error"), "message": refused.message}
    body = {"type": "error", "error": error, "request_id": "req_simulator"}
    return Reply(refused.status, encoded(body), headers=refused.headers)


def _read(incoming: Incoming) -> CheckedRequest:
    payload = payload_of(incoming.body)
    if incoming.place.get("method") == COUNT:
        payload = {**payload, "max_tokens": 1}  # nothing is said, and nobody names a cap
    if payload.get("max_tokens") is None:
        raise errors.wrong_type("max_tokens", "an integer", None)
    system = text_of(payload.get("system"))
    messages = messages_of(payload, "messages", _SPEAKERS)
    last = messages[-1]
    if last["role"] == "assistant" and text_of(last.get("content"))[-1:].isspace():
        raise errors.whitespace_at_the_end()
    choice = mapping(payload.get("tool_choice"))
    guides = [RequestMessage(Speaker.GUIDE, system)] if system else []
    told = RequestFields(
        model=model_of(payload),
        lines=[*guides, *(line for message in messages for line in _lines(message))],
        budget=budget_of(payload, "max_tokens"),
        stream=payload.get("stream") is True,
        tools=() if choice.get("type") == "none" else names_of(payload.get("tools"), "name"),
        wants_json=mapping(mapping(payload.get("output_config")).get("format")).get("type") == "json_schema",
        parallel=choice.get("disable_parallel_tool_use") is not True,
    )
    return ask(told, incoming)


def _lines(message: Mapping[str, Any]) -> Iterator[RequestMessage]:
    """A message; a user's tool results are lines of their own."""
    content = message.get("content")
    blocks = mappings(content)
    for block in blocks:
        if block.get("type") == "tool_result":
            yield RequestMessage(Speaker.TOOL, text_of(block.get("content")))
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    words = tuple(text for call in calls for text in (str(call.get("name")), written(call.get("input"))))
    text = text_of(content)
    paused = any(block.get("type") == "server_tool_use" for block in blocks)
    if text or calls or paused or not blocks:
        yield RequestMessage(_SPEAKERS[message["role"]], text, words, paused)


class MessagesWire:
    """One answer's rendering. It knows which block is open."""

    stream_type = EVENTS

    def __init__(self, asked: CheckedRequest, _created: int) -> None:
        self._asked = asked
        self._index = -1
        self._open = ""  # the type of the open block
        self._refusal: list[str] = []

    def opening(self) -> bytes:
        message = {**self._head(), "content": [], "stop_reason": None, "stop_sequence": None, "usage": self._usage(1)}
        return named_event({"type": "message_start", "message": message}) + named_event({"type": "ping"})

    def token(self, token: Token, /) -> bytes:
        match token:
            case TextPiece(text):
                opened = b"" if self._open == "text" else self._begin({"type": "text", "text": ""})
                return opened + self._delta({"type": "text_delta", "text": text})
            case RefusalPiece(text):
                self._refusal.append(text)  # told with the reason
                return b""
            case CallOpened(index, name):
                return self._begin({**self._call(index, name), "input": {}})
            case CallPiece(_, text):
                return self._delta({"type": "input_json_delta", "partial_json": text})
            case _:
                assert_never(token)

    def closing(self, finished: Finished, /) -> bytes:
        search = b""
        if finished.reason is Ending.PAUSED:
            search = self._begin({**self._search(), "input": {}})
            search += self._delta({"type": "input_json_delta", "partial_json": '{"query": "the date"}'})
        end = {"type": "message_delta", "delta": self._end(finished), "usage": {"output_tokens": finished.tokens}}
        return search + self._stop() + named_event(end) + named_event({"type": "message_stop"})

    def whole(self, tokens: Sequence[Token], finished: Finished, /, *, withheld: bool) -> bytes:
        said = gather(tokens)
        self._refusal.append(said.refusal)
        content: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text and not withheld else []
        for index, call in enumerate(said.calls):
            content.append({**self._call(index, call.name), "input": self._input(call.arguments, finished.reason)})
        if finished.reason is Ending.PAUSED:
            content.append({**self._search(), "input": {"query": "the date"}})
        usage = self._usage(finished.tokens)
        return encoded({**self._head(), "content": content, **self._end(finished), "usage": usage})

    @staticmethod
    def _input(arguments: str, reason: Ending) -> object:
        """An object; of a call that was cut only what was finished. What is no JSON is handed on as it is."""
        value = parsed(arguments)
        return arguments if value is None and reason is Ending.MALFORMED else finished_keys(arguments)

    def _begin(self, block: dict[str, Any]) -> bytes:
        stop = self._stop()
        self._index, self._open = self._index + 1, block["type"]
        return stop + named_event({"type": "content_block_start", "index": self._index, "content_block": block})

    def _delta(self, delta: dict[str, str]) -> bytes:
        return named_event({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        self._open = ""
        return named_event({"type": "content_block_stop", "index": self._index})

    def _call(self, index: int, name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"toolu_{self._asked.digest[:20]}{index:04d}", "name": name}

    def _search(self) -> dict[str, Any]:
        return {"type": "server_tool_use", "id": f"srvtoolu_{self._asked.digest[:24]}", "name": "web_search"}

    def _end(self, finished: Finished) -> dict[str, Any]:
        word = finished.word(_WORDS)
        end: dict[str, Any] = {"stop_reason": word, "stop_sequence": None}
        words = "".join(self._refusal)
        details = {**_REFUSED, "explanation": words} if words else _REFUSED
        return {**end, "stop_details": details} if word == "refusal" else end

    def _head(self) -> dict[str, Any]:
        name = f"msg_{self._asked.digest[:24]}"
        return {"id": name, "type": "message", "role": "assistant", "model": self._asked.model}

    def _usage(self, tokens: int) -> dict[str, int]:
        return {
            "input_tokens": self._asked.prompt_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": tokens,
        }


ANTHROPIC = Dialect("anthropic", _WORDS, _read, _error, MessagesWire, counts={COUNT: "input_tokens"})
