"""The JSON protocol (spec: agent-loop-stop-reason): an answer is one JSON object that names a tool or holds a response.

{"tool_call": {"name": …, "arguments": {…}}}    the model calls a tool (`input` is taken for `arguments` too)
{"response": "…"}                               the model answers

Also holds the text of a protocol answer while it still comes: the string under `response`, character by character.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jiter

from agentcore.messages import CallIssue, ToolCall
from agentcore.providers.wire.tool_calls import read_arguments, write_json
from agentcore.providers.wire.untrusted_json import mapping, string

_HEAD = ("{", '"response"', ":", '"')
_RUN = re.compile(r'[^"\\]+')
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([^u]))")
_UNFINISHED = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_REPLACEMENT = "\ufffd"


class ResponseText:
    """Takes the answer's text in pieces and returns what of it is for the user, in linear time.

    Text that does not begin as an object is for the user as it is; an object that does not begin with a `response`
    string shows nothing.
    """

    def __init__(self) -> None:
        self.plain = False  #: the answer is no object
        self.in_string = False  #: the `response` string has begun
        self.ended = False  #: it has ended, too
        self._hidden = False
        self._token = self._at = 0  # where in _HEAD the text has come to
        self._begun: list[str] = []  # what was read before it was known what it is
        self._pending = ""  # an escape that has not ended
        self._high = 0  # the first half of a surrogate pair

    def feed(self, text: str) -> str:
        """What these characters add to the shown text."""
        if self.plain:
            return text
        if self._hidden or self.ended:
            return ""
        return self._read_string(text) if self.in_string else self._read_head(text)

    def _read_head(self, text: str) -> str:
        for position, char in enumerate(text):
            token = _HEAD[self._token]
            if char != token[self._at]:
                if self._at == 0 and char.isspace():
                    self._begun.append(char)
                    continue
                return self._give_up(text[position:])
            self._at += 1
            self._begun.append(char)
            if self._at == len(token):
                self._token, self._at = self._token + 1, 0
            if self._token == len(_HEAD):
                self.in_string = True
                return self._read_string(text[position + 1 :])
        return ""

    def _give_up(self, rest: str) -> str:
        if self._token or rest.startswith("`"):  # a fence may hold the object
            self._hidden = True
            return ""
        self.plain = True
        return "".join((*self._begun, rest))

    def _read_string(self, text: str) -> str:
        text, at, out = self._pending + text, 0, []
        self._pending = ""
        while at < len(text) and not self.ended:
            if run := _RUN.match(text, at):
                out.append(self._flushed() + run[0])
                at = run.end()
            elif text[at] == '"':
                out.append(self._flushed())
                self.ended = True
            elif escape := _ESCAPE.match(text, at):
                out.append(self._unescaped(escape))
                at = escape.end()
            elif _UNFINISHED.fullmatch(text, at):
                self._pending, at = text[at:], len(text)
            else:  # an escape that JSON does not have is kept as it stands
                out.append(self._flushed() + text[at])
                at += 1
        return "".join(out)

    def _flushed(self) -> str:
        lone, self._high = self._high, 0
        return _REPLACEMENT if lone else ""

    def _unescaped(self, escape: re.Match[str]) -> str:
        if escape[2]:
            return self._flushed() + _SHORT.get(escape[2], escape[2])
        unit = int(escape[1], 16)
        if self._high and 0xDC00 <= unit < 0xE000:
            high, self._high = self._high, 0
            return chr(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00))
        lone = self._flushed()
        if 0xD800 <= unit < 0xDC00:
            self._high = unit
            return lone
        return lone + (_REPLACEMENT if 0xDC00 <= unit < 0xE000 else chr(unit))


_FENCE = re.compile(r"\s*```\w*\s*(?=\{)")
_KEY = re.compile(r'\{\s*"(tool_call|response)"\s*:\s*')
_KEY_NAMES = ('"tool_call"', '"response"')
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]*)"')
_ARGUMENTS = re.compile(r'"(?:arguments|input)"\s*:\s*')


class Reading(NamedTuple):
    """What an answer's text says. `unfinished`: it is an object that ends too early."""

    text: str
    calls: list[ToolCall]
    unfinished: bool = False


