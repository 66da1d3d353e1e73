"""OpenAI's responses: events about the items of the output, or one response."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from dashboard.simulator.dialects.base import EVENTS, Dialect, encoded, named_event
from dashboard.simulator.dialects.openai import REFUSALS, SPEAKERS, error_reply
from dashboard.simulator.dialects.request_reader import (
    budget_of,
    mapping,
    messages_of,
    model_of,
    names_of,
    payload_of,
    text_of,
    written,
)
from dashboard.simulator.request_values import CheckedRequest, Incoming, RequestFields, RequestMessage, Speaker, ask
from dashboard.simulator.script_player import (
    CUTS,
    CallOpened,
    CallPiece,
    Ending,
    Finished,
    RefusalPiece,
    TextPiece,
    Token,
)

_LEAST = 16  #: tokens; a smaller cap is refused
_COMPLETED = "completed"
# The status, or why it is incomplete. An answer without a reason is incomplete, and that is all it says.
_WORDS: Mapping[Ending, str | None] = {
    Ending.END: _COMPLETED,
    Ending.CALLS: _COMPLETED,
    Ending.MALFORMED: _COMPLETED,
    Ending.REFUSED: _COMPLETED,  # the refusal is a part of its own
    Ending.LENGTH: "max_output_tokens",
    Ending.FILTERED: "content_filter",
    Ending.ODD: "solar_flare",
    Ending.MISSING: None,
}
_TYPES = {
    "function_call": Speaker.ASSISTANT,
    "custom_tool_call": Speaker.ASSISTANT,
    "reasoning": Speaker.ASSISTANT,
    "item_reference": Speaker.ASSISTANT,  # the simulator stores no answers: it says nothing here
    "function_call_output": Speaker.TOOL,
    "custom_tool_call_output": Speaker.TOOL,
}
Item = dict[str, Any]


def _read(incoming: Incoming) -> CheckedRequest:
    payload = payload_of(incoming.body)
    instructions = payload.get("instructions")
    guides = [RequestMessage(Speaker.GUIDE, instructions)] if isinstance(instructions, str) else []
    told = RequestFields(
        model=model_of(payload),
        lines=[*guides, *_lines(payload.get("input"))],
        budget=budget_of(payload, "max_output_tokens", least=_LEAST),
        stream=payload.get("stream") is True,
        tools=() if payload.get("tool_choice") == "none" else names_of(payload.get("tools"), "name"),
        wants_json=mapping(mapping(payload.get("text")).get("format")).get("type") in ("json_schema", "json_object"),
        parallel=payload.get("parallel_tool_calls") is not False,
    )
    return ask(told, incoming)


def _lines(value: object) -> list[RequestMessage]:
    """The items of the input; calls and results are items of their own, without a role."""
    if isinstance(value, str):
        return [RequestMessage(Speaker.USER, value)]
    items = [_with_role(item) for item in value] if isinstance(value, list) else value
    return [_line(item) for item in messages_of({"input": items}, "input", SPEAKERS)]


def _with_role(item: object) -> object:
    speaker = _TYPES.get(str(item.get("type"))) if isinstance(item, dict) else None
    return {**item, "role": speaker.value} if isinstance(item, dict) and speaker else item


def _line(item: Mapping[str, Any]) -> RequestMessage:
    if item.get("type") in ("function_call", "custom_tool_call"):
        arguments = written(item.get("arguments", item.get("input", "")))
        return RequestMessage(Speaker.ASSISTANT, "", (str(item.get("name")), arguments))
    return RequestMessage(SPEAKERS[item["role"]], text_of(item.get("output", item.get("content"))))


class ResponsesWire:
    """One answer's rendering. It keeps the items, which its last event repeats."""

    stream_type = EVENTS

    def __init__(self, asked: CheckedRequest, created: int) -> None:
        self._asked = asked
        self._created = created
        self._items: list[Item] = []
        self._texts: list[str] = []  # of the item that is open
        self._kind = "output_text"  # of its part
        self._number = 0

    def opening(self) -> bytes:
        response = self._response("in_progress", {})
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def token(self, token: Token, /) -> bytes:
        match token:
            case TextPiece(text):
                opened = b"" if self._items else self._begin_message("output_text")
                self._texts.append(text)
                return opened + self._about("response.output_text.delta", content_index=0, delta=text, logprobs=[])
            case RefusalPiece(text):
                opened = b"" if self._items else self._begin_message("refusal")
                self._texts.append(text)
                return opened + self._about("response.refusal.delta", content_index=0, delta=text)
            case CallOpened(index, name):
                return self._end_item(_COMPLETED) + self._begin(self._call(index, name))
            case CallPiece(_, text):
                self._texts.append(text)
                return self._about("response.function_call_arguments.delta", delta=text)
            case _:
                assert_never(token)

    def closing(self, finished: Finished, /) -> bytes:
        status, end = _end(finished)
        # An answer that says nothing is an empty message; a response without any item would be no answer.
        empty = b"" if self._items or status != _COMPLETED else self._begin_message("output_text")
        last = empty + self._end_item("incomplete" if finished.reason in CUTS else _COMPLETED)
        return last + self._event(f"response.{status}", response=self._response(status, end, finished.tokens))

    def whole(self, tokens: Sequence[Token], finished: Finished, /, *, withheld: bool) -> bytes:
        for token in tokens:
            self.token(token)
        self.closing(finished)
        if withheld:
            self._items = [item for item in self._items if item["type"] != "message"]
        status, end = _end(finished)
        return encoded(self._response(status, end, finished.tokens))

    def _begin_message(self, kind: str) -> bytes:
        self._kind = kind
        head = {"id": f"msg_{self._asked.digest[:32]}", "type": "message", "role": "assistant"}
        part = self._part("")
        return self._begin({**head, "status": "in_progress", "content": []}) + self._about(
            "response.content_part.added", content_index=0, part=part
        )

    def _begin(self, item: Item) -> bytes:
        self._items.append(item)
        self._texts.clear()
        return self._event("response.output_item.added", output_index=len(self._items) - 1, item=item)

    def _end_item(self, status: str) -> bytes:
        """Closes the open item, if there is one."""
        if not self._items:
            return b""
        text = "".join(self._texts)
        item = self._items[-1]
        if item["type"] == "message":
            said_by = {"refusal": text} if self._kind == "refusal" else {"text": text, "logprobs": []}
            done = self._about(f"response.{self._kind}.done", content_index=0, **said_by)
            done += self._about("response.content_part.done", content_index=0, part=self._part(text))
            said: Item = {"content": [self._part(text)]}
        else:
            done = self._about("response.function_call_arguments.done", arguments=text)
            said = {"arguments": text}
        self._items[-1] = {**item, **said, "status": status}
        return done + self._event("response.output_item.done", output_index=len(self._items) - 1, item=self._items[-1])

    def _part(self, text: str) -> Item:
        if self._kind == "refusal":
            return {"type": "refusal", "refusal": text}
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def _call(self, index: int, name: str) -> Item:
        names = {
            "id": f"fc_{self._asked.digest[:28]}{index:04d}",
            "call_id": f"call_{self._asked.digest[:20]}{index:04d}",
        }
        return {**names, "type": "function_call", "status": "in_progress", "name": name, "arguments": ""}

    def _about(self, kind: str, **fields: Any) -> bytes:
        """An event about the open item."""
        return self._event(kind, item_id=self._items[-1]["id"], output_index=len(self._items) - 1, **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return named_event({"type": kind, "sequence_number": self._number - 1, **fields})

    def _response(self, status: str, end: Mapping[str, Any], tokens: int | None = None) -> Item:
        taken = self._asked.prompt_tokens
        usage = (
            None
            if tokens is None
            else {
                "input_tokens": taken,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": taken + tokens,
            }
        )
        return {
            "id": f"resp_{self._asked.digest[:32]}",
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "model": self._asked.model,
            "output": [] if tokens is None else self._items,
            "max_output_tokens": self._asked.budget,
            **end,
            "usage": usage,
        }


def _end(finished: Finished) -> tuple[str, dict[str, Any]]:
    """The status, and what stands beside it."""
    word = finished.word(_WORDS)
    if word == _COMPLETED:
        return _COMPLETED, {}
    return "incomplete", {"incomplete_details": None if word is None else {"reason": word}}


OPENAI_RESPONSES = Dialect("openai_responses", _WORDS, _read, error_reply, ResponsesWire, REFUSALS)
