"""Compares rows derived from a history with what the history gives.

The judgements (`Outcome`), what the turn knew at some records (`Checkpoint`), and the group that it is counted in
(`Cohort`). A fault is a sentence, with the record it is about.

Also holds what several checks read of a turn beside its row: each is read once, when it is first asked for.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

from agentcore import VERSION, serial
from agentcore.replay import Recording, step_again
from dashboard.platform.fields import exact_json
from dashboard.turns.evidence import Fault
from dashboard.turns.history import messages_from, recording_from, request_body_of
from dashboard.turns.models import Attempt, Checkpoint, Cohort, Outcome, Record, Turn
from dashboard.turns.record_compression import PACKED, beside_packed, unpacked_records
from dashboard.turns.record_reader import records_of
from dashboard.turns.row_mapping import judged_in, judgement
from dashboard.turns.shared_values import ASKED


class StoredTurn:
    """The records, attempts and requests of `turn`, as they are stored."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._bodies: dict[int, str] = {}

    @cached_property
    def records(self) -> list[Record]:
        return list(records_of(self._turn.id))

    @cached_property
    def recording(self) -> Recording:
        return recording_from(self._turn, self.records)

    @cached_property
    def attempts(self) -> list[Attempt]:
        """By their numbers."""
        return list(Attempt.objects.filter(turn_id=self._turn.id).order_by("index"))

    @cached_property
    def _messages(self) -> list[str]:
        return messages_from(self._turn.id, self._turn.node_id)

    @cached_property
    def cohort(self) -> Cohort | None:
        """The group that it is counted in. The database puts it there, so it is asked anew."""
        return Cohort.objects.filter(id__in=Turn.objects.filter(id=self._turn.id).values("cohort")).first()

    @cached_property
    def checkpoints(self) -> Mapping[int, Any]:
        """What this version of the core knew after some records, by their numbers."""
        found = Checkpoint.objects.filter(turn_id=self._turn.id, core_version=VERSION)
        return dict(found.values_list("seq", "snapshot"))

    def body_of(self, attempt: Attempt) -> str:
        """The exact JSON text of its request."""
        if attempt.index not in self._bodies:
            self._bodies[attempt.index] = request_body_of(attempt, self._messages)
        return self._bodies[attempt.index]


def stored_turns(turns: Collection[Turn]) -> dict[UUID, StoredTurn]:
    """Of turns that were read just now: what many of them share, or few of them have, is asked for all at once."""
    cohorts = Cohort.objects.in_bulk({turn.cohort for turn in turns if turn.cohort is not None})
    kept = Checkpoint.objects.filter(turn_id__in=[turn.id for turn in turns], core_version=VERSION)
    with_checkpoints = set(kept.values_list("turn_id", flat=True).distinct())
    found = {turn.id: StoredTurn(turn) for turn in turns}
    for turn in turns:
        found[turn.id].cohort = cohorts.get(turn.cohort) if turn.cohort is not None else None
        if turn.id not in with_checkpoints:
            found[turn.id].checkpoints = {}
    return found


JUDGEMENT = ("state", "decision", "resolved_by", "stop_reason", "error_type", "handling", "evaluations")
COHORT = (
    "project_id", "stop_reason", "model_stop_reason", "status", "provider", "model", "agent_name", "error_type",
    "terminal_reason", "resource",
)  # fmt: skip
#: Of a cohort, whether a turn has any of these.
COUNTED = {"continuation": "continuations", "repair": "tool_repairs", "envelope_retry": "envelope_retries"}

Place = tuple[int, int]  #: the record, and the transition in it


def derived_faults(turn: Turn, recording: Recording, stored: StoredTurn) -> Iterator[Fault]:
    """Every such row that is not as the history has it, is missing, or is one too many."""
    yield from _column_faults(turn.id)
    if not _are_rules_alike(turn):
        yield Fault(len(recording.records), "The copy of its policy that searches use differs from it.")
    yield from _judgement_faults(turn.id, recording)
    yield from _checkpoint_faults(stored.checkpoints, recording)
    if recording.records and not _is_in(turn, stored.cohort):
        yield Fault(len(recording.records), "The group that the turn is counted in differs from its row.")