def read(text: str, *, cut: bool) -> Reading:
    """The answer, read strictly where it calls a tool and as far as it goes where it answers.

    `cut` says that something else shows the answer to be cut; only then is an unfinished call called truncated.
    """
    body = _unfenced(text)
    if not body.startswith("{"):
        return Reading(text, [])
    try:
        value = jiter.from_json(
            body.rstrip().encode("utf-8", "surrogatepass"), catch_duplicate_keys=True, allow_inf_nan=False
        )
    except ValueError as error:
        return _unreadable(text, body, cut=cut, too_early=str(error).startswith("EOF while parsing"))
    said, asked = value.get("response"), value.get("tool_call")
    if not asked and said is None:
        known = "response" in value or "tool_call" in value
        return Reading("" if known else text, [])
    entries = asked if isinstance(asked, list) else [asked] if asked else []
    calls = [_call(mapping(entry), position) for position, entry in enumerate(entries)]
    return Reading(_as_text(said), calls)


def _unfenced(text: str) -> str:
    """The object inside a code fence that is all there is of the answer."""
    fence = _FENCE.match(text)
    if fence is None:
        return text.lstrip()
    inside = text[fence.end() :]
    return inside.rstrip().removesuffix("```") if inside.rstrip().endswith("```") else inside


def _as_text(value: object) -> str:
    if value is None or isinstance(value, str):
        return string(value)
    return write_json(value)


def _call(entry: Mapping[str, Any], position: int) -> ToolCall:
    name, given = string(entry.get("name")), entry.get("arguments", entry.get("input"))
    raw = write_json(given) if isinstance(given, dict) else string(given)
    arguments, issue = read_arguments(raw, cut=False)
    if not name or not (given is None or isinstance(given, dict | str)):
        arguments, issue = {}, CallIssue.MALFORMED
    return ToolCall(f"call_{position}", name, arguments, raw, issue)


def _unreadable(text: str, body: str, *, cut: bool, too_early: bool) -> Reading:
    """An object that cannot be read to its end: a call is broken, a response is taken as far as it goes."""
    key = _KEY.match(body)
    partial = _partial(body) if too_early else {}
    if (key is not None and key[1] == "tool_call") or "tool_call" in partial:
        return Reading(_as_text(partial.get("response")), [_broken(body, cut=cut and too_early)], too_early)
    if key is not None:
        value = body[key.end() :]
        return Reading(_recovered(body) if value.startswith('"') else value, [], too_early)
    begun = body[1:].strip()
    if too_early and cut and any(name.startswith(begun) for name in _KEY_NAMES):
        calls = [_broken(body, cut=True)] if begun.startswith('"t') else []
        return Reading("", calls, unfinished=True)
    return Reading(text, [])


def _partial(body: str) -> Mapping[str, Any]:
    try:
        return mapping(jiter.from_json(body.encode("utf-8", "surrogatepass"), partial_mode="trailing-strings"))
    except ValueError:
        return {}


def _recovered(body: str) -> str:
    return ResponseText().feed(body)


def _broken(body: str, *, cut: bool) -> ToolCall:
    name, arguments = _NAME.search(body), _ARGUMENTS.search(body)
    raw = body[arguments.end() :] if arguments else ""
    issue = CallIssue.TRUNCATED if cut else CallIssue.MALFORMED
    return ToolCall("call_0", name[1] if name else "", raw=raw, issue=issue, shown_whole=False)


def instruction(tools: Sequence[Any]) -> str:
    """What the model is told of the protocol and its tools, after the system prompt."""
    lines = [
        "Answer with exactly one JSON object and nothing else.",
        'To give your answer: {"response": "<your answer>"}',
    ]
    if tools:
        lines += [
            'To call a tool: {"tool_call": {"name": "<name of the tool>", "arguments": {<its arguments>}}}',
            "Call one tool at a time; its result is then given to you as a tool_result.",
            "",
            "Tools:",
        ]
    for tool in tools:
        lines += [f"- {tool.name}: {tool.description}", f"  JSON Schema of its arguments: {write_json(tool.schema)}"]
    return "\n".join(lines)
