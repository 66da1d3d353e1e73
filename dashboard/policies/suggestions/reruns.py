"""Live re-runs of a turn that tried the limit in question, and nothing else."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore import serial
from agentcore.reasons import NormalizedStopReason, TurnStatus
from dashboard.policies.predictions.endings import was_changed
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.turns.models import UNFINISHED, Attempt, Turn
from dashboard.turns.record_reader import acts_of

#: Errors of an envelope that more of a limit did not help. Another failure is the provider's, and tells nothing.
INVALID = frozenset({"envelope_invalid", "envelope_truncation_unrecoverable"})
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
        """Whether it ended without being complete, by a limit again; of retries, by the same kind of failure; of a
        structured answer, without a valid one; of time, by the time limit, also before any text came."""
        refused = self.limit == "max_retries" and self.turn.terminal_reason == "provider_error"
        invalid = self.turn.status == TurnStatus.FAILED and self.turn.error_code in INVALID
        late = self.limit == self.turn.resource == "max_seconds"
        return self.turn.status == TurnStatus.PARTIAL or refused or invalid or late

    @property
    def tells_nothing(self) -> bool:
        """Whether it ended without showing whether the value is enough: its provider failed, or somebody stopped it."""
        return not (self.running or self.in_vain or self.turn.status == TurnStatus.COMPLETED)


def reruns_of(case: ExhaustedLimit) -> tuple[LimitTrial, ...]:
    """The oldest first. One that was given anything else otherwise, also by an operator while it ran, tells nothing of
    the limit alone."""
    found = [tried for child in case.turn.children.order_by("id") if (tried := _tried(case, child)) is not None]
    acts = acts_of([tried.turn.id for tried in found]) if found else ()
    changed = {record.turn_id for record in acts if was_changed([serial.event_from_json(record.event)])}
    return tuple(tried for tried in found if tried.turn.id not in changed)


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
    return None if value is None else math.ceil(value)


def said_the_same(case: ExhaustedLimit, trial: LimitTrial) -> bool:
    """Whether the provider said the same twice, as far as is known.

    Each answer up to the last recorded one is the same, and that one goes on at most; under another max_tokens up to
    the first that was cut. An answer without text or calls shows nothing: the model may have thought of anything else.
    """
    recorded, again = _answers(case.turn), _answers(trial.turn)
    if case.limit == "max_tokens":
        recorded = recorded[: next((place for place, said in enumerate(recorded, 1) if said.cut), 0)]
    if len(again) < len(recorded) or not recorded:
        return False
    last, new = recorded[-1], again[len(recorded) - 1]
    before = [said.told for said in recorded[:-1]] == [said.told for said in again[: len(recorded) - 1]]
    return before and bool(last.text or last.calls) and last.begins(new)


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of one answer, its whole calls by name and arguments, and whether it was cut."""

    text: str
    calls: list[tuple[str, str]]
    cut: bool

    @property
    def told(self) -> tuple[str, list[tuple[str, str]]]:
        return self.text, self.calls

    def begins(self, other: "Answer") -> bool:
        """Whether the other answer is this one, or goes on from it."""
        return other.text.startswith(self.text) and other.calls[: len(self.calls)] == self.calls


def _answers(turn: Turn) -> list[Answer]:
    rows = Attempt.objects.filter(turn_id=turn.id).order_by("index").values_list("text", "tool_calls", "stop_reason")
    return [
        Answer(text or "", [(call["name"], call["raw"]) for call in calls], reason == NormalizedStopReason.MAX_TOKENS)
        for text, calls, reason in rows
    ]
