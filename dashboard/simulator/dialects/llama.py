"""The JSON protocol over OpenAI's wire: the text of an answer is `{"response": …}` or `{"tool_call": …}`.

For servers (llama.cpp) whose models have no tool calls of their own. The system prompt tells the model of its tools.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from dashboard.simulator.dialects import openai
from dashboard.simulator.dialects.base import EVENTS, Dialect, encoded
from dashboard.simulator.dialects.request_reader import mapping, mappings, payload_of, written
from dashboard.simulator.errors import CONTEXT_EXCEEDED, WINDOW, Reply, RequestError
from dashboard.simulator.request_values import CheckedRequest, Incoming, RequestMessage, Speaker, ask
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

_PROTOCOL = re.compile(r"Answer with exactly one JSON object.*", re.DOTALL)
#: OpenAI's, but for what only a gateway says.
_WORDS: Mapping[Ending, str | None] = {
    ending: word for ending, word in openai.WORDS.items() if ending is not Ending.NATIVE
}
_TOOL = re.compile(r"^- ([\w.-]+): ", re.MULTILINE)


def _error(refused: RequestError) -> Reply:
    """OpenAI's, but for a full context: that is llama.cpp's own."""
    if refused.code != CONTEXT_EXCEEDED:
        return openai.error_reply(refused)
    wording = f"request exceeds the available context size ({WINDOW} tokens), try increasing it"
    error = {"code": 400, "type": "exceed_context_size_error", "message": wording, "n_ctx": WINDOW}
    return Reply(400, encoded({"error": error}))


def _read(incoming: Incoming) -> CheckedRequest:
    """The request; what the system prompt says of the protocol is read here, and kept from the model."""
    told = openai.told(payload_of(incoming.body))
    rules = "".join(
        match[0] for line in told.lines if line.speaker is Speaker.GUIDE for match in _PROTOCOL.finditer(line.text)
    )
    told = replace(
        told,
        lines=[_line(line) for line in told.lines],
        tools=tuple(_TOOL.findall(rules)),
        parallel=False,
    )
    return ask(told, incoming)


def _line(line: RequestMessage) -> RequestMessage:
    """A message as it is meant: its text without the protocol around it."""
    if line.speaker is Speaker.GUIDE:
        return replace(line, text=_PROTOCOL.sub("", line.text))
    try:
        said = json.loads(line.text)
    except ValueError:
        return line
    if not isinstance(said, dict):
        return line
    if line.speaker is Speaker.USER:
        result = said.get("tool_result")
        return line if result is None else RequestMessage(Speaker.TOOL, written(mapping(result).get("result")))
    return RequestMessage(line.speaker, written(said["response"]) if "response" in said else "", _calls(said))


def _calls(said: Mapping[str, Any]) -> tuple[str, ...]:
    calls = said.get("tool_call")
    entries = mappings(calls if isinstance(calls, list) else [calls])
    return tuple(text for call in entries for text in (str(call.get("name")), written(call.get("arguments"))))


class ProtocolWire:
    """One answer's rendering: the protocol's own characters around the model's, all of them as text."""

    stream_type = EVENTS

    def __init__(self, asked: CheckedRequest, created: int) -> None:
        self._chat = openai.ChatWire(asked, created)
        self._written = ""  # the protocol's characters that close what is open

    def opening(self) -> bytes:
        return self._chat.opening()

    def token(self, token: Token, /) -> bytes:
        refused = isinstance(token, RefusalPiece)  # in the server's own field, outside the protocol
        return self._chat.token(token if refused else TextPiece(self._protocol(token)))

    def closing(self, finished: Finished, /) -> bytes:
        end = self._end(finished)
        return (self._chat.token(TextPiece(end)) if end else b"") + self._chat.closing(finished)

    def whole(self, tokens: Sequence[Token], finished: Finished, /, *, withheld: bool) -> bytes:
        text = "".join(map(self._protocol, tokens)) + self._end(finished)
        refusal = [token for token in tokens if isinstance(token, RefusalPiece)]
        return self._chat.whole([TextPiece(text), *refusal], finished, withheld=withheld)

    def _protocol(self, token: Token) -> str:
        match token:
            case TextPiece(text):
                begins = "" if self._written else '{"response": "'
                self._written = '"}'
                return begins + json.dumps(text, ensure_ascii=False)[1:-1]
            case CallOpened(_, name):
                begins = '", ' if self._written else "{"
                self._written = "}}"
                return f'{begins}"tool_call": {{"name": {json.dumps(name)}, "arguments": '
            case CallPiece(_, text):
                return text
            case RefusalPiece():
                return ""
            case _:
                assert_never(token)

    def _end(self, finished: Finished) -> str:
        if finished.reason in CUTS or finished.reason is Ending.REFUSED:
            return ""
        return self._written or '{"response": ""}'


LLAMA = Dialect("llama", _WORDS, _read, _error, ProtocolWire, openai.REFUSALS)
