"""What each call of a run added to the conversation: new messages, the answer, its tool calls."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pydantic_core import from_json

from dashboard.turns import nodes
from dashboard.turns.compression import unpacked
from dashboard.turns.models import Attempt, Node, Turn

MOST_BACK = 40  #: messages of one call that are told
LONGEST = 500  #: characters of one text; all of it is on the turn's page
TEXTS = ("text", "refusal", "input_text")  #: fields of a part that hold words


@dataclass(frozen=True, slots=True)
class ToolCallView:
    """A tool that an answer asked for."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A message that a client sent. `of`: for a result, the tool's name."""

    role: str
    text: str
    of: str = ""
    cut: bool = False  #: there is more of it


@dataclass(frozen=True, slots=True)
class CallAdditions:
    """What one call added. `earlier`: messages before these that are not told."""

    messages: Sequence[ClientMessage] = ()
    calls: Sequence[ToolCallView] = ()
    answer: str = ""
    answer_cut: bool = False
    earlier: bool = False


@dataclass(slots=True)
class _Walk:
    """Up from a call's last message, to the last answer in its conversation."""

    at: UUID | None
    first: bool  #: the run's first call: answers in it are no other call's
    found: list[Mapping[str, Any]] = field(default_factory=list)  #: newest first

    def take(self, node: Node) -> None:
        forms = dict(nodes.parts(unpacked(node.packed)))
        self.at = node.parent_id
        client = forms.get(nodes.NodeForm.CLIENT)
        if client is None:
            return
        message = _read(client)
        if message.get("role") == "assistant" and not self.first:
            self.at = None
            return
        self.found.append(message)
        if len(self.found) == MOST_BACK:
            self.at = None


def additions_of(turns: Sequence[Turn]) -> dict[UUID, CallAdditions]:
    """By turn; `turns` are those of one run, oldest first."""
    calls = _calls(turns)
    names = {call.id: call.name for called in calls.values() for call in called}
    sent = _sent(turns)
    return {turn.id: _added(turn, sent.get(turn.id), calls.get(turn.id, ()), names) for turn in turns}


def _added(turn: Turn, sent: "_Walk | None", calls: Sequence[ToolCallView], names: Mapping[str, str]) -> CallAdditions:
    answer = turn.output_text
    about = {"calls": calls, "answer": answer[:LONGEST], "answer_cut": len(answer) > LONGEST}
    if sent is None or not sent.found:
        return CallAdditions(messages=(_said("user", turn.input_text),), **about)
    messages = [_said_of(message, names) for message in reversed(sent.found)]
    return CallAdditions(messages=messages, earlier=len(sent.found) == MOST_BACK, **about)


def _sent(turns: Sequence[Turn]) -> dict[UUID, _Walk]:
    """A level of all conversations with each query: most are through after two or three."""
    walks = {turn.id: _Walk(turn.node_id, first=turn.follows is None) for turn in turns if turn.node_id}
    while wanted := {walk.at for walk in walks.values() if walk.at is not None}:
        found = Node.objects.in_bulk(wanted)
        for walk in walks.values():
            if walk.at is not None:
                node = found.get(walk.at)
                if node is None:
                    walk.at = None
                else:
                    walk.take(node)
    return walks


def _calls(turns: Iterable[Turn]) -> dict[UUID, list[ToolCallView]]:
    """Of each turn, the calls of its attempts, each once."""
    rows = Attempt.objects.filter(turn_id__in=[turn.id for turn in turns]).exclude(tool_calls=[])
    found: dict[UUID, dict[str, ToolCallView]] = {}
    for turn_id, calls in rows.order_by("turn_id", "index").values_list("turn_id", "tool_calls"):
        for call in calls:
            told = ToolCallView(str(call.get("id") or ""), str(call.get("name") or ""), _arguments(call))
            found.setdefault(turn_id, {})[told.id or str(len(found[turn_id]) if turn_id in found else 0)] = told
    return {turn_id: list(calls.values()) for turn_id, calls in found.items()}


def _arguments(call: Mapping[str, Any]) -> str:
    raw = call.get("raw")
    text = raw if isinstance(raw, str) and raw else json.dumps(call.get("arguments") or {}, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _said_of(message: Mapping[str, Any], names: Mapping[str, str]) -> ClientMessage:
    role = str(message.get("role") or "")
    of = names.get(str(message.get("tool_call_id") or ""), "") or str(message.get("name") or "")
    return _said(role, _text(message.get("content")), of if role in ("tool", "function") else "")


def _said(role: str, text: str, of: str = "") -> ClientMessage:
    return ClientMessage(role, text[:LONGEST], of, cut=len(text) > LONGEST)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(_part(part) for part in parts if isinstance(part, dict))


def _part(part: Mapping[str, Any]) -> str:
    text = next((part[name] for name in TEXTS if isinstance(part.get(name), str)), None)
    return text if text is not None else f"[{part.get('type') or 'part'}]"


def _read(message: bytes) -> Mapping[str, Any]:
    try:
        read = from_json(message)
    except ValueError:
        read = None
    return read if isinstance(read, dict) else {"content": message.decode("utf-8", "replace")}
