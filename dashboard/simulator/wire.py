"""The OpenAI chat-completions wire format: pieces as server-sent events or as one body, and error objects."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from dashboard.simulator.asked import Asked
from dashboard.simulator.errors import Reply, RequestError
from dashboard.simulator.speaking import CallOpened, CallPiece, Finished, Said, Token

DONE = b"data: [DONE]\n\n"
_BORN = 1_760_000_000  #: seconds since 1970, when the models were "created"


def error_reply(refused: RequestError) -> Reply:
    error = {"message": refused.message, "type": refused.kind, "param": refused.param, "code": refused.code}
    return Reply(refused.status, _encoded({"error": error}), headers=refused.headers)


def models_reply(names: Iterable[str]) -> Reply:
    data = [{"id": name, "object": "model", "created": _BORN, "owned_by": "simulator"} for name in names]
    return Reply(200, _encoded({"object": "list", "data": data}))


@dataclass(frozen=True, slots=True)
class Wire:
    """One answer's rendering; `created` is in seconds since 1970."""

    asked: Asked
    created: int

    def opening(self) -> bytes:
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def token(self, token: Token) -> bytes:
        match token:
            case Said(text):
                return self._chunk({"content": text})
            case CallOpened(index, name):
                call = {"index": index, **self._call(index, name, "")}
                return self._chunk({"tool_calls": [call]})
            case CallPiece(index, text):
                return self._chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
            case _:
                assert_never(token)

    def closing(self, finished: Finished) -> bytes:
        """The chunk with the finish reason, the usage if it was asked for, and the end mark."""
        last = self._chunk({}, finished.reason)
        if not self.asked.include_usage:
            return last + DONE
        usage = {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(finished.tokens)}
        return last + _event(usage) + DONE

    def whole(self, tokens: Sequence[Token], finished: Finished, *, withheld: bool) -> bytes:
        """The answer as one body; `withheld` leaves its text out."""
        text = "".join(token.text for token in tokens if isinstance(token, Said))
        calls = self._whole_calls(tokens)
        content = None if withheld or (calls and not text) else text
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finished.reason}
        return _encoded({**self._head("chat.completion"), "choices": [choice], "usage": self._usage(finished.tokens)})

    def _whole_calls(self, tokens: Sequence[Token]) -> list[dict[str, Any]]:
        opened = [token for token in tokens if isinstance(token, CallOpened)]
        pieces = [token for token in tokens if isinstance(token, CallPiece)]
        arguments = {
            call.index: "".join(piece.text for piece in pieces if piece.index == call.index) for call in opened
        }
        return [self._call(call.index, call.name, arguments[call.index]) for call in opened]

    def _call(self, index: int, name: str, arguments: str) -> dict[str, Any]:
        call_id = f"call_{self.asked.digest[:20]}{index:04d}"
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return _event({**chunk, "usage": None} if self.asked.include_usage else chunk)

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.asked.digest[:24]}",
            "object": kind,
            "created": self.created,
            "model": self.asked.model,
            "system_fingerprint": "fp_simulator",
        }

    def _usage(self, tokens: int) -> dict[str, Any]:
        return {
            "prompt_tokens": self.asked.prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": self.asked.prompt_tokens + tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + _encoded(value) + b"\n\n"


def _encoded(value: object) -> bytes:
    # A prompt may hold half a surrogate pair, which JSON allows and UTF-8 does not.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
