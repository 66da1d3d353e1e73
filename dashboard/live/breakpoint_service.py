"""The breakpoints of a turn that runs: one more, one less, none any more.

The driver is told all that are to count, in place of those there are. So each change is made to what was asked for
last, whether the driver has seen that yet or not, under the lock of the turn's row: none undoes another unseen.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from agentcore import serial
from agentcore.machine.snapshot import Snapshot
from dashboard.agents.breakpoints import breakpoints_clean, require_room
from dashboard.live.models import Signal
from dashboard.live.operator_control import TurnConflict, turn_control
from dashboard.live.operator_view import breakpoints_of
from dashboard.turns.history import position_of, snapshot_at
from dashboard.turns.models import Turn

NOT_THERE = "This breakpoint no longer exists. Reload the page."


@transaction.atomic
def breakpoint_add(*, turn: Turn, by: str, given: Mapping[str, Any]) -> None:
    """One more. Raises `ValidationError` where it could never match or there are too many, and `TurnConflict`."""
    added = breakpoints_clean([given], tools=turn.agent.tools if turn.agent else ())
    known = _counting(turn)
    require_room(len(known) + len(added))
    _count(turn, by, [*known, *added])


@transaction.atomic
def breakpoint_drop(*, turn: Turn, by: str, number: int, seen: int | None) -> None:
    """One less: `number`, from 0, among those that record `seen` left. Raises `TurnConflict` where it has gone."""
    known = _counting(turn)
    shown = known if seen is None else _kept(turn, snapshot_at(turn, seen))
    if not 0 <= number < len(shown) or shown[number] not in known:
        raise TurnConflict(NOT_THERE)
    place = known.index(shown[number])
    _count(turn, by, [*known[:place], *known[place + 1 :]])


def breakpoints_clear(*, turn: Turn, by: str) -> None:
    """None any more."""
    _count(turn, by, [])


def _count(turn: Turn, by: str, breakpoints: list[dict[str, Any]]) -> None:
    turn_control(turn=turn, by=by, action="change", breakpoints=breakpoints)


def _counting(turn: Turn) -> list[dict[str, Any]]:
    """Those asked for last, which its driver has not seen yet, else those that its last record left. Locks the turn."""
    now = Turn.objects.select_for_update().get(id=turn.id)
    waiting = Signal.objects.filter(turn_id=turn.id, handled_at=None, payload__has_key="breakpoints")
    asked = waiting.order_by("-id").first()
    return _kept(now, position_of(now).snapshot) if asked is None else list(asked.payload["breakpoints"])


def _kept(turn: Turn, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Those of a snapshot, as histories keep them."""
    return [serial.to_json(stop) for stop in breakpoints_of(turn, snapshot)]
