"""Turns that ended, with their attempts and tool runs, as values that spans are made of."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from agentcore.messages import Message
from dashboard.ingest.logs.request_reader import content_of
from dashboard.turns.history import messages_of, request_body_of
from dashboard.turns.models import UNFINISHED, Attempt, Turn
from dashboard.turns.record_reader import records_of
from dashboard.turns.selectors import attempts_of

LARGEST = 256 * 1024  #: characters of a request whose messages are sent


@dataclass(frozen=True, slots=True)
class CallRequest:
    """What a call was asked with. `messages`: None where they are not sent."""

    system: str = ""
    messages: Sequence[Message] | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt."""

    row: Attempt
    asked: CallRequest


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One call of a tool, from its command to its result. `error`: its type; empty where it succeeded."""

    id: str
    name: str
    arguments: str
    result: str
    error: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class TelemetryTurn:
    """A turn as it is told."""

    turn: Turn
    calls: Sequence[Call]
    tools: Sequence[ToolRun]


def told_of(turn_ids: Sequence[UUID], *, content: bool) -> list[TelemetryTurn]:
    """Those of the turns that are to be told, in order: that happened here, and have ended."""
    turns = Turn.objects.filter(ingested=None, origin=None).exclude(status__in=UNFINISHED).in_bulk(turn_ids)
    return [_told(turns[turn_id], content=content) for turn_id in turn_ids if turn_id in turns]


def _told(turn: Turn, *, content: bool) -> TelemetryTurn:
    rows = list(attempts_of(turn.id))
    wires = messages_of(turn.id) if content else []
    calls = [Call(row, _asked(row, wires) if content else CallRequest()) for row in rows]
    return TelemetryTurn(turn, calls, list(_tools(turn, rows)))


def _asked(row: Attempt, wires: Any) -> CallRequest:
    body = request_body_of(row, wires)
    if len(body) > LARGEST:
        return CallRequest()
    content = content_of(json.loads(body))
    return CallRequest(content.system or "", list(content.input or ()))


def _tools(turn: Turn, rows: Sequence[Attempt]) -> Iterator[ToolRun]:
    """A run lasts from the record before its results, in which it was asked for."""
    arguments = {call.get("id"): call.get("arguments") for row in rows for call in row.tool_calls}
    before = turn.started_at
    for record in records_of(turn.id):
        if record.event.get("type") == "tools_returned":
            for result in record.event.get("results", ()):
                yield _run(result, arguments, before or record.at, record.at)
        before = record.at


def _run(result: dict[str, Any], arguments: dict[Any, Any], start: datetime, end: datetime) -> ToolRun:
    call_id = str(result.get("call_id", ""))
    return ToolRun(
        id=call_id,
        name=str(result.get("name", "")),
        arguments=json.dumps(arguments.get(call_id) or {}),
        result=str(result.get("content", "")),
        error=str(result.get("error") or ""),
        start=start,
        end=end,
    )
