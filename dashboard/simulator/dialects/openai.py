"""OpenAI's chat completions: chunks as server-sent events, or one body."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from dashboard.simulator import errors
from dashboard.simulator.dialects.base import EVENTS, Dialect, data_event, encoded, gather
from dashboard.simulator.dialects.request_reader import (
    budget_of,
    mapping,
    mappings,
    messages_of,
    model_of,
    names_of,
    payload_of,
    text_of,
)
from dashboard.simulator.errors import Reply, RequestError
from dashboard.simulator.request_values import CheckedRequest, Incoming, RequestFields, RequestMessage, Speaker, ask
from dashboard.simulator.script_player import CallOpened, CallPiece, Ending, Finished, RefusalPiece, TextPiece, Token

DONE = b"data: [DONE]\n\n"
SPEAKERS: Mapping[str, Speaker] = {
    "system": Speaker.GUIDE,
    "developer": Speaker.GUIDE,
    "user": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
}
WORDS: Mapping[Ending, str | None] = {
    Ending.END: "stop",
    Ending.LENGTH: "length",
    Ending.CALLS: "tool_calls",
    Ending.MALFORMED: "tool_calls",
    Ending.FILTERED: "content_filter",
    Ending.REFUSED: "stop",  # the refusal hides behind it
    Ending.NATIVE: "tool_calls",
    Ending.ODD: "solar_flare",
    Ending.MISSING: None,
}
#: What this API can only say by not answering.
REFUSALS = {Ending.CONTEXT: errors.context_exceeded, Ending.BLOCKED: errors.prompt_blocked}
_BORN = 1_760_000_000  #: seconds since 1970, when the models were "created"
_STATUSES = {529: 503}
_LEGACY = "function_call"  #: what a call is called, and its finish reason, where tools came as `functions`
#: What a gateway such as OpenRouter passes on beside its own word.
_NATIVE = {Ending.NATIVE: {"native_finish_reason": "max_output_tokens"}}


def error_reply(refused: RequestError) -> Reply:
    error = {"message": refused.message, "type": refused.kind, "param": refused.param, "code": refused.code}
    status = _STATUSES.get(refused.status, refused.status)
    return Reply(status, encoded({"error": error}), headers=refused.headers)


def models_reply(names: Iterable[str]) -> Reply:
    data = [{"id": name, "object": "model", "created": _BORN, "owned_by": "simulator"} for name in names]
    return Reply(200, encoded({"object": "list", "data": data}))


def read(incoming: Incoming) -> CheckedRequest:
    return ask(told(payload_of(incoming.body)), incoming)


def told(payload: Mapping[str, Any]) -> RequestFields:
    """What a body of this API tells; also where the text is a protocol of its own."""
    legacy = "functions" in payload and "tools" not in payload
    choice = payload.get(_LEGACY if legacy else "tool_choice")
    tools = names_of(payload.get("functions"), "name") if legacy else names_of(payload.get("tools"), "function", "name")
    return RequestFields(
        model=model_of(payload),
        lines=[_line(message) for message in messages_of(payload, "messages", SPEAKERS)],
        budget=budget_of(payload, "max_completion_tokens", "max_tokens"),
        stream=payload.get("stream") is True,
        include_usage=mapping(payload.get("stream_options")).get("include_usage") is True,
        tools=() if choice == "none" else tools,
        wants_json=mapping(payload.get("response_format")).get("type") in ("json_schema", "json_object"),
        parallel=payload.get("parallel_tool_calls") is not False and not legacy,
        legacy=legacy,
    )


def _line(message: Mapping[str, Any]) -> RequestMessage:
    functions = [mapping(call.get("function")) for call in mappings(message.get("tool_calls"))]
    functions += mappings([message.get(_LEGACY)])
    calls = tuple(str(function.get(key, "")) for function in functions for key in ("name", "arguments"))
    return RequestMessage(SPEAKERS[message["role"]], text_of(message.get("content")), calls)


@dataclass(frozen=True, slots=True)
class ChatWire:
    """One answer's rendering; `created` is in seconds since 1970."""

    asked: CheckedRequest
    created: int
    stream_type: str = EVENTS

    def opening(self) -> bytes:
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def token(self, token: Token, /) -> bytes:
        match token:
            case TextPiece(text):
                return self._chunk({"content": text})
            case RefusalPiece(text):
                return self._chunk({"refusal": text})
            case CallOpened(index, name):
                return self._chunk(self._called({"name": name, "arguments": ""}, index, name))
            case CallPiece(index, text):
                return self._chunk(self._called({"arguments": text}, index))
            case _:
                assert_never(token)

    def closing(self, finished: Finished, /) -> bytes:
        """The chunk with the finish reason, the usage if it was asked for, and the end mark."""
        last = self._chunk({}, finished)
        if not (self.asked.include_usage and finished.counted):
            return last + DONE
        usage = {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(finished)}
        return last + data_event(usage) + DONE

    def whole(self, tokens: Sequence[Token], finished: Finished, /, *, withheld: bool) -> bytes:
        said = gather(tokens)
        content = None if withheld or ((said.calls or said.refusal) and not said.text) else said.text
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": said.refusal or None}
        if said.calls and self.asked.legacy:
            message[_LEGACY] = {"name": said.calls[0].name, "arguments": said.calls[0].arguments}
        elif said.calls:
            message["tool_calls"] = [self._call(i, call.name, call.arguments) for i, call in enumerate(said.calls)]
        choice = {"index": 0, "message": message, "logprobs": None, **self._end(finished)}
        usage = {"usage": self._usage(finished)} if finished.counted else {}
        return encoded({**self._head("chat.completion"), "choices": [choice], **usage})

    def _called(self, function: dict[str, Any], index: int, name: str = "") -> dict[str, Any]:
        """A delta of a call, which its `name` opens."""
        if self.asked.legacy:
            return {_LEGACY: function}
        call = self._call(index, name, "") if name else {"function": function}
        return {"tool_calls": [{"index": index, **call}]}

    def _call(self, index: int, name: str, arguments: str) -> dict[str, Any]:
        call_id = f"call_{self.asked.digest[:20]}{index:04d}"
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}

    def _chunk(self, delta: dict[str, Any], finished: Finished | None = None) -> bytes:
        end = self._end(finished) if finished else {"finish_reason": None}
        choice = {"index": 0, "delta": delta, "logprobs": None, **end}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return data_event({**chunk, "usage": None} if self.asked.include_usage else chunk)

    def _end(self, finished: Finished) -> dict[str, Any]:
        word = finished.word({**WORDS, Ending.CALLS: _LEGACY} if self.asked.legacy else WORDS)
        return {"finish_reason": word, **_NATIVE.get(finished.reason, {})}

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.asked.digest[:24]}",
            "object": kind,
            "created": self.created,
            "model": self.asked.model,
            "system_fingerprint": "fp_simulator",
        }

    def _usage(self, finished: Finished) -> dict[str, Any]:
        return {
            "prompt_tokens": self.asked.prompt_tokens,
            "completion_tokens": finished.tokens,
            "total_tokens": self.asked.prompt_tokens + finished.tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": finished.thought},
        }


OPENAI = Dialect("openai", WORDS, read, error_reply, ChatWire, REFUSALS)
