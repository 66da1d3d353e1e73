"""What a person does to a turn that runs: its driver is told by a signal, and writes the history alone.

Two who act at once are told apart in the database: whoever comes second finds the turn moved on, or the first one's
signal waiting, under the lock of the turn's row.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Unpack

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from agentcore import serial
from agentcore.events import APPROVAL_TIME_LIMIT
from agentcore.machine.pending_tool_calls import pending_calls
from agentcore.reasons import TurnStatus
from agentcore.snapshot import Snapshot
from agentcore.states import State
from agentcore.values import replace
from dashboard.agents.change_tracking import tell_done
from dashboard.live import conversation_queue
from dashboard.live.jobs import defer_drive
from dashboard.live.models import OwnedTurn, Signal
from dashboard.live.operator_changes import EMPTY, Changes, Part, operator_changes, parts_clean
from dashboard.live.signals import calls_decided
from dashboard.platform.fields import storable_text
from dashboard.turns.history import position_of, snapshot_at
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.record_reader import records_of

RELEASING = ("release", "step", "refuse")
#: What becomes of calls that wait for approval, by the action.
DECIDING = {"release": "approved", "refuse": "refused"}
OWNED = "This turn streams to a gateway caller. It ends with its answer, or when the caller disconnects."
BY_PEOPLE = ("operator_acted", "cancel_requested")  #: events


class TurnConflict(Exception):
    """The turn is not where this makes sense; the message says where it is."""


def turn_cancel(*, turn: Turn, by: str, expected_seq: int | None = None) -> None:
    """Ask the turn's driver to end it, or take it out of its line; one that has ended already is a conflict."""
    # The line is locked before the turn, here as where a turn ends.
    if conversation_queue.withdraw(turn, by):
        return
    with transaction.atomic():
        _locked(turn, expected_seq)
        _signal(turn, "cancel", by, {})


def turn_control(
    *, turn: Turn, by: str, action: str, expected_seq: int | None = None, **changes: Unpack[Changes]
) -> None:
    """Hold, release, step, refuse or change a turn, with changes that count from its next judgement on.

    `expected_seq`: the last record that whoever acts has seen. Raises `ValidationError` by field, and `TurnConflict`.
    """
    payload = operator_changes(turn, changes)
    parts = parts_clean(changes)
    with transaction.atomic():
        now = _locked(turn, expected_seq)
        _require_place(now, action, changes.get("run_to"))
        if action in RELEASING:
            _require_still_held(now)
        payload |= _judged_where_it_stands(now, action, parts, changes.get("rewritten") or {})
        for also in parts[:-1]:
            _signal(turn, "change", by, also)
        _signal(turn, action, by, {**payload, **(parts[-1] if parts else {})})
        _tell_decision(now, action, by)


def _tell_decision(turn: Turn, action: str, by: str) -> None:
    """Of calls that waited for approval: who decided stands in the inbox, where the entry was."""
    approving = position_of(turn).snapshot.approving if action in DECIDING and by != APPROVAL_TIME_LIMIT else ()
    tell_done("approve" if approving and action == "release" else action)
    if approving:
        told = f"Calls of {' and '.join(dict.fromkeys(approving))} {DECIDING[action]}."
        calls_decided.send(sender=Turn, turn=turn, by=by, told=told)


def _judged_where_it_stands(
    turn: Turn, action: str, parts: Sequence[Part], rewritten: Mapping[int, str]
) -> dict[str, Any]:
    """What of the change depends on the calls and messages there are: the latter, where any is rewritten."""
    if not (parts or rewritten or action == "refuse"):
        return {}
    snapshot = position_of(turn).snapshot
    _require_calls(snapshot, parts)
    _require_approval(snapshot, action)
    return {"messages": _rewritten(snapshot, rewritten)} if rewritten else {}


def _locked(turn: Turn, expected_seq: int | None) -> Turn:
    """The turn as it is and stays until the transaction ends: not ended, nor moved on from what was seen.

    Nor one that a process runs for a caller, which would go on answering them.
    """
    now = Turn.objects.select_for_update().get(id=turn.id)
    if now.status not in UNFINISHED:
        raise TurnConflict(_ended(now, expected_seq))
    if OwnedTurn.objects.filter(turn_id=turn.id).exists():
        raise TurnConflict(OWNED)
    if expected_seq is not None and (waiting := _waiting(turn).first()) is not None:
        raise TurnConflict(_being_done(waiting))
    if expected_seq is not None and now.last_seq != expected_seq:
        raise TurnConflict(_moved_on(now, expected_seq))
    return now


