"""The tool calls of one answer: gathered whole or from their pieces, then read strictly.

Also holds the argument text of a tool call, read strictly: one complete JSON object or a named issue, never a guess.

A parser that repairs or completes would hand a half-written call to a tool; this one says what is wrong instead.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jiter

from agentcore.messages import CallIssue, ToolCall
from agentcore.providers.wire.untrusted_json import count, mapping, string


def read_arguments(text: str, *, cut: bool) -> tuple[dict[str, Any], CallIssue | None]:
    """The arguments, and what is wrong with them (then the arguments are empty).

    `cut` says that something else shows the answer to be cut: its stop reason, its tokens at the cap, or a stream that
    broke off. Only then is text that ends too early called truncated; by itself it is malformed. Empty, blank or `null`
    text is a call without arguments, unless the answer was cut.
    """
    if text.strip() in ("", "null"):
        return {}, CallIssue.TRUNCATED if cut else None
    try:
        value = jiter.from_json(text.encode("utf-8", "surrogatepass"), allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        ends_too_early = str(error).startswith("EOF while parsing")
        return {}, CallIssue.TRUNCATED if cut and ends_too_early else CallIssue.MALFORMED
    if not isinstance(value, dict) or not _is_finite(value):
        return {}, CallIssue.MALFORMED
    return value, None


def write_json(value: object) -> str:
    """A value as compact JSON. What cannot be written down becomes a brace that no reader takes for JSON: as the
    arguments of a call it reads as malformed, and must not run."""
    try:
        return string(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (RecursionError, ValueError):
        return "{"


def _is_finite(value: object) -> bool:
    """Whether no number in it overflows: `1e999` is read as infinity, which no JSON can hold."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return all(map(_is_finite, value)) if isinstance(value, list) else True


# Calls of any other type are run by the provider itself. `builtin_function` is Moonshot's, and the client answers it.
_CLIENT_TYPES = frozenset({"", "function", "custom", "builtin_function"})
_DIGITS = re.compile(r"[0-9]{1,9}")
# Signatures of thoughts that have to come back with the call.
_KEPT_FIELDS = ("extra_content", "thought_signature")


@dataclass(slots=True)
class GatheredCall:
    """One call as far as it has come. `parsed`: this server sent the arguments as an object instead of text."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    parsed: bool = False
    custom: bool = False
    kept: dict[str, Any] = field(default_factory=dict)

    def take(self, entry: Mapping[str, Any], body: Mapping[str, Any]) -> tuple[str, str]:
        """Adds an entry; returns the name and the argument text that are new."""
        name = string(body.get("name"))
        new_name = "" if name == self.name else name
        self.name += new_name
        self.id = self.id or string(entry.get("id"))
        self.kept |= {key: entry[key] for key in _KEPT_FIELDS if entry.get(key)}
        arguments = body.get("input" if self.custom else "arguments")
        if isinstance(arguments, dict):
            self.parsed, self.pieces = True, []
        written = arguments is None or isinstance(arguments, str)
        # What is neither text nor an object must not pass for no arguments: written down, it reads as malformed.
        text = (arguments or "") if written else write_json(arguments)
        if text:
            self.pieces.append(text)
        return new_name, string(text)

    def is_other_than(self, call_id: str, body: Mapping[str, Any]) -> bool:
        """Whether a named piece with this call's index begins another call.

        Google's compatible endpoint gives every parallel call the index 0, and some servers no id either.
        """
        if call_id and self.id:
            return call_id != self.id
        closed = bool(self.pieces) and self.pieces[-1].rstrip().endswith("}")
        return closed and bool(body.get("arguments")) and read_arguments(self.raw, cut=False)[1] is None

    @property
    def raw(self) -> str:
        """The argument text as far as it has come."""
        return string("".join(self.pieces))  # only here, for a gateway may have cut a character in two


class CallCollector:
    """Gathers the client-side calls of one answer in their order."""

    def __init__(self) -> None:
        self._calls: list[GatheredCall] = []
        self._by_index: dict[int, GatheredCall] = {}
        self._by_id: dict[str, GatheredCall] = {}
        self._legacy: GatheredCall | None = None

    def take_whole(self, entry: Mapping[str, Any]) -> tuple[str, str]:
        """One complete call. Returns its name and argument text; ("", "") for what is no client's call."""
        body, custom = _body(entry)
        return self._open(custom=custom).take(entry, body) if _says_anything(body) else ("", "")

    def take_piece(self, entry: Mapping[str, Any]) -> tuple[str, str]:
        """One piece of a call in a stream. Returns the name and the argument text that are new."""
        body, custom = _body(entry)
        call = self._find(entry, body)
        if call is None:
            if not (_says_anything(body) or (body and string(entry.get("id")))):
                return "", ""
            call = self._open(custom=custom)
            index = _index(entry)
            if index is not None:
                self._by_index[index] = call
        news = call.take(entry, mapping(entry.get("custom")) if call.custom else body)
        self._by_id.setdefault(call.id, call)
        return news

    def take_legacy(self, body: Mapping[str, Any]) -> tuple[str, str]:
        """The deprecated `function_call`; servers send an empty one where there is no call."""
        if not _says_anything(body):
            return "", ""
        self._legacy = self._legacy or GatheredCall()
        return self._legacy.take({}, body)

    def read(self, *, cut: bool) -> Iterator[tuple[ToolCall, Mapping[str, Any]]]:
        """Every call, whole or with its issue, and the fields that must be sent back with it.

        `cut`: there is evidence that the answer was cut short.
        """
        calls = self._calls or ([self._legacy] if self._legacy else [])
        calls = [call for call in calls if call.name or call.raw]
        for position, call in enumerate(calls):
            last = position == len(calls) - 1
            yield _read(call, position, cut=cut, last=last), call.kept

    def _open(self, *, custom: bool) -> GatheredCall:
        self._calls.append(GatheredCall(custom=custom))
        return self._calls[-1]

    def _find(self, entry: Mapping[str, Any], body: Mapping[str, Any]) -> GatheredCall | None:
        """The call a piece belongs to: by index, else by id, else the latest. None begins a new one."""
        index, call_id, name = _index(entry), string(entry.get("id")), string(body.get("name"))
        if index is not None:
            call = self._by_index.get(index)
            return None if call and name and call.is_other_than(call_id, body) else call
        if call_id:
            return self._by_id.get(call_id)
        return None if name or not self._calls else self._calls[-1]


