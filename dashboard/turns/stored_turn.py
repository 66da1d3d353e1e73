"""What several checks read of a turn beside its row: each is read once, when it is first asked for."""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

from agentcore import VERSION
from agentcore.replay import Recording
from dashboard.turns.history import messages_from, recording_from, request_body_of
from dashboard.turns.models import Attempt, Checkpoint, Cohort, Record, Turn
from dashboard.turns.record_reader import records_of


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
