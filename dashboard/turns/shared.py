"""What many turns have alike, stored once: in a row of theirs stands a reference to the node that has it.

`[node, rest]` is an object whose large values are in the node; in `rest` null stands in their places. Of the messages
that a turn began with, the node of the last one stands there. Nobody else can put a reference there: what may hold one
is an object, or a list of messages, wherever it is read.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models.expressions import Col
from pydantic_core import PydanticSerializationError, to_json

from dashboard.turns.fields import ExactJSONField
from dashboard.turns.nodes import Form, NewNode, grown, read_all, read_one, read_with_ids

LARGE = 256  #: bytes of JSON, from which on a value is shared
Json = Mapping[str, Any]


@dataclass(slots=True)
class Shared:
    """The values that one turn shares: `head` is the node of the last one, after all others."""

    head: UUID | None = None
    ids: dict[bytes, UUID] = field(default_factory=dict)  #: of their nodes, by digest

    @classmethod
    def of(cls, head: UUID | None) -> "Shared":
        """As it is stored."""
        return cls(head, {_digest(forms[Form.VALUE]): node_id for node_id, forms in read_with_ids(head).items()})

    def told(self, project_id: UUID, value: Json, made: list[NewNode], *, own: str | None = None) -> Any:
        """The value as a row holds it; its node is added to `made`. What is called `own` stays in the row."""
        large = {name: held for name, held in value.items() if name != own and _is_large(held)}
        if not large:
            return value
        text = exact_text(large)
        digest = _digest(text)
        if digest not in self.ids:
            (node,) = grown(project_id, self.head, {Form.VALUE: [text]})
            made.append(node)
            self.head = self.ids[digest] = node.id
        return [str(self.ids[digest]), {name: None if name in large else held for name, held in value.items()}]


def _is_large(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) >= LARGE
    return isinstance(value, Mapping | list | tuple) and bool(value) and len(exact_text(value)) >= LARGE


def exact_text(value: Any) -> bytes:
    """JSON that gives the very same value."""
    try:
        return to_json(value)
    except PydanticSerializationError:  # a lone surrogate
        return json.dumps(value, separators=(",", ":")).encode()


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


def whole(told: Any) -> Any:
    """The value again, of what `Shared.told` made of it."""
    if not isinstance(told, list):
        return told
    node, rest = told
    large = json.loads(_content(UUID(node)))
    return {name: large.get(name, held) for name, held in rest.items()}


@lru_cache(maxsize=64)
def _content(node_id: UUID) -> bytes:
    """A node never changes, and the same one is asked for again and again."""
    return read_one(node_id)[Form.VALUE]


class BeginningField(ExactJSONField):
    """JSON that may hold the `setup` and the `messages` of a turn's beginning, or references to them."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        held = super().from_db_value(value, expression, connection)
        return beginning(held) if isinstance(expression, Col) else held  # a part of it may be anybody's words


def beginning(held: Any, said: "Said | None" = None) -> Any:
    """A whole column's value without references. `said`: the messages of many, where the caller has them."""
    if not _began(held):
        return held
    found = {**held, "setup": whole(held["setup"])} if "setup" in held else held
    messages = held.get("messages")
    if not isinstance(messages, str):
        return found
    return {**found, "messages": (messages_of([held]) if said is None else said)[messages]}


#: Messages by the reference that stands for them.
Said = Mapping[str, list[Any]]


def messages_of(held: Iterable[Any]) -> Said:
    """The messages with which these begin, where they are referred to: by one query. A message that many have is read
    once. What is not stored is left out."""
    heads = {each["messages"] for each in held if _began(each) and isinstance(each.get("messages"), str)}
    nodes = read_all(map(UUID, heads)) if heads else {}
    read = {node_id: json.loads(forms[Form.MESSAGE]) for node_id, (_, forms) in nodes.items() if Form.MESSAGE in forms}
    found: dict[str, list[Any]] = {}
    for head in heads:
        said: list[Any] = []
        node_id: UUID | None = UUID(head)
        while node_id in nodes:
            said += [read[node_id]] if node_id in read else []
            node_id = nodes[node_id][0]
        if node_id is None:
            found[head] = said[::-1]
    return found


def _began(held: Any) -> bool:
    return isinstance(held, dict) and held.get("type", "started") == "started"


class RequestField(models.TextField):  # type: ignore[type-arg]
    """A request as JSON text, of which the row may hold a reference."""

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        if value is None or not value.startswith("["):
            return value
        return json.dumps(whole(json.loads(value)), separators=(",", ":"))
