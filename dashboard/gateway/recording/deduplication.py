"""What is sent to the database once: large texts of a group, each as a parameter of its own, and nodes."""

import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from pydantic_core import to_json

from dashboard.platform.fields import MARK, storable_text
from dashboard.turns.nodes import NewNode

LARGE = 64 * 1024  #: characters, or bytes
#: What stands in their places; no text of a caller's is one of these.
MARKS = tuple(f"large text {n} {secrets.token_hex(8)}" for n in range(3))

#: Large texts, and the mark of each.
Marked = Mapping[str, str]
MOST_NODES = 100_000  #: that are remembered


def marked(texts: Iterable[str]) -> Marked:
    """The large ones of these texts, as many as there are marks. One that Postgres does not take as it is stays."""
    found = dict.fromkeys(text for text in texts if len(text) > LARGE)
    plain = [text for text in found if MARK not in text and storable_text(text) == text]
    return dict(zip(plain, MARKS, strict=False))


def taken_out(value: Any, marks: Marked) -> Any:
    """The value, which is to be JSON, with marks where these texts stand."""
    if isinstance(value, str):
        return marks.get(value, value) if len(value) > LARGE else value
    if isinstance(value, Mapping):
        return {name: taken_out(held, marks) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [taken_out(held, marks) for held in value]
    return value


def parameters(marks: Marked) -> list[bytes | None]:
    """What the database puts in the places of the marks, as JSON; None: nothing is to be put there."""
    return [*map(to_json, marks), *[None] * (len(MARKS) - len(marks))]


class KnownNodes:
    """A cache of the nodes that this process stored lately, so that each is sent once.

    An eraser may have removed one since: then the database refuses what builds on it, and all are sent again.
    """

    def __init__(self) -> None:
        self._ids: OrderedDict[UUID, None] = OrderedDict()

    def lacking(self, nodes: Iterable[NewNode]) -> list[NewNode]:
        """Those that are not known, each once."""
        return [node for node in {node.id: node for node in nodes}.values() if node.id not in self._ids]

    def add(self, nodes: Iterable[NewNode]) -> None:
        """They are stored; those that were named longest ago are forgotten."""
        for node in nodes:
            self._ids[node.id] = None
            self._ids.move_to_end(node.id)
        while len(self._ids) > MOST_NODES:
            self._ids.popitem(last=False)

    def forget(self) -> None:
        """Nothing is known any more."""
        self._ids.clear()
