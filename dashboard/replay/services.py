"""Asking a recorded turn: is it true, and what if. Asking a provider once more is in `rerunning`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.policy import Policy
from agentcore.replay import Divergence, Recording, Verification, verify, what_if
from dashboard.agents.criteria import criteria_faults
from dashboard.agents.policies import overridden
from dashboard.live.services import overrides_clean
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.projection import failed_by, project, undecided


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A turn as it would have been. `turn` holds columns as a stored turn's; nothing is stored."""

    recording: Recording
    turn: dict[str, Any]

    @property
    def undecidable(self) -> bool:
        return self.recording.undecidable


def turn_verify(*, turn: Turn) -> Verification:
    """Feed the recorded events to the machine again and compare everything.

    Where a criterion of the turn's policy cannot be asked any more nothing can be compared, and the divergence says so.
    """
    recording = recording_of(turn)
    faults = criteria_faults(recording.policy)
    if faults:
        return Verification(False, 0, Divergence(1, None, {"error": " ".join(faults)}))
    return verify(recording)


def turn_what_if(*, turn: Turn, overrides: Mapping[str, Any]) -> WhatIf:
    """The recording under other numbers, with no provider asked. Raises `ValidationError` in words."""
    return what_if_under(recording_of(turn), turn, overrides)


def what_if_under(recording: Recording, turn: Turn, overrides: Mapping[str, Any]) -> WhatIf:
    """The same of a recording that was read already."""
    wanted = _wanted(turn, overrides)
    if faults := criteria_faults(recording.policy):
        raise ValidationError(faults)
    return what_if_of(recording, overridden(recording.policy, wanted), turn)


def what_if_of(recording: Recording, policy: Policy, turn: Turn) -> WhatIf:
    imagined = what_if(recording, policy)
    assert imagined.final is not None, "a what-if knows where it ended"
    at = None if turn.started_at is None else turn.finished_at
    columns = project(imagined.final, seq=len(imagined.records), started_at=turn.started_at, at=at)
    if imagined.undecidable:
        columns = undecided(columns)
    columns["error_type"] = failed_by(move for record in imagined.records for move in record.transitions)
    columns["duration_ms"] = round(imagined.final.at * 1000)
    return WhatIf(imagined, columns)


def _wanted(turn: Turn, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A what-if asks no provider: it needs no agent, but keeps to the ceiling of one that is there."""
    return overrides_clean(overrides, turn.agent.connection if turn.agent else None)
