"""Stores a turn's messages and large values as nodes that its rows refer to.

Whoever writes a turn tells it step by step. The nodes that may have to be stored are in `made`, parents first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from agentcore import serial
from agentcore.events import Event
from dashboard.turns.history import compact_json
from dashboard.turns.nodes import NewNode, NodeForm, grown
from dashboard.turns.request_body_text import messages_key
from dashboard.turns.row_mapping import CallRow, Columns
from dashboard.turns.shared_values import SharedValues, alike, exact_text, referring


@dataclass(slots=True)
class NodeWriter:
    """One turn, as far as it is stored, and what is said next."""

    project_id: UUID
    said: UUID | None = None  #: the node of the last message
    wires: list[str] = field(default_factory=list)  #: its messages in the provider's form, as JSON texts
    shared: SharedValues = field(default_factory=SharedValues)
    client: Sequence[bytes] = ()  #: the messages of the client's request, until they have nodes,
    frame: bytes | None = None  #: and what stands around them (`request_frames`)
    rules: Mapping[str, Any] = field(default_factory=dict)  #: by which it runs, until its first step,
    rules_text: bytes = b""  #: and the content of their node, if it is known
    of_client: Sequence[UUID] = ()  #: the nodes of those messages
    setup: Any = None  #: of its first step, as the turn's row holds it
    ruled: Mapping[str, Any] = field(default_factory=dict)  #: those rules as its row holds them
    made: list[NewNode] = field(default_factory=list)

    def step(self, event: Event, call: CallRow | None) -> tuple[Any, str]:
        """The event as its record holds it, and the body of the call that the step begins, as its attempt does."""
        told = serial.event_to_json(event)
        began = told["type"] == "started"
        if began:
            told["setup"] = self.setup = self.shared.told(self.project_id, told["setup"], self.made)
        request, new = ("", []) if call is None else self._request(call)
        self._grow(new, [exact_text(message) for message in told["messages"]] if began else ())
        if self.rules:
            self.ruled, self.rules = self.shared.rules(self.project_id, self.rules, self.made, self.rules_text), {}
        if self.frame is not None:
            self._frame(self.frame)
        if began and told["messages"]:
            told["messages"] = str(self.said)
        return told, request

    def _frame(self, frame: bytes) -> None:
        """The node of the client's request, and of the setup, which follows from it."""
        forms = {NodeForm.FRAME: [frame], NodeForm.VALUE: [alike(self.setup)]}
        (node,) = grown(self.project_id, self.shared.head, forms)
        self.made.append(node)
        self.shared.head, self.frame, self.setup = node.id, None, referring(self.setup, node.id)

    def columns(self) -> Columns:
        """What of the turn's row has to do with it."""
        return {"node_id": self.said, "shared_id": self.shared.head, **self.ruled}

    def _request(self, call: CallRow) -> tuple[str, list[str]]:
        """The call's body with its messages told as the turn's first n and a tail, and what is new of the turn's."""
        key = messages_key(call.body)
        if key is None:
            return self._body(call.body, None), []
        shared = _shared_prefix(self.wires, call.history)
        new = list(call.history[shared:]) if shared == len(self.wires) else []
        shared += len(new)
        told = {"history": shared, "tail": call.body[key][shared:]}
        return self._body({name: told if name == key else value for name, value in call.body.items()}, key), new

    def _body(self, body: Mapping[str, Any], messages: str | None) -> str:
        return compact_json(self.shared.told(self.project_id, body, self.made, own=messages))

    def _grow(self, wires: Sequence[str], messages: Sequence[bytes]) -> None:
        """The nodes of what is said next: of the first messages in each form."""
        if not (wires or messages or self.client):
            return
        new = wires if self.said is not None or not wires else [*self.wires, *wires]  # may be `TurnMessage`s yet
        forms = {
            NodeForm.CLIENT: self.client,
            NodeForm.MESSAGE: messages,
            NodeForm.WIRE: [wire.encode() for wire in new],
        }
        if made := grown(self.project_id, self.said, forms):
            self.made += made
            self.of_client = (
                [node.id for node in made[len(made) - len(self.client) :]] if self.client else self.of_client
            )
            self.said, self.client = made[-1].id, ()
        self.wires += wires


def _shared_prefix(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(left, right, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))
