"""The parts of a Gemini answer: text, thoughts, calls, and what the provider's own tools did.

Also holds arguments that Vertex streams value by value (`streamFunctionCallArguments`), each under a JSON path.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentcore.messages import CallIssue, Delta, ToolCall
from agentcore.providers.wire.tool_calls import read_arguments, write_json
from agentcore.providers.wire.untrusted_json import mapping, sequence, string

# A name is matched without a way back, which would take a hundred bytes for each of its characters.
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]++|\\.)*+)'\]|\[\"((?:[^\"\\]++|\\.)*+)\"\]")
_ESCAPED = re.compile(r"\\(.)")


class PartialArguments:
    """One call's arguments as far as they have come."""

    def __init__(self) -> None:
        self._values: dict[str, list[Any]] = {}  # by path: the pieces of a text, or one other value
        self._open: set[str] = set()

    @property
    def open(self) -> bool:
        """Whether a text was announced to go on, and has not ended."""
        return bool(self._open)

    def take(self, entries: object) -> str:
        """Adds `partialArgs`; returns the text that is new."""
        return "".join(self._take(mapping(entry)) for entry in sequence(entries))

    def value(self) -> dict[str, Any] | None:
        """The arguments they make; None where the paths fit no object."""
        root: dict[str, Any] = {}
        for path, pieces in self._values.items():
            value = "".join(pieces) if isinstance(pieces[0], str) else pieces[0]
            steps = _steps(path)
            if not steps or not _place(root, steps, value):
                return None
        return root

    def _take(self, entry: Mapping[str, Any]) -> str:
        path = string(entry.get("jsonPath"))
        text = entry.get("stringValue")
        value = string(text) if isinstance(text, str) else _other_value(entry)
        pieces = self._values.get(path)
        if pieces is not None and path in self._open and isinstance(pieces[0], str) and isinstance(value, str):
            pieces.append(value)
        elif pieces is None or value is not None:
            self._values[path] = [value]
        (self._open.add if entry.get("willContinue") is True else self._open.discard)(path)
        return value if isinstance(value, str) else ""


def _other_value(entry: Mapping[str, Any]) -> float | bool | None:
    """A number or a boolean; null where the entry says null or nothing."""
    for key in ("numberValue", "boolValue"):
        value = entry.get(key)
        if isinstance(value, int | float):
            return value
    return None


def _steps(path: str) -> list[str | int] | None:
    """The steps of a path such as `$.orders[0]['the name']`; None for any other text."""
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        name, index, *quoted = step.groups()
        text = next((part for part in quoted if part is not None), None)
        steps.append(int(index) if index else name if text is None else _ESCAPED.sub(r"\1", text))
        at = step.end()
    return steps if path.startswith("$") else None


def _place(root: dict[str, Any], steps: Sequence[str | int], value: object) -> bool:
    """Puts a value at the end of the steps; False where they do not fit what is there, or leave a gap in an array."""
    node: Any = root
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        fresh: Any = value if following is None else [] if isinstance(following, int) else {}
        if isinstance(node, dict) and isinstance(step, str):
            if following is None:
                node[step] = fresh
            node = node.setdefault(step, fresh)
        elif isinstance(node, list) and isinstance(step, int) and step <= len(node):
            if step == len(node):
                node.append(fresh)
            elif following is None:
                node[step] = fresh
            node = node[step]
        else:
            return False
    return True


@dataclass(slots=True)
class GatheredCall:
    """One call as far as it has come. `open`: the provider announced more of it."""

    name: str = ""
    id: str = ""
    arguments: Any = None
    partial: PartialArguments | None = None
    open: bool = False
    beside: dict[str, Any] = field(default_factory=dict)  # its part's other fields, such as the thought signature

    def take(self, body: Mapping[str, Any], part: Mapping[str, Any]) -> str:
        """Adds a `functionCall`; returns the argument text that is new."""
        self.name = self.name or string(body.get("name"))
        self.id = self.id or string(body.get("id"))
        self.beside |= {key: value for key, value in part.items() if key != "functionCall"}
        self.open = body.get("willContinue") is True
        if "partialArgs" in body:
            self.partial = self.partial or PartialArguments()
            text = self.partial.take(body["partialArgs"])
            self.open = self.open or self.partial.open
            return text
        if body.get("args") is None:
            return ""
        self.arguments = body["args"]
        return write_json(self.arguments) if isinstance(self.arguments, dict) else ""

    def read(self, position: int, *, last: bool, cut: bool, at_cap: bool) -> ToolCall:
        """The call, whole or with its issue. `last`: nothing stands after it; `cut`: the answer was cut short.

        `at_cap`: it used all its tokens, which only corroborates. A parsed object cannot show that it was written to
        its end, so the last one of a cut answer counts as truncated.
        """
        value = self.arguments if self.partial is None else self.partial.value()
        raw = write_json(value) if isinstance(value, dict) else string(value)
        arguments, issue = read_arguments(raw, cut=(cut or at_cap) and last)
        if self.open or (cut and last):
            issue = CallIssue.TRUNCATED
        elif not self.name or not (isinstance(value, dict | str) or (value is None and self.partial is None)):
            issue = CallIssue.MALFORMED
        whole = issue is None
        call_id = self.id or f"call_{position}"
        return ToolCall(call_id, self.name, arguments if whole else {}, raw, issue, shown_whole=whole and not last)

    def part(self, call: ToolCall) -> dict[str, Any]:
        """The part as it is sent back."""
        body = {"name": self.name, "args": dict(call.arguments)} | ({"id": self.id} if self.id else {})
        return {"functionCall": body, **self.beside}


