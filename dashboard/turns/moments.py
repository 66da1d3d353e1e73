"""The moments of a recording, one per transition, with what the turn knew and had used then."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentcore.commands import Finish
from agentcore.criteria.builtin import ErrorPolicyCriterion
from agentcore.reason_text import evaluation_text
from agentcore.replay import Assumption, Certainty, Provenance, Span
from agentcore.snapshot import Snapshot
from agentcore.why import AlternativeTransition, roads_of
from agentcore.why.transition_case import Case, case_of
from agentcore.why.transition_text import transition_text
from dashboard.turns.meters import Meter, meters_of
from dashboard.turns.operator_text import changes_in_words

BY_COUNT = ("attempts", "continuations", "tool_repairs", "envelope_retries")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One criterion's answer. `decided`: the outcome was its doing."""

    criterion: str
    decision: str
    reason: str
    decided: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """The turn at one transition. `at` is in seconds since the turn started; `attempt` counts from 1, 0 before any."""

    number: int
    seq: int
    at: float
    source: str
    trigger: str
    target: str
    reason: str
    attempt: int
    iteration: int
    provenance: str
    resolved_by: str
    evaluations: tuple[Evaluation, ...]
    meters: tuple[Meter, ...]
    error: Mapping[str, Any] | None = None  #: the context the error policy was asked with, where something had failed
    end: Finish | None = None
    acted: str = ""  #: what a person changed by it, in words
    roads: tuple[AlternativeTransition, ...] = ()  #: what else could have happened there
    certainty: str = Certainty.RECORDED.value  #: of a what-if's step
    assumes: tuple[Assumption, ...] = ()  #: what that takes for granted

    @property
    def until(self) -> int:
        """The transition after this one."""
        return self.number + 1


def moments_of(spans: tuple[Span, ...]) -> tuple[Moment, ...]:
    """One moment per transition, in order."""
    return tuple(moment for span in spans for moment in _moments(span))


def _moments(span: Span) -> Iterator[Moment]:
    for number, transition in enumerate(span.record.transitions, start=span.first):
        snapshot = span.after if number == span.last else _on_the_way(span)
        yield _moment(span, number, transition, snapshot)


def _on_the_way(span: Span) -> Snapshot:
    """What the event brought counts at once; what a later transition of the record begins does not count yet."""
    counted = {name: getattr(span.before.spent, name) for name in BY_COUNT}
    iteration = max(1, span.before.iteration)
    return replace(span.after, iteration=iteration, spent=replace(span.after.spent, **counted))


def _moment(span: Span, number: int, transition: Mapping[str, Any], snapshot: Snapshot) -> Moment:
    outcome, case = transition.get("outcome") or {}, case_of(span, number, transition)
    return Moment(
        number=number,
        seq=span.record.seq,
        at=span.record.event.at,
        source=transition["from"],
        trigger=transition["trigger"],
        target=transition["to"],
        reason=transition["reason"] if case is None else transition_text(case),
        attempt=snapshot.spent.attempts,
        iteration=snapshot.iteration,
        provenance=Provenance(span.record.provenance).value,
        resolved_by=outcome.get("resolvedBy", ""),
        evaluations=tuple(_evaluations(outcome, case)),
        meters=meters_of(snapshot) if snapshot.setup else (),
        error=_error_seen(outcome),
        end=snapshot.end if number == span.last else None,
        acted=changes_in_words(span.record.event) if number == span.first else "",
        roads=roads_of(case) if case else (),
        certainty=span.record.certainty.value,
        assumes=span.record.assumes if number == span.first else (),
    )


def _evaluations(outcome: Mapping[str, Any], case: Case | None) -> Iterator[Evaluation]:
    snapshot, error = (case.snapshot, case.error) if case else (None, None)
    by = outcome.get("resolvedBy")
    for said in outcome.get("evaluations", ()):
        text = evaluation_text(said, snapshot, error)
        yield Evaluation(said["criterion"], said["decision"], text, said["criterion"] == by)


def _error_seen(outcome: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for said in outcome.get("evaluations", ()):
        if said["criterion"] == ErrorPolicyCriterion.__name__ and said["context"].get("consecutiveFailures"):
            seen: Mapping[str, Any] = said["context"]
            return seen
    return None
