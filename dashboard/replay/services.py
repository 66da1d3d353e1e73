"""Asking a recorded turn: is it true, what if, and once more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from agentcore import serial
from agentcore.errors import RecordingError
from agentcore.machine.snapshot import Snapshot
from agentcore.policy import Policy
from agentcore.replay import Divergence, Recording, Verification, fork, verify, what_if
from dashboard.accounts.models import User
from dashboard.agents.criteria import criteria_faults
from dashboard.agents.models import Project
from dashboard.agents.policies import overridden, stored_policy
from dashboard.agents.services import policy_said
from dashboard.live.services import overrides_clean, turn_queue
from dashboard.turns.history import recording_of
from dashboard.turns.models import Backtest, Turn
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
    wanted = _wanted(turn, overrides)
    recording = recording_of(turn)
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
    if turn.agent is None:
        raise ValidationError("The agent of this turn is gone; it can be read, but not replayed.")
    return overrides_clean(overrides, turn.agent)


def turn_rerun(
    *, turn: Turn, overrides: Mapping[str, Any], from_record: int | None = None, created_by: User | None = None
) -> Turn:
    """Ask the provider again under other numbers, from the start or from the state after record `from_record`.

    The new turn is stored with this one as its parent.
    """
    wanted = _wanted(turn, overrides)
    policy = overridden(stored_policy(turn.policy), wanted)
    child = Turn(
        project=turn.project,
        agent=turn.agent,
        agent_name=turn.agent_name,
        provider=turn.provider,
        model=policy.model or turn.model,
        input_text=turn.input_text,
        max_tokens=policy.max_tokens or turn.max_tokens,
        policy_version=turn.policy_version,
        policy=serial.to_json(policy),
        overrides={**turn.overrides, **wanted},
        parent=turn,
        forked_at=from_record,
        created_by=created_by,
    )
    by = created_by.get_username() if created_by else "fork"
    if from_record:
        base = _forked(turn, from_record, policy, str(child.id))
        child.base_snapshot, child.setup = serial.to_json(base), {"by": by}
    else:
        child.setup = _restarted(turn, str(child.id))
    return turn_queue(child)


def _restarted(turn: Turn, turn_id: str) -> dict[str, Any]:
    """The parent's beginning, under the new turn's id. A fork's beginning is its own parent's."""
    origin = turn
    while origin.base_snapshot is not None and origin.parent is not None:
        origin = origin.parent
    if "setup" not in origin.setup:
        raise ValidationError("Where this turn began is not stored any more; re-run it from one of its records.")
    return {**origin.setup, "setup": {**origin.setup["setup"], "turn_id": turn_id}}


def _forked(turn: Turn, seq: int, policy: Policy, turn_id: str) -> Snapshot:
    try:
        return fork(recording_of(turn), seq, policy, turn_id)
    except RecordingError as error:
        raise ValidationError({"from_record": str(error)}) from error


def backtest_create(
    *,
    project: Project,
    policy: Mapping[str, Any],
    filter: Mapping[str, Any],
    created_by: User | None = None,
) -> Backtest:
    """Queue a draft policy to be tried over stored turns. Raises `ValidationError` in words."""
    from dashboard.replay.tasks import run_backtest

    draft = policy_said(**policy)
    with transaction.atomic():
        backtest = Backtest.objects.create(project=project, policy=draft, filter=dict(filter), created_by=created_by)
        run_backtest.defer(backtest_id=str(backtest.id))
    return backtest
