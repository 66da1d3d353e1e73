"""What of a file speaks against it that its stored turn does not show: words that no row of a turn has, and times that
cannot be. What rows have, the verification of the stored turn compares (`dashboard.turns.verification`).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.utils import timezone

from agentcore import serial
from agentcore.events import Setup, Started
from agentcore.replay import Recording
from dashboard.agents.policies import overridden
from dashboard.ingest.turn_files import file_schema
from dashboard.platform.ids import made_at
from dashboard.turns.evidence import other_beginning
from dashboard.turns.request_evidence import CLOCKS_DIFFER
from dashboard.turns.sent_caps import cap_agrees

INTO_THE_FUTURE = timedelta(days=1)  #: what clocks may differ by
NOT_THE_FIRST = "Its {what} differs from its first record"
NOT_THE_STATE = "Its {what} differs from the state at which it was forked"
LATER = "According to its times, it was {what} after {than}"
DOUBTED = "The installation that exported the file says that the turn did not verify there"
ENDED = frozenset({"complete", "abort"})


def turn_doubt(turn: file_schema.Turn, recording: Recording, columns: Mapping[str, Any]) -> str:
    """The first fault, in words; empty where there is none. `columns`: what the history tells of the turn's row."""
    return next(_turn_faults(turn, recording, columns), "")


def _turn_faults(turn: file_schema.Turn, recording: Recording, columns: Mapping[str, Any]) -> Iterator[str]:
    setup = _setup(recording)
    if "model" in columns and turn.model != columns["model"]:
        yield "Its model differs from its history"
    if "max_tokens" in columns and not _has_cap(turn, columns["max_tokens"], setup):
        yield "Its max_tokens differs from its history"
    if turn.gave_up is not None and columns["state"] in ENDED:
        yield "It has a reason for being given up, but its history has an end"
    first = recording.records[0].event if recording.records else None
    if isinstance(first, Started) and turn.breakpoints != serial.event_to_json(first).get("breakpoints", []):
        yield NOT_THE_FIRST.format(what="list of breakpoints")
    base = recording.base_snapshot
    if base.setup is not None and (other := other_beginning(turn.provider, turn.input_text, base.setup, base.messages)):
        yield NOT_THE_STATE.format(what=other)
    if (turn.forked_at is None) != (turn.base_snapshot is None):
        yield "It names only one of the record and the state at which it was forked"
    if setup is not None and setup.parent is not None and setup.parent != str(turn.parent_id):
        yield NOT_THE_FIRST.format(what="parent")
    if not _gives_its_policy(turn.overrides, recording):
        yield "Its policy does not follow from its overrides"
    yield from _unused(turn)
    yield from _times(turn)


def _has_cap(turn: file_schema.Turn, cap: int | None, setup: Setup | None) -> bool:
    return turn.max_tokens == cap or (cap is None and setup is not None and cap_agrees(turn.max_tokens, setup))


def _setup(recording: Recording) -> Setup | None:
    first = recording.records[0].event if recording.records else None
    return first.setup if isinstance(first, Started) else recording.base_snapshot.setup


def _gives_its_policy(overrides: Mapping[str, Any], recording: Recording) -> bool:
    """What was asked for beside the policy stands in it; other keys tell where a re-run came from."""
    try:
        return overridden(recording.policy, overrides) == recording.policy
    except (TypeError, ValueError, KeyError, AttributeError):
        return False


def _unused(turn: file_schema.Turn) -> Iterator[str]:
    """Messages that no request sent."""
    sent = max((attempt.messages_sent for attempt in turn.attempts), default=0)
    if len(turn.messages) > sent:
        yield f"It has {len(turn.messages)} messages, of which its requests sent {sent}"


def _times(turn: file_schema.Turn) -> Iterator[str]:
    """Times in an order in which no turn can happen."""
    if not turn.records:
        return
    begun, ended = turn.records[0].at, turn.records[-1].at
    if abs(turn.created_at - begun) > CLOCKS_DIFFER and turn.created_at > begun:
        yield LATER.format(what="created", than="its first record")
    if any(later.at + CLOCKS_DIFFER < earlier.at for earlier, later in pairwise(turn.records)):
        yield "Its records are not in the order of their times"
    for record in turn.records:
        if abs(record.at - begun - _after(record.event)) > CLOCKS_DIFFER:
            yield f"The time of record {record.seq} differs from the time of its event"
    for attempt in turn.attempts:
        yield from _call_times(attempt, begun, ended)


def _call_times(attempt: file_schema.Attempt, begun: datetime, ended: datetime) -> Iterator[str]:
    lasted, first = attempt.duration_ms, attempt.first_token_ms
    times = [attempt.started_at, *(chunk.at for chunk in attempt.chunks)]
    if any(not begun - CLOCKS_DIFFER <= at <= ended + CLOCKS_DIFFER for at in times):
        yield "Its calls were not made while it ran"
    if lasted is not None and lasted > (ended - attempt.started_at + CLOCKS_DIFFER) / timedelta(milliseconds=1):
        yield f"The duration of attempt {attempt.index} is longer than the turn"
    if first is not None and (lasted is None or first > lasted):
        yield f"The first token of attempt {attempt.index} came after its end"


def _after(event: Mapping[str, Any]) -> timedelta:
    """How long after the turn's beginning an event says that it happened."""
    at = event.get("at", 0.0)
    return timedelta(seconds=float(min(max(at, -1e9), 1e9))) if isinstance(at, int | float) else timedelta()


def file_doubt(file: file_schema.TurnFile, recording: Recording) -> str:
    """The first fault of the file as a whole, in words: its id, and times that no turn can have."""
    return next(_file_faults(file, recording), "")


def _file_faults(file: file_schema.TurnFile, recording: Recording) -> Iterator[str]:
    if file.origin is not None and file.origin.doubt:
        yield DOUBTED
    setup = _setup(recording)
    if setup is not None and setup.turn_id != str(file.id):
        yield "Its id differs from the id at its start"
    made = made_at(file.id)
    if made is None:
        yield "Its id does not contain its creation time, as the ids of turns do"
    elif abs(made - file.turn.created_at) > CLOCKS_DIFFER:
        yield "The time in its id differs from its creation time"
    if file.turn.records and file.exported_at + CLOCKS_DIFFER < file.turn.records[-1].at:
        yield LATER.format(what="still running", than="its export")
    if max(file.exported_at, file.turn.created_at) > timezone.now() + INTO_THE_FUTURE:
        yield LATER.format(what="exported", than="its import")
