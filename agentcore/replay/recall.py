"""Judging again what was judged: criteria from outside answer what was recorded of them.

Their code may be gone or changed since. A history is folded with what they said then; only *verify*, and what was never
judged before, ask them anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentcore.criteria.outcome import ContinuationDecision, ContinuationEvaluation
from agentcore.errors import RecordingError
from agentcore.machine.snapshot import Snapshot
from agentcore.policy import Policy
from agentcore.reasons import StopReason
from agentcore.values import replace


@dataclass(frozen=True, slots=True)
class Recalled:
    """A criterion that says again what it said at each deciding state of one record."""

    said: Mapping[str, ContinuationEvaluation]  #: by state, of which no record judges one twice

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        return self.said[state.state]


def as_judged(policy: Policy, transitions: Sequence[Mapping[str, Any]]) -> Policy:
    """The policy for the record with these transitions (as JSON), its outside criteria recalled from them.

    Raises `RecordingError` for transitions that are not a record's.
    """
    if not policy.criteria:
        return policy
    count = len(policy.criteria)
    try:
        recalled = tuple(Recalled(_said(transitions, position - count)) for position in range(count))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"This recording has evaluations that cannot be read: {error}") from error
    return replace(policy, criteria=recalled)


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
