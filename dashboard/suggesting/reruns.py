"""Live re-runs of a turn that tried the limit in question, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.reasons import TurnStatus
from dashboard.suggesting.exhausted_limits import ExhaustedLimit
from dashboard.turns.models import UNFINISHED, Attempt, Turn

GROUPS = ("limits", "error_policy")  #: overrides that hold several settings


@dataclass(frozen=True, slots=True)
class LimitTrial:
    """A re-run, and the value of the limit that it was given."""

    value: int
    turn: Turn
    limit: str

    @property
    def running(self) -> bool:
        return self.turn.status in UNFINISHED

    @property
    def in_vain(self) -> bool:
        """Whether it ended without being complete, by a limit again; of retries, by the same kind of failure."""
        refused = self.limit == "max_retries" and self.turn.terminal_reason == "provider_error"
        return self.turn.status == TurnStatus.PARTIAL or refused


def reruns_of(case: ExhaustedLimit) -> tuple[LimitTrial, ...]:
    """The oldest first. One that was given anything else otherwise tells nothing of the limit alone."""
    found = (_tried(case, child) for child in case.turn.children.order_by("id"))
    return tuple(tried for tried in found if tried is not None)


def _tried(case: ExhaustedLimit, child: Turn) -> LimitTrial | None:
    given = _changed(case.turn.overrides, child.overrides)
    value = _taken(given, case.limit)
    alone = given in ({}, dict(case.together or {})) and child.forked_at is None
    return LimitTrial(value, child, case.limit) if alone and value is not None else None


def _changed(before: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What these overrides give otherwise than those before, by setting."""
    found: dict[str, Any] = {}
    for key, value in overrides.items():
        stood = before.get(key)
        if key in GROUPS and isinstance(value, dict) and isinstance(stood, dict):
            found[key] = {name: part for name, part in value.items() if name not in stood or stood[name] != part}
        elif key not in before or stood != value:
            found[key] = value
    return {key: value for key, value in found.items() if value != {}}


def _taken(given: dict[str, Any], limit: str) -> int | None:
    """The value of the limit, which is taken out of what was given; None where it was not given."""
    group = "error_policy" if limit == "max_retries" else "limits"
    place = given if limit == "max_tokens" else given.get(group)
    value = place.pop(limit, None) if isinstance(place, dict) else None
    if given.get(group) == {}:
        del given[group]
    return None if value is None else int(value)


def said_the_same(case: ExhaustedLimit, trial: LimitTrial) -> bool:
    """Whether the re-run's first answer begins as the recorded one does: the provider said the same twice, as far as
    is known."""
    recorded, again = (
        Attempt.objects.filter(turn_id=turn.id).order_by("index").values_list("text", flat=True).first() or ""
        for turn in (case.turn, trial.turn)
    )
    return again.startswith(recorded) if case.limit == "max_tokens" else again == recorded
