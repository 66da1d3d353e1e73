"""What a person does to a turn that runs: its driver is told by a signal, and writes the history alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from agentcore.machine.states import State
from agentcore.reasons import TurnStatus
from dashboard.live.changes import operator_changes
from dashboard.live.models import Signal
from dashboard.live.starting import breakpoint_stored
from dashboard.turns.history import standing_of
from dashboard.turns.models import UNFINISHED, Turn


class TurnConflict(Exception):
    """The turn is not where this makes sense; the message says where it is."""


def turn_cancel(*, turn: Turn, by: str) -> None:
    """Ask the turn's driver to end it; a turn that has ended already is a conflict."""
    _require_unfinished(turn)
    _signal(turn, "cancel", by, {})


def turn_control(
    *,
    turn: Turn,
    by: str,
    action: str,
    limits: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    error_policy: Mapping[str, Any] | None = None,
    request: Mapping[str, Any] | None = None,
    tool_result: Mapping[str, Any] | None = None,
    breakpoints: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Hold, release, step or change a turn, with changes that count from its next judgement on.

    `breakpoints` (clean ones) take the place of those there are; None leaves them.
    """
    _require_unfinished(turn)
    held = turn.status == TurnStatus.HELD
    if action in ("release", "step") and not held:
        raise TurnConflict(f"Only a held turn can be told to {action}; this one is {turn.status}.")
    if action == "hold" and held:
        raise TurnConflict("This turn is held already; release it, or take a step.")
    payload = operator_changes(turn, limits, max_tokens, error_policy, request, tool_result)
    if tool_result:
        _require_call(turn, payload["tool_result"]["call_id"])
    if breakpoints is not None:
        payload["breakpoints"] = [breakpoint_stored(b) for b in breakpoints]
    _signal(turn, action, by, payload)


def _require_call(turn: Turn, call_id: str) -> None:
    """A result given for a call nobody waits for would be dropped in silence."""
    snapshot = standing_of(turn).snapshot
    if snapshot.state is State.EXECUTE_TOOLS:
        waiting = [call.id for call in snapshot.calls]
    elif snapshot.held_state is State.EVALUATE_STOP and snapshot.response is not None:
        waiting = [call.id for call in snapshot.response.tool_calls]
    else:
        waiting = []
    if call_id not in waiting:
        named = ", ".join(waiting) or "none"
        raise TurnConflict(f"No tool call “{call_id}” waits for its result; those that do: {named}.")


def _require_unfinished(turn: Turn) -> None:
    if turn.status not in UNFINISHED:
        raise TurnConflict(f"This turn has ended already: it is {turn.status}.")


def _signal(turn: Turn, action: str, by: str, payload: Mapping[str, Any]) -> None:
    from dashboard.live.tasks import defer_drive

    with transaction.atomic():
        Signal.objects.create(turn_id=turn.id, action=action, by=by, payload=dict(payload))
        defer_drive(turn.id)