class TextPart(NamedTuple):
    """A run of text, thought or said, that belongs together. `beside`: the part's other fields."""

    pieces: list[str]
    beside: dict[str, Any]


class PartCollector:
    """Gathers the parts of one answer in their order."""

    def __init__(self) -> None:
        self._parts: list[TextPart | GatheredCall | Mapping[str, Any]] = []
        self._calls: list[GatheredCall] = []

    def take(self, parts: object) -> Delta | None:
        """Adds the parts of a chunk; returns what is new of them to show."""
        deltas = [delta for part in sequence(parts) if (delta := self._take(mapping(part))) is not None]
        if not deltas:
            return None
        columns = zip(*((d.text, d.reasoning, d.tool_name, d.tool_arguments) for d in deltas), strict=True)
        text, reasoning, name, arguments = ("".join(column) for column in columns)
        delta = Delta(text, reasoning, name, arguments)
        return None if delta == Delta() else delta

    @property
    def text(self) -> str:
        """What was said, thoughts left out."""
        return "".join(self._texts(thought=False))

    @property
    def reasoning(self) -> str:
        """What was thought."""
        return "".join(self._texts(thought=True))

    @property
    def has_other(self) -> bool:
        """Whether there is anything beside text and calls: code that was run, an image, sound."""
        return any(isinstance(part, Mapping) for part in self._parts)

    def calls(self, *, cut: bool, at_cap: bool) -> list[ToolCall]:
        """The client-side calls, judged beside the evidence of a cut (`cut`) and of a cap that was reached."""
        final = self._parts[-1] if self._parts else None
        return [call.read(i, last=call is final, cut=cut, at_cap=at_cap) for i, call in enumerate(self._calls)]

    def echo(self, calls: list[ToolCall]) -> dict[str, Any] | None:
        """The content as it has to come back: with signatures, call ids and the provider's own tools; else None."""
        needed = self.has_other or any(
            (isinstance(part, TextPart) and "thoughtSignature" in part.beside)
            or (isinstance(part, GatheredCall) and (part.id or part.beside))
            for part in self._parts
        )
        return {"role": "model", "parts": list(self._echoed(iter(calls)))} if needed else None

    def _echoed(self, calls: Iterator[ToolCall]) -> Iterator[dict[str, Any]]:
        for part in self._parts:
            if isinstance(part, GatheredCall):
                yield part.part(next(calls))
            elif isinstance(part, TextPart):
                # Thoughts without a signature are summaries: the model has no use for them, least of all cut ones.
                if "thoughtSignature" in part.beside or not part.beside.get("thought"):
                    yield {"text": "".join(part.pieces), **part.beside}
            else:
                yield dict(part)

    def _take(self, part: Mapping[str, Any]) -> Delta | None:
        if isinstance(part.get("functionCall"), dict):
            return self._take_call(part["functionCall"], part)
        if isinstance(part.get("text"), str):
            return self._take_text(string(part["text"]), {key: part[key] for key in part if key != "text"})
        if any(value is not None for key, value in part.items() if key != "thought"):
            self._parts.append(part)
        return None

    def _take_text(self, text: str, beside: dict[str, Any]) -> Delta | None:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, TextPart) and last.beside == beside and "thoughtSignature" not in beside:
            last.pieces.append(text)
        elif text or beside:
            self._parts.append(TextPart([text], beside))
        return Delta(reasoning=text) if beside.get("thought") is True else Delta(text)

    def _take_call(self, body: Mapping[str, Any], part: Mapping[str, Any]) -> Delta | None:
        name = string(body.get("name"))
        call = self._calls[-1] if self._calls else None
        if call is None or not call.open or name not in ("", call.name):
            if not (name or body.get("args") or body.get("partialArgs")):
                return None
            call = GatheredCall()
            self._parts.append(call)
            self._calls.append(call)
        new_name = "" if call.name else name
        return Delta(tool_name=new_name, tool_arguments=call.take(body, part))

    def _texts(self, *, thought: bool) -> Iterator[str]:
        for part in self._parts:
            if isinstance(part, TextPart) and (part.beside.get("thought") is True) is thought:
                yield from part.pieces
