"""Values that many turns share, stored once as nodes; rows hold references.

`[node, rest]` is an object whose large values are in the node; in `rest` null stands in their places. The setup of a
client's call is in the node of its request; `rest` has what is the turn's alone. Of the policy of a turn, and of who
said what in it, all is in the node, and `rest` has what statements ask for. Of the messages that a turn began with, the
node of the last one stands there. Nobody else can put a reference there: what may hold one is an object, or a list of
messages, wherever it is read.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models.expressions import Col
from pydantic_core import PydanticSerializationError, to_json

from dashboard.platform.bytes_cache import BytesCache
from dashboard.platform.fields import ExactJSONField
from dashboard.turns.nodes import NewNode, NodeForm, grown, read_all, read_one, read_with_ids

LARGE = 256  #: bytes of JSON, from which on a value is shared
KEPT_BYTES = 16_000_000  #: of values that are read or written again and again; one may be as large as a request
OWN = ("turn_id", "parent")  #: what of a setup is the turn's alone
Json = Mapping[str, Any]
#: What is raised where a row was changed, or damaged, and is read as what it no longer is.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)


def _asked_of_policy(policy: Json) -> Json:
    limits = policy.get("limits", {})
    return {"limits": {name: limits[name] for name in ("max_total_output_chars",) if name in limits}}


def _asked_of_sources(sources: Json) -> Json:
    return {"layers": [{"policy": layer["policy"]} for layer in sources.get("layers", ())]}


#: Columns of a turn that say by which rules it ran, and what of each statements ask for.
ASKED: Mapping[str, Callable[[Json], Json]] = {"policy": _asked_of_policy, "policy_sources": _asked_of_sources}


@dataclass(slots=True)
class SharedValues:
    """The values that one turn shares: `head` is the node of the last one, after all others."""

    head: UUID | None = None
    ids: dict[bytes, UUID] = field(default_factory=dict)  #: of their nodes, by what is in them

    @classmethod
    def of(cls, head: UUID | None) -> "SharedValues":
        """The value as it is stored."""
        values = read_with_ids(head).items()
        return cls(head, {forms[NodeForm.VALUE]: node for node, forms in values if NodeForm.VALUE in forms})

    def told(self, project_id: UUID, value: Json, made: list[NewNode], *, own: str | None = None) -> Any:
        """The value as a row holds it; its node is added to `made`. What is called `own` stays in the row."""
        texts = {name: _large_text(held) for name, held in value.items() if name != own}
        large = [exact_text(name) + b":" + text for name, text in texts.items() if text]
        if not large:
            return value
        content = b"{%b}" % b",".join(large)
        node_id = self.ids.get(content)
        if node_id is None:
            (node,) = grown(project_id, self.head, {NodeForm.VALUE: [content]})
            made.append(node)
            self.head = self.ids[content] = node_id = node.id
        return [str(node_id), {name: None if texts.get(name) else held for name, held in value.items()}]

    def rules(self, project_id: UUID, rules: Json, made: list[NewNode], text: bytes = b"") -> Json:
        """The columns of `ASKED` as a row holds them; one node has them all. `text`: their `rules_text`, if known."""
        held = {name: value for name, value in rules.items() if value is not None}
        (node,) = grown(project_id, self.head, {NodeForm.VALUE: [text or rules_text(rules)]})
        made.append(node)
        self.head = node.id
        return {**rules, **{name: [str(node.id), ASKED[name](value)] for name, value in held.items()}}


def rules_text(rules: Json) -> bytes:
    """The content of the node that has these rules."""
    return _in_order(exact_text({name: value for name, value in rules.items() if value is not None}))


def _large_text(value: Any) -> bytes:
    """The value's JSON; empty where it is small."""
    if isinstance(value, str):
        return exact_text(value) if len(value) >= LARGE else b""
    if not isinstance(value, Mapping | list | tuple) or not value:
        return b""
    text = exact_text(value)
    return text if len(text) >= LARGE else b""


