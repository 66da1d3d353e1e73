"""Ollama's own chat: one JSON object per line, or one alone. Streaming is what it does unasked."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, assert_never

from dashboard.simulator import errors
from dashboard.simulator.dialects.base import Dialect, encoded, gather, parsed
from dashboard.simulator.dialects.openai import SPEAKERS
from dashboard.simulator.dialects.request_reader import (
    UNLIMITED,
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
from dashboard.simulator.errors import CONTEXT_EXCEEDED, Reply, RequestError
from dashboard.simulator.request_values import CheckedRequest, Incoming, RequestFields, RequestMessage, ask
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

_WORDS: Mapping[Ending, str | None] = {
    Ending.END: "stop",
    Ending.LENGTH: "length",
    Ending.CALLS: "stop",
    Ending.MALFORMED: "stop",
    Ending.FILTERED: "content_filter",  # Ollama filters nothing; a gateway before it passes this on
    Ending.BLOCKED: "content_filter",
    Ending.REFUSED: "content_filter",
    Ending.ODD: "solar_flare",
    Ending.MISSING: None,
}
_TOO_LONG = "the prompt is longer than the context length currently available"
_STATUSES = {529: 503}


def _error(refused: RequestError) -> Reply:
    message = _TOO_LONG if refused.code == CONTEXT_EXCEEDED else refused.message
    status = _STATUSES.get(refused.status, refused.status)
    return Reply(status, encoded({"error": message}), headers=refused.headers)


def _read(incoming: Incoming) -> CheckedRequest:
    payload = payload_of(incoming.body)
    options = mapping(payload.get("options"))
    endless = options.get("num_predict") in (-1, -2)
    told = RequestFields(
        model=model_of(payload),
        lines=[_line(message) for message in messages_of(payload, "messages", SPEAKERS)],
        budget=UNLIMITED if endless else budget_of(options, "num_predict"),
        stream=payload.get("stream") is not False,
        tools=names_of(payload.get("tools"), "function", "name"),
        wants_json=bool(payload.get("format")),
    )
    return ask(told, incoming)


def _line(message: Mapping[str, Any]) -> RequestMessage:
    functions = [mapping(call.get("function")) for call in mappings(message.get("tool_calls"))]
    calls = tuple(
        text for function in functions for text in (str(function.get("name")), written(function.get("arguments")))
    )
    return RequestMessage(SPEAKERS[message["role"]], text_of(message.get("content")), calls)


class ChatWire:
    """One answer's rendering. A call is kept back until it is whole, as Ollama's own parser does."""

    stream_type = "application/x-ndjson"

    def __init__(self, asked: CheckedRequest, created: int) -> None:
        self._asked = asked
        self._created = datetime.fromtimestamp(created, UTC).isoformat().replace("+00:00", "Z")
        self._calls: list[Token] = []

    def opening(self) -> bytes:
        return b""

    def token(self, token: Token, /) -> bytes:
        match token:
            case TextPiece(text) | RefusalPiece(text):
                return self._line({"role": "assistant", "content": text})
            case CallOpened() | CallPiece():
                self._calls.append(token)
                return b""
            case _:
                assert_never(token)

    def closing(self, finished: Finished, /) -> bytes:
        calls = gather(self._calls).calls
        shown = [self._line({"role": "assistant", **part}) for part in _parts(calls, finished.reason)]
        return b"".join(shown) + self._line({"role": "assistant", "content": ""}, self._end(finished))

    def whole(self, tokens: Sequence[Token], finished: Finished, /, *, withheld: bool) -> bytes:
        said = gather(tokens)
        message: dict[str, Any] = {"role": "assistant", "content": "" if withheld else said.text + said.refusal}
        for part in _parts(said.calls, finished.reason):
            message["content"] += part["content"]
            message.setdefault("tool_calls", []).extend(part.get("tool_calls", ()))
        return self._line(message, self._end(finished))

    def _line(self, message: dict[str, Any], end: dict[str, Any] | None = None) -> bytes:
        head = {"model": self._asked.model, "created_at": self._created, "message": message}
        return encoded({**head, **(end or {"done": False})}) + b"\n"

    def _end(self, finished: Finished) -> dict[str, Any]:
        word = finished.word(_WORDS)
        said = {"done": True} if word is None else {"done_reason": word, "done": True}
        counts = {"prompt_eval_count": self._asked.prompt_tokens, "eval_count": finished.tokens}
        return {**said, **(counts if finished.counted else {})}


def _parts(calls: Sequence[Call], reason: Ending) -> Iterator[dict[str, Any]]:
    """What comes of the calls: the whole ones; what is no JSON comes out as text; one that was cut is dropped."""
    for call in calls:
        arguments = parsed(call.arguments)
        if arguments is not None:
            yield {"content": "", "tool_calls": [{"function": {"name": call.name, "arguments": arguments}}]}
        elif reason is Ending.MALFORMED:
            yield {"content": f'{{"name": "{call.name}", "parameters": {call.arguments}}}'}


OLLAMA = Dialect("ollama", _WORDS, _read, _error, ChatWire, {Ending.CONTEXT: errors.context_exceeded})
