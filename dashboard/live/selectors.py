"""Reads of what is under way: who waits in line for a connection, what was asked for and could not be done."""

from typing import Any
from uuid import UUID

from agentcore.states import CALLS
from dashboard.live.models import CallSlot, Signal
from dashboard.turns.api_serializers import turn_json
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.read_ahead import reading_once

TOLD = 3  #: refused actions that are shown

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def turn_now(turn: Turn) -> dict[str, Any]:
    """A turn as the API tells one that it is asked for by its id."""
    refused = [
        {"action": signal.action, "by": signal.by, "asked_at": signal.created_at, "why": signal.refused}
        for signal in refused_of(turn)
    ]
    calls = turn.status in UNFINISHED and turn.state in CALLS
    waiting = waiting_words(turn.id) if calls else None
    with reading_once():
        return {**turn_json(turn), "waiting": waiting, "not_done": refused}


def refused_of(turn: Turn) -> tuple[Signal, ...]:
    """What was asked for last and could not be done, the newest first."""
    return tuple(Signal.objects.filter(turn_id=turn.id).exclude(refused="").order_by("-id")[:TOLD])


def waiting_words(turn_id: UUID) -> str | None:
    """Where a turn stands in line, as “waiting for a slot of connection near, 3rd in the queue”; None where it
    does not."""
    own = CallSlot.objects.filter(turn_id=turn_id, granted_at=None).select_related("connection").first()
    if own is None:
        return None
    before = CallSlot.objects.filter(connection=own.connection_id, granted_at=None, id__lt=own.id).count()
    return f"waiting for a slot of connection {own.connection.name}, {_ordinal(before + 1)} in the queue"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, "th")
    return f"{number:,}{ending}"