def exact_text(value: Any) -> bytes:
    """JSON that gives the very same value."""
    try:
        return to_json(value)
    except PydanticSerializationError:  # a lone surrogate
        return json.dumps(value, separators=(",", ":")).encode()


def alike(told: Any) -> bytes:
    """Of a setup as `SharedValues.told` made it, what turns that ask alike have alike: the content of a node."""
    if isinstance(told, list):
        return exact_text([told[0], {name: held for name, held in told[1].items() if name not in OWN}])
    return exact_text({name: held for name, held in told.items() if name not in OWN})


def referring(told: Any, node_id: UUID) -> Any:
    """The same setup as a row holds it, where that node has what is `alike`."""
    held = told[1] if isinstance(told, list) else told
    return [str(node_id), {name: held[name] for name in OWN if name in held}]


def whole(told: Any) -> Any:
    """The value again, of what `SharedValues.told` or `referring` made of it. Raises `ValueError` where the row has a
    value of its own in the place of one that is shared: nobody would read it."""
    if not isinstance(told, list):
        return told
    node, rest = told
    shared = whole(json.loads(_content(UUID(node))))
    if any(rest[name] is not None for name in rest.keys() & shared.keys()):
        raise ValueError("A row has another value beside one that is shared.")
    return {**rest, **shared}


def _ordered(text: bytes) -> bytes:
    return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")).encode()


#: The keys in one order: a driver has them from the database, which has its own. Few texts come again and again.
_in_order = BytesCache(_ordered, entries=64, most=KEPT_BYTES)


def rules_of(told: Any, column: str) -> Any:
    """The value again, of what `SharedValues.rules` made of it."""
    return json.loads(_content(UUID(str(told[0]))))[column] if isinstance(told, list) else told


def _value(node_id: UUID) -> bytes:
    return read_one(node_id)[NodeForm.VALUE]


#: A node never changes, and the same one is asked for again and again.
_content = BytesCache(_value, entries=64, most=KEPT_BYTES)


class BeginningField(ExactJSONField):
    """JSON that may hold the `setup` and the `messages` of a turn's beginning, or references to them.

    A reference that cannot be followed stays: it is no setup, so whoever checks the turn names it.
    """

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        held = super().from_db_value(value, expression, connection)
        if isinstance(expression, Col):  # a part of it may be anybody's words
            with suppress(*UNREADABLE):
                return beginning(held)
        return held


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
    heads = {each["messages"]: head for each in held if _began(each) and (head := _head(each.get("messages")))}
    nodes = read_all(heads.values()) if heads else {}  # those of other conversations may be among them
    read: dict[UUID, list[Any]] = {}
    found: dict[str, list[Any]] = {}
    for text, head in heads.items():
        said: list[Any] = []
        node_id: UUID | None = head
        while node_id is not None and node_id in nodes:
            parent, forms = nodes[node_id]
            if node_id not in read:
                read[node_id] = [json.loads(forms[NodeForm.MESSAGE])] if NodeForm.MESSAGE in forms else []
            said += read[node_id]
            node_id = parent
        if node_id is None:
            found[text] = said[::-1]
    return found


def _head(value: Any) -> UUID | None:
    """The node that a text refers to; None of anything else."""
    with suppress(ValueError):
        return UUID(value) if isinstance(value, str) else None
    return None


def _began(held: Any) -> bool:
    return isinstance(held, dict) and held.get("type", "started") == "started"


class RulesField(ExactJSONField):
    """JSON of a column of `ASKED`; the reference, where it cannot be followed."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        held = super().from_db_value(value, expression, connection)
        if isinstance(expression, Col):  # a part of it may be anybody's words
            with suppress(*UNREADABLE):
                return rules_of(held, self.name)
        return held


class RequestField(models.TextField):  # type: ignore[type-arg]
    """A request as JSON text, of which the row may hold a reference; the reference, where it cannot be followed."""

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        if value is None or not value.startswith("["):
            return value
        with suppress(*UNREADABLE):
            return json.dumps(whole(json.loads(value)), separators=(",", ":"))
        return value