def _body(entry: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Where name and arguments stand, and whether the call is a custom one (Snowflake sends both, one empty)."""
    kind = string(entry.get("type"))
    if kind not in _CLIENT_TYPES:
        return {}, False
    function, custom = mapping(entry.get("function")), mapping(entry.get("custom"))
    is_custom = kind == "custom" or (not function and bool(custom))
    return (custom, True) if is_custom else (function, False)


def _index(entry: Mapping[str, Any]) -> int | None:
    """The place of a call in its answer; some servers write the number as text."""
    index = entry.get("index")
    return int(index) if isinstance(index, str) and _DIGITS.fullmatch(index) else count(index)


def _says_anything(body: Mapping[str, Any]) -> bool:
    return any(body.get(key) for key in ("name", "arguments", "input"))


def _read(call: GatheredCall, position: int, *, cut: bool, last: bool) -> ToolCall:
    call_id, raw = call.id or f"call_{position}", call.raw
    arguments: dict[str, Any] = {}
    if call.custom:
        issue = CallIssue.TRUNCATED if cut and last else None
    else:
        arguments, issue = read_arguments(raw, cut=cut)
    if not call.name and issue is None:
        arguments, issue = {}, CallIssue.TRUNCATED if cut and last else CallIssue.MALFORMED
    shown = not last if call.custom or call.parsed else True
    return ToolCall(call_id, call.name, arguments, raw, issue, custom=call.custom, shown_whole=shown and issue is None)


def encode_call(call: ToolCall) -> dict[str, Any]:
    """A whole call as the history of a request holds it."""
    if call.custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.raw}}
    blank = call.raw.strip() in ("", "null")
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False) if blank else call.raw
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def with_ids(echo: dict[str, Any], calls: Sequence[ToolCall]) -> dict[str, Any]:
    """An echoed message verbatim, but for the ids of calls that the turn had to name anew."""
    entries = echo.get("tool_calls")
    if not isinstance(entries, list) or [mapping(entry).get("id") for entry in entries] == [call.id for call in calls]:
        return echo
    named = [{**mapping(entry), "id": call.id} for entry, call in zip(entries, calls, strict=False)]
    return {**echo, "tool_calls": named}
