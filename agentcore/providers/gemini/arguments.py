"""Arguments that Vertex streams value by value (`streamFunctionCallArguments`), each under a JSON path."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

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
