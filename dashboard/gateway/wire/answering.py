"""Answers in the OpenAI API's form: one body, or the chunks of a stream, in its order. Pure.

role → content and calls → finish → usage (where asked for, with `choices: []`) → `[DONE]`. Chunks are pieced together
from what is prepared once per answer: a stream is thousands of them. A body is written out too: JSON's own writer takes
three times as long for what is nearly always the same.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from agentcore.messages import TokenUsage, ToolCall
from agentcore.providers.wire.calls import encode_call
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.reasons import FILTERED, FUNCTION_CALL, Said

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
_REASONING = '"reasoning_content"'  #: the name that most servers give it


@dataclass(frozen=True, slots=True)
class Named:
    """What every part of one answer says of itself. `created`: seconds since 1970."""

    id: str
    created: int
    model: str


def body_of(named: Named, said: Said, usage: TokenUsage | None, reasoning: str = "") -> bytes:
    """A whole answer. Usage that the provider did not count is not made up: it is left out.

    `reasoning`: what the model thought aloud; it is withheld with the answer.
    """
    about = f'"id":{quoted(named.id)},"object":"chat.completion","created":{named.created}'
    message = f'"role":"assistant","content":{_or_null(said.text)},"refusal":{_or_null(said.refusal)}{_called(said)}'
    if reasoning and said.finish_reason != FILTERED:
        message += f",{_REASONING}:{quoted(reasoning)}"
    ended = f'"logprobs":null,"finish_reason":{quoted(said.finish_reason)}'
    choice = f'{{"index":0,"message":{{{message}}},{ended}}}'
    counted = "" if usage is None else f',"usage":{_counts(usage)}'
    return f'{{{about},"model":{quoted(named.model)},"choices":[{choice}]{counted}}}'.encode()


def _or_null(text: str | None) -> str:
    return "null" if text is None else quoted(text)


def _called(said: Said) -> str:
    if not said.calls:
        return ""
    if said.finish_reason == FUNCTION_CALL:
        return f',"function_call":{_json(encode_call(said.calls[0])["function"])}'
    return f',"tool_calls":{_json([_encoded(call, said) for call in said.calls])}'


def _counts(usage: TokenUsage) -> str:
    """Tokens under their names here."""
    return (
        f'{{"prompt_tokens":{usage.input_tokens},"completion_tokens":{usage.output_tokens}'
        f',"total_tokens":{usage.input_tokens + usage.output_tokens}'
        f',"prompt_tokens_details":{{"cached_tokens":{usage.cached_tokens}}}'
        f',"completion_tokens_details":{{"reasoning_tokens":{usage.reasoning_tokens}}}}}'
    )


def total_of(usages: Sequence[TokenUsage | None]) -> TokenUsage | None:
    """What all attempts used together; None where the provider did not count one of them."""
    counted = [usage for usage in usages if usage is not None]
    if not counted or len(counted) < len(usages):
        return None
    if len(counted) == 1:
        return counted[0]
    return TokenUsage(
        sum(usage.input_tokens for usage in counted),
        sum(usage.output_tokens for usage in counted),
        sum(usage.reasoning_tokens for usage in counted),
        sum(usage.cached_tokens for usage in counted),
    )


class Chunks:
    """The chunks of one stream. The first one that says anything is preceded by the role."""

    def __init__(self, named: Named, *, include_usage: bool) -> None:
        about = f'"id":{quoted(named.id)},"object":"chat.completion.chunk","created":{named.created}'
        self._head = f'data: {{{about},"model":{quoted(named.model)},"choices":['.encode()
        usage = ',"usage":null' if include_usage else ""
        self._open = self._head + b'{"index":0,"delta":'
        self._close = f',"logprobs":null,"finish_reason":null}}]{usage}}}\n\n'.encode()
        self._end = usage.encode()
        self._text = (f'{self._open.decode()}{{"content":', f"}}{self._close.decode()}")  #: around a text of the answer
        self._spoken = False

    def texts(self, texts: Sequence[str]) -> bytes:
        """More of the answer, each text in a chunk of its own."""
        if not texts:
            return b""
        opened, closed = self._text
        told = f"{opened}{(closed + opened).join(map(quoted, texts))}{closed}"
        return self._role('""') + told.encode()

    def reasoning(self, text: str) -> bytes:
        """What the model thinks aloud."""
        told = f"{{{_REASONING}:{quoted(text)}}}"
        return self._role('""') + self._open + told.encode() + self._close

    def end(self, said: Said) -> bytes:
        """Refusal, calls and the finish; the text has been told before."""
        role = self._role("null" if said.text is None else '""')
        deltas = b"".join(self._open + delta + self._close for delta in _deltas(said))
        reason = quoted(said.finish_reason).encode()
        finish = self._open + b'{},"logprobs":null,"finish_reason":' + reason + b"}]" + self._end + b"}\n\n"
        return role + deltas + finish

    def usage(self, usage: TokenUsage) -> bytes:
        """The chunk of usage, which has no choice."""
        return self._head + f'],"usage":{_counts(usage)}}}\n\n'.encode()

    def _role(self, content: str) -> bytes:
        if self._spoken:
            return b""
        self._spoken = True
        role = f'{{"role":"assistant","content":{content},"refusal":null}}'.encode()
        return self._open + role + self._close


def _deltas(said: Said) -> Iterator[bytes]:
    if said.refusal is not None:
        yield b'{"refusal":' + quoted(said.refusal).encode() + b"}"
    if said.finish_reason == FUNCTION_CALL:
        yield _json({"function_call": encode_call(said.calls[0])["function"]}).encode()
    else:
        for index, call in enumerate(said.calls):
            yield _json({"tool_calls": [{"index": index, **_encoded(call, said)}]}).encode()


def _encoded(call: ToolCall, said: Said) -> dict[str, Any]:
    return {**encode_call(call), **said.beside.get(call.id, {})}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def fault_event(fault: Fault) -> bytes:
    """An error in the middle of a stream; nothing follows it."""
    return b"data: " + fault.body() + b"\n\n"


def comment(words: str) -> bytes:
    """A line that clients skip."""
    return f": whystop {words}\n\n".encode("ascii", "replace")
