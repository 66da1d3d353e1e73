"""Answers in the OpenAI API's form: one body, or the chunks of a stream, in its order. Pure.

role → content and calls → finish → usage (where asked for, with `choices: []`) → `[DONE]`. Chunks are pieced together
from what is prepared once per answer: a stream is thousands of them. A body is written out too: JSON's own writer takes
three times as long for what is nearly always the same.
"""

import json
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from agentcore.messages import TokenUsage, ToolCall
from agentcore.providers.wire.tool_calls import encode_call
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.finish_reasons import FILTERED, FUNCTION_CALL, FinishedAnswer

DONE = b"data: [DONE]\n\n"
_REASONING = '"reasoning_content"'  #: the name that most servers give it


def body_of(named: AnswerIdentity, said: FinishedAnswer, usage: TokenUsage | None, reasoning: str = "") -> bytes:
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


def _called(said: FinishedAnswer) -> str:
    if not said.calls:
        return ""
    if said.finish_reason == FUNCTION_CALL:
        return f',"function_call":{_json(encode_call(said.calls[0])["function"])}'
    return f',"tool_calls":{_json([_encoded(call, said) for call in said.calls])}'


def _counts(usage: TokenUsage) -> str:
    """Tokens under their names here; those of reasoning only where the upstream told of them."""
    told = (
        f',"completion_tokens_details":{{"reasoning_tokens":{usage.reasoning_tokens}}}' if usage.tells_reasoning else ""
    )
    return (
        f'{{"prompt_tokens":{usage.input_tokens},"completion_tokens":{usage.output_tokens}'
        f',"total_tokens":{usage.input_tokens + usage.output_tokens}'
        f',"prompt_tokens_details":{{"cached_tokens":{usage.cached_tokens}}}'
        f"{told}}}"
    )


class ChunkStream:
    """The chunks of one stream. The first one that says anything is preceded by the role."""

    def __init__(self, named: AnswerIdentity, *, include_usage: bool) -> None:
        about = f'"id":{quoted(named.id)},"object":"chat.completion.chunk","created":{named.created}'
        self._head = f'data: {{{about},"model":{quoted(named.model)},"choices":['.encode()
        usage = ',"usage":null' if include_usage else ""
        self._open = self._head + b'{"index":0,"delta":'
        self._close = f',"logprobs":null,"finish_reason":null}}]{usage}}}\n\n'.encode()
        self._end = usage.encode()
        self._include_usage = include_usage
        self._text = (f'{self._open.decode()}{{"content":', f"}}{self._close.decode()}")  #: around a text of the answer
        self._spoken = False

    def texts(self, texts: Sequence[str]) -> bytes:
        """More of the answer, each text in a chunk of its own."""
        if not texts:
            return b""
        opened, closed = self._text
        told = f"{opened}{(closed + opened).join(map(quoted, texts))}{closed}"
        return self._role('""') + told.encode()

    def reasoning(self, text: str, signature: str) -> bytes:
        """What the model thinks aloud. This dialect has no place for what signs it."""
        del signature
        if not text:
            return b""
        told = f"{{{_REASONING}:{quoted(text)}}}"
        return self._role('""') + self._open + told.encode() + self._close

    def end(self, ended: EndedTurn) -> bytes:
        """Refusal, calls, the finish, and the usage where it was asked for; the text has been told before."""
        said = ended.said
        role = self._role("null" if said.text is None else '""')
        deltas = b"".join(self._open + delta + self._close for delta in _deltas(said))
        reason = quoted(said.finish_reason).encode()
        finish = self._open + b'{},"logprobs":null,"finish_reason":' + reason + b"}]" + self._end + b"}\n\n"
        return role + deltas + finish + self._usage(ended.usage)

    def _usage(self, usage: TokenUsage | None) -> bytes:
        """The chunk of usage, which has no choice."""
        if usage is None or not self._include_usage:
            return b""
        return self._head + f'],"usage":{_counts(usage)}}}\n\n'.encode()

    def _role(self, content: str) -> bytes:
        if self._spoken:
            return b""
        self._spoken = True
        role = f'{{"role":"assistant","content":{content},"refusal":null}}'.encode()
        return self._open + role + self._close


def _deltas(said: FinishedAnswer) -> Iterator[bytes]:
    if said.refusal is not None:
        yield b'{"refusal":' + quoted(said.refusal).encode() + b"}"
    if said.finish_reason == FUNCTION_CALL:
        yield _json({"function_call": encode_call(said.calls[0])["function"]}).encode()
    else:
        for index, call in enumerate(said.calls):
            yield _json({"tool_calls": [{"index": index, **_encoded(call, said)}]}).encode()


def _encoded(call: ToolCall, said: FinishedAnswer) -> dict[str, Any]:
    return {**encode_call(call), **said.beside.get(call.id, {})}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