def _column_faults(turn_id: UUID) -> Iterator[Fault]:
    """Statements read the columns, people what is compressed beside them."""
    rows = Record.objects.filter(turn_id=turn_id).exclude(packed=None, length=1).order_by("seq")
    as_stored = (Cast(name, TextField()) for name in PACKED)
    for seq, length, content, judged, *held in rows.values_list("seq", "length", "packed", "judged", *as_stored):
        columns = content and beside_packed(unpacked_records(content, length))
        if not _is_same(dict(zip(PACKED, map(exact_json, held), strict=True)), columns) or not _has_judgements(judged):
            yield Fault(seq, f"The columns of record {seq} differ from the record.")


def _has_judgements(judged: Any) -> bool:
    """Whether each has as many values as `turns_judgement` reads."""
    return judged is None or (judged and all(len(each) == len(JUDGEMENT) + 2 for each in judged))


def _is_same(one: Any, other: Any) -> bool:
    """Whether both are the same JSON. To Python 1 and true are equal, and 1 and 1.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _are_rules_alike(turn: Turn) -> bool:
    """Statements read what the row has beside the reference to its rules; people, and the machine, what is there."""
    as_stored = [Cast(name, TextField()) for name in ASKED]
    held = Turn.objects.filter(id=turn.id).values_list(*as_stored).first() or ()
    rows = {name: exact_json(text) for name, text in zip(ASKED, held, strict=False) if text is not None}
    return all(
        _is_same(told[1:], [ASKED[name](getattr(turn, name))]) for name, told in rows.items() if isinstance(told, list)
    )


def _judgement_faults(turn_id: UUID, recording: Recording) -> Iterator[Fault]:
    said, judged = _said(recording)
    stored = defaultdict[Place, list[Any]](list)
    for seq, position, *values in Outcome.objects.filter(turn_id=turn_id).values_list("seq", "position", *JUDGEMENT):
        stored[seq, position].append(values)
    for place in sorted(judged | stored.keys()):
        if place not in said or not _is_same(stored[place], [[said[place][name] for name in JUDGEMENT]]):
            yield Fault(place[0], f"The evaluations listed for record {place[0]} differ from the record.")


def _said(recording: Recording) -> tuple[dict[Place, Mapping[str, Any]], set[Place]]:
    """What the history has in each place, and the places that have a row; earlier releases had rows of others too."""
    said: dict[Place, Mapping[str, Any]] = {}
    judged = set[Place]()
    for record in recording.records:
        judged |= {(record.seq, position) for position, _ in judged_in(record)}
        for position, transition in enumerate(record.transitions):
            if transition["outcome"] is not None:
                said[record.seq, position] = judgement(record.seq, position, transition)
    return said, judged


def _checkpoint_faults(checkpoints: Mapping[int, Any], recording: Recording) -> Iterator[Fault]:
    """What another version of the core wrote may say the same in another form."""
    stored = dict(checkpoints)
    if not stored:
        return
    snapshot = recording.base_snapshot
    for record in recording.records:
        snapshot = step_again(snapshot, recording, record).snapshot
        if record.seq in stored and not _is_same(stored.pop(record.seq), serial.to_json(snapshot)):
            yield Fault(record.seq, f"The stored state of the turn after record {record.seq} was changed.")
    for seq in stored:
        yield Fault(len(recording.records), f"A state is stored for record {seq}, which the turn does not have.")


def _is_in(turn: Turn, cohort: Cohort | None) -> bool:
    """Whether it stands in the cohort that its row belongs to."""
    return (
        cohort is not None
        and all(getattr(cohort, name) == getattr(turn, name) for name in COHORT)
        and all(getattr(cohort, name) == (getattr(turn, of) > 0) for name, of in COUNTED.items())
    )
