"""Turns that are written by one statement, with their rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from dashboard.gateway.recording.pg_connection import SECONDS
from dashboard.gateway.recording.recorder_messages import TurnUpdate
from dashboard.gateway.recording.rows import TableRows

TURN_SECONDS = 0.01  #: that each turn of a group adds to what its statement may take,
BYTES_A_SECOND = 1024 * 1024  #: and their bytes, in whole seconds


@dataclass(slots=True)
class TurnGroup:
    """Turns that are written by one statement, with their rows."""

    statement: str
    parts: dict[UUID, TurnUpdate] = field(default_factory=dict)
    rows: dict[UUID, TableRows] = field(default_factory=dict)
    ended: set[UUID] = field(default_factory=set)
    sent: bool = False  #: and it is not known what became of it
    refused: int = 0  #: times, because it refers to nodes that have been erased since they were stored

    def halves(self) -> "list[TurnGroup]":
        ids = list(self.parts)
        return [self._of(ids[: len(ids) // 2]), self._of(ids[len(ids) // 2 :])]

    def singles(self) -> "list[TurnGroup]":
        return [self._of([turn_id]) for turn_id in self.parts]

    @property
    def seconds(self) -> float:
        """That its statement may take. Few of the values come up, for each new one is told to the database."""
        size = sum(part.size for part in self.parts.values())
        return SECONDS + int(len(self.parts) * TURN_SECONDS) + size // BYTES_A_SECOND

    def _of(self, ids: Sequence[UUID]) -> "TurnGroup":
        parts, rows = ({i: given[i] for i in ids} for given in (self.parts, self.rows))
        return TurnGroup(self.statement, parts, rows, self.ended & set(ids))  # type: ignore[arg-type]

    def together(self) -> TableRows:
        """The rows of all of them."""
        whole = TableRows()
        for rows in self.rows.values():
            whole.add_all(rows)
        return whole
