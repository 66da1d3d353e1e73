"""What operators set otherwise while turns ran: a stop by such a number is theirs, not the policy's."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dashboard.agents.observe_policy import WATCHER
from dashboard.turns.record_reader import acts_between

OPERATOR = "operator"  #: the level of a word that an operator said while the turn ran


@dataclass(frozen=True, slots=True)
class OperatorChange:
    """The last an operator made of a field: `value`, and who it was."""

    value: Any
    by: str


#: By turn and the field's name (of `policy_resolution.FIELDS`).
Changes = Mapping[tuple[UUID, str], OperatorChange]


def changes_of(turn_ids: Iterable[UUID]) -> Changes:
    """Every limit and rule of errors that an operator changed in these turns, as it was left, by one query. That the
    gateway let a watched answer go on which its provider had paused is nobody's word."""
    asked = set(turn_ids)
    if not asked:
        return {}
    return {
        (record.turn_id, f"{part}.{name}"): OperatorChange(value, record.event.get("by", ""))
        for record in acts_between(min(asked), max(asked))  # to name ten thousand turns takes longer
        if record.turn_id in asked and record.event.get("by") != WATCHER
        for part in ("limits", "error_policy")
        for name, value in (record.event.get(part) or {}).items()
    }
