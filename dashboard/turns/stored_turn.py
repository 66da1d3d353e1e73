"""What several checks read of a turn beside its row: each is read once, when it is first asked for."""

from functools import cached_property

from agentcore.replay import Recording
from dashboard.turns.history import messages_of, recording_from, request_body_of
from dashboard.turns.models import Attempt, Record, Turn
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
        return messages_of(self._turn.id)

    def body_of(self, attempt: Attempt) -> str:
        """The exact JSON text of its request."""
        if attempt.index not in self._bodies:
            self._bodies[attempt.index] = request_body_of(attempt, self._messages)
        return self._bodies[attempt.index]
