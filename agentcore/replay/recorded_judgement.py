"""Judging again what was judged: criteria and a resolver from outside answer what was recorded of them.

Their code may be gone or changed since. A history is folded with what they said then; only *verify*, and what was never
judged before, ask them anew. `NotHere` stands for one that was not given when the recording was read: *verify* recalls
that too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentcore.criteria.builtin import ErrorPolicyCriterion
from agentcore.error_policy import ErrorContext
from agentcore.errors import CoreError, ErrorType, RecordingError
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.machine.advance import Step, advance
from agentcore.machine.error_context import Unresolved
from agentcore.policy import Policy
from agentcore.reasons import StopReason
from agentcore.replay.legacy_bounds import as_bounded
from agentcore.replay.legacy_sentences import unresolved_in
from agentcore.replay.recording import Record, Recording
from agentcore.snapshot import Snapshot
from agentcore.values import replace

_NONE: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class RecordedCriterion:
    """A criterion that says again what it said at each deciding state of one record."""

    said: Mapping[str, ContinuationEvaluation]  #: by state, of which no record judges one twice

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        return self.said[state.state]


@dataclass(frozen=True, slots=True)
class RecalledResolver:
    """A resolver that says again what the error policy was asked about at each deciding state of one record."""

    said: Mapping[str, Mapping[str, Any]]  #: by state, the recorded evaluation of the error policy

    def resolve(self, state: Snapshot) -> ErrorContext:
        said = self.said.get(state.state)
        if said is None:
            return state.counted_error_context()
        if words := unresolved_in(said, state.revision):
            raise Unresolved(words)
        counted, context = state.counted_error_context(), said["context"]
        return replace(
            counted,
            type=ErrorType(context["errorType"]),
            consecutive_failures=context["consecutiveFailures"],
            total_failures=context["totalFailures"],
            tool_name=context["toolName"],
        )


@dataclass(frozen=True, slots=True)
class NotHere:
    """A criterion or resolver that judged a turn and was not given when its recording was read."""

    name: str

    def explain(self, _state: Snapshot) -> ContinuationEvaluation:
        raise CoreError(self._words)

    def resolve(self, _state: Snapshot) -> ErrorContext:
        raise CoreError(self._words)

    @property
    def _words(self) -> str:
        return f"{self.name} is not stored with the recording; give it with recording_from_json(…, like=…)."


def with_stand_ins(
    policy: Policy, transitions: Sequence[Mapping[str, Any]], command: Mapping[str, Any] = _NONE
) -> Policy:
    """The policy for the record with these transitions: what is not here is recalled from them, the rest is asked."""
    policy = as_bounded(policy, transitions, command)
    here = not isinstance(policy.resolver, NotHere)
    if here and not any(isinstance(criterion, NotHere) for criterion in policy.criteria):
        return policy
    recalled = as_judged(policy, transitions)
    pairs = zip(policy.criteria, recalled.criteria, strict=True)
    criteria = tuple(other if isinstance(given, NotHere) else given for given, other in pairs)
    return replace(policy, criteria=criteria, resolver=policy.resolver if here else recalled.resolver)


def step_again(snapshot: Snapshot, recording: Recording, record: Record) -> Step:
    """The step of this record, which comes after `snapshot`, judged as it was judged then.

    Raises `CoreError` where the record cannot follow, and `RecordingError` where it is not one.
    """
    return advance(snapshot, record.event, as_judged(recording.policy, record.transitions, record.command))


def as_judged(policy: Policy, transitions: Sequence[Mapping[str, Any]], command: Mapping[str, Any] = _NONE) -> Policy:
    """The policy for the record with these transitions (as JSON), its outside criteria and resolver recalled from them.
    `command`: what the record asked for, as JSON; an earlier release may have judged less (`legacy_bounds`).

    Raises `RecordingError` for transitions that are not a record's.
    """
    policy = as_bounded(policy, transitions, command)
    if not policy.criteria and policy.resolver is None:
        return policy
    count = len(policy.criteria)
    try:
        recalled = tuple(RecordedCriterion(_said(transitions, position - count)) for position in range(count))
        resolver = None if policy.resolver is None else RecalledResolver(_asked_about(transitions))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"This recording has evaluations that cannot be read: {error}") from error
    return replace(policy, criteria=recalled, resolver=resolver)


def _asked_about(transitions: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """What the error policy said in each deciding state, with the context it was asked about."""
    return {
        transition["from"]: said
        for transition in transitions
        if transition.get("outcome")
        for said in transition["outcome"]["evaluations"]
        if said["criterion"] == ErrorPolicyCriterion.__name__
    }


def _said(transitions: Sequence[Mapping[str, Any]], position: int) -> dict[str, ContinuationEvaluation]:
    """What the criterion at `position` said, counted from the end: criteria from outside come last."""
    outcomes = {transition["from"]: transition["outcome"] for transition in transitions if transition.get("outcome")}
    return {
        state: _evaluation(outcome["evaluations"][position], StopReason(outcome["stopReason"]))
        for state, outcome in outcomes.items()
        if len(outcome["evaluations"]) >= -position
    }


def _evaluation(said: Mapping[str, Any], stop_reason: StopReason) -> ContinuationEvaluation:
    decision = ContinuationDecision(said["decision"])
    return ContinuationEvaluation(
        said["criterion"],
        decision,
        said["reason"],
        said["context"],
        stop_reason if decision is ContinuationDecision.FORBID else None,
        said.get("message"),
    )
