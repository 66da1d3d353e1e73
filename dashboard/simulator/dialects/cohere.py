"""Cohere's chat, version 2: events from message-start to message-end, or one body."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from dashboard.simulator import errors
from dashboard.simulator.dialects import openai
from dashboard.simulator.dialects.base import EVENTS, Dialect, encoded, gather, named_event
from dashboard.simulator.errors import CONTEXT_EXCEEDED, Reply, RequestError
from dashboard.simulator.request_values import CheckedRequest
from dashboard.simulator.script_player import CallOpened, CallPiece, Ending, Finished, RefusalPiece, TextPiece, Token

_WORDS: Mapping[Ending, str | None] = {
    Ending.END: "COMPLETE",
    Ending.LENGTH: "MAX_TOKENS",
    Ending.CALLS: "TOOL_CALL",
    Ending.MALFORMED: "TOOL_CALL",
    Ending.FILTERED: "ERROR_TOXIC",  # a word of version 1; version 2 has none for this
    Ending.BLOCKED: "ERROR_TOXIC",
    Ending.REFUSED: "ERROR_TOXIC",
    Ending.ODD: "SOLAR_FLARE",
    Ending.MISSING: None,
}
_TOO_MANY = "too many tokens: size limit exceeded by 1 tokens. Try using shorter or fewer inputs."
_STATUSES = {529: 503}


def _error(refused: RequestError) -> Reply:
    status = _STATUSES.get(refused.status, refused.status)
    body = {"id": "simulator", "message": refused.message}
    if refused.code == CONTEXT_EXCEEDED:
        body |= {"message": _TOO_MANY, "error_type": "TOO_MANY_TOKENS"}
    return Reply(status, encoded(body), headers=refused.headers)


class ChatWire:
    """One answer's rendering. It knows what is open: the text, or the call of an index."""

    stream_type = EVENTS

    def __init__(self, asked: CheckedRequest, _created: int) -> None:
        self._asked = asked
        self._open: str | None = None
        self._index = 0

    def opening(self) -> bytes:
        message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        return self._event("message-start", {"message": message}, id=self._id())

    def token(self, token: Token, /) -> bytes:
        match token:
            case TextPiece(text) | RefusalPiece(text):
                opened = b"" if self._open else self._begin("content", 0, {"content": {"type": "text", "text": ""}})
                return opened + self._event("content-delta", {"message": {"content": {"text": text}}}, index=0)
            case CallOpened(index, name):
                return self._begin("tool-call", index, {"tool_calls": self._call(index, name, "")})
            case CallPiece(index, text):
                piece = {"message": {"tool_calls": {"function": {"arguments": text}}}}
                return self._event("tool-call-delta", piece, index=index)
            case _:
                assert_never(token)

    def closing(self, finished: Finished, /) -> bytes:
        return self._stop() + self._event("message-end", self._end(finished))

    def whole(self, tokens: Sequence[Token], finished: Finished, /, *, withheld: bool) -> bytes:
        said = gather(tokens)
        message: dict[str, Any] = {"role": "assistant"}
        text = said.text + said.refusal
        if text and not withheld:
            message["content"] = [{"type": "text", "text": text}]
        if said.calls:
            message["tool_calls"] = [self._call(i, call.name, call.arguments) for i, call in enumerate(said.calls)]
        end = self._end(finished)
        return encoded({"finish_reason": end["finish_reason"], "id": self._id(), "message": message, **end})

    def _begin(self, kind: str, index: int, message: dict[str, Any]) -> bytes:
        stop = self._stop()
        self._open, self._index = kind, index
        return stop + self._event(f"{kind}-start", {"message": message}, index=index)

    def _stop(self) -> bytes:
        if self._open is None:
            return b""
        kind, self._open = self._open, None
        return named_event({"type": f"{kind}-end", "index": self._index})

    def _call(self, index: int, name: str, arguments: str) -> dict[str, Any]:
        call_id = f"{name}_{self._asked.digest[:12]}{index:04d}"
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}

    @staticmethod
    def _event(kind: str, delta: dict[str, Any], **more: Any) -> bytes:
        return named_event({"type": kind, **more, "delta": delta})

    def _end(self, finished: Finished) -> dict[str, Any]:
        counts = {"input_tokens": self._asked.prompt_tokens, "output_tokens": finished.tokens}
        return {"finish_reason": finished.word(_WORDS), "usage": {"billed_units": counts, "tokens": counts}}

    def _id(self) -> str:
        return self._asked.digest[:32]


# Its requests are OpenAI's, as far as a simulated model looks.
COHERE = Dialect("cohere", _WORDS, openai.read, _error, ChatWire, {Ending.CONTEXT: errors.context_exceeded})