def _require_still_held(turn: Turn) -> None:
    """Who let it go before has won; a second release would pass the next hold, which nobody has seen yet."""
    leaving = _waiting(turn).filter(action__in=(*RELEASING, "cancel")).first()
    if leaving is not None:
        raise TurnConflict(_being_done(leaving))


def _waiting(turn: Turn) -> QuerySet[Signal]:
    return Signal.objects.filter(turn_id=turn.id, handled_at=None).order_by("id")


def _being_done(signal: Signal) -> str:
    when = f"{signal.created_at:%H:%M:%S} UTC"
    decided = DECIDING.get(signal.action)
    if decided and position_of(Turn.objects.get(id=signal.turn_id)).snapshot.approving:
        return f"{signal.by} {decided} these calls at {when}. The turn is about to continue."
    return f"{signal.by} requested “{signal.action}” at {when}. The turn has not processed it yet. Reload the page."


def _moved_on(turn: Turn, seen: int) -> str:
    """Who did what since record `seen`; else only that something happened."""
    if seen > turn.last_seq:
        return f"This turn has no record {seen} yet; its last is {turn.last_seq}."
    first = _who_was_first(turn, seen)
    if first is None:
        return f"The turn has moved on from record {seen}, which you saw, to record {turn.last_seq}. Reload the page."
    return f"{first}. Check the current state before you act."


def _ended(turn: Turn, seen: int | None) -> str:
    """How, and who did what since record `seen`."""
    first = _who_was_first(turn, seen) if seen is not None and seen < turn.last_seq else None
    return f"This turn has ended already: it is {turn.status}." + (f" {first}." if first else "")


def _who_was_first(turn: Turn, seen: int) -> str | None:
    since = islice(records_of(turn.id, after=seen, backwards=True), 50)
    acted = next((record for record in since if record.event["type"] in BY_PEOPLE), None)
    if acted is None:
        return None
    what = acted.event.get("action", "change") if acted.event["type"] == "operator_acted" else "cancel"
    approving = what in DECIDING and snapshot_at(turn, acted.seq - 1).approving
    did = f"{DECIDING[what]} these calls" if approving else f"requested “{what}”"
    by, when = acted.event.get("by") or "someone", f"{acted.at:%H:%M:%S} UTC"
    return f"{by} was first and {did} at {when} (record {acted.seq})"


def _require_place(turn: Turn, action: str, run_to: str | None) -> None:
    held = turn.status == TurnStatus.HELD
    if action in RELEASING and not held:
        raise TurnConflict(f"Only a held turn accepts “{action}”; this one is {turn.status}.")
    if action == "hold" and held:
        raise TurnConflict("This turn is held already; release it, or take a step.")
    if run_to is not None and action != "release":
        raise TurnConflict(f"Use run_to with release, not with {action}.")


def _require_approval(snapshot: Snapshot, action: str) -> None:
    if action == "refuse" and not snapshot.approving:
        raise TurnConflict("No call is waiting for approval, so none can be refused.")


def _require_calls(snapshot: Snapshot, parts: Sequence[Part]) -> None:
    """A result or arguments for a call nobody waits for would be dropped in silence."""
    waiting = [call.id for call in pending_calls(snapshot)]
    for one in (said for part in parts for said in part.values()):
        if one["call_id"] not in waiting:
            named = ", ".join(waiting) or "none"
            raise TurnConflict(f"No tool call “{one['call_id']}” waits for its result; those that do: {named}.")
        if "arguments" in one and snapshot.state is State.EXECUTE_TOOLS:
            raise TurnConflict(
                "The tools are already running with the original arguments. Hold the turn before they start."
            )


def _rewritten(snapshot: Snapshot, texts: Mapping[int, str]) -> list[dict[str, Any]]:
    """The conversation with these texts in it. What a dialect has kept of a changed message says the old ones."""
    for place, message in enumerate(snapshot.messages, start=1):
        if place in texts and not (texts[place].strip() or message.tool_calls):
            raise ValidationError({f"message_{place}": EMPTY})
    return [
        serial.to_json(replace(message, text=storable_text(texts[place]), echo=None) if place in texts else message)
        for place, message in enumerate(snapshot.messages, start=1)
    ]


def _signal(turn: Turn, action: str, by: str, payload: Mapping[str, Any]) -> None:
    Signal.objects.create(turn_id=turn.id, action=action, by=by, payload=dict(payload))
    defer_drive(turn.id)
