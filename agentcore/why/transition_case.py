"""One transition with its context: the state it left, the evaluations there, and what is known of the answer.

Also holds how a guard stood when it was asked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentcore.errors import ProviderError
from agentcore.events import ModelFailed, ModelResponded
from agentcore.machine.answer_classification import response_error
from agentcore.messages import ChatResponse
from agentcore.replay.record_spans import Span
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call
from agentcore.states import DECIDING, State, Trigger
from agentcore.values import replace

Json = Mapping[str, Any]  #: as it is stored


@dataclass(frozen=True, slots=True)
class Case:
    """One transition out of a deciding state. `snapshot` is the turn's state after the record; None where this
    core cannot evaluate it, and then only what was recorded is known."""

    seq: int  #: of its record
    number: int  #: of the transition, from 1
    source: State  #: that was left
    trigger: Trigger  #: the one taken
    target: State  #: that was entered
    reason: str  #: in words, as recorded
    outcome: Json | None  #: `ContinuationOutcome.to_dict`; None: the turn was held before the judgement
    snapshot: Snapshot | None  #: see above
    response: ChatResponse | None  #: the answer under judgement
    error: ProviderError | None  #: the error under judgement, also one inside an answer
    answered_call: Call | None = None  #: the call that was answered; None where the record is no answer
    #: A cache of values read from this case, by name, because all guards need the same ones.
    kept: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def held(self) -> bool:
        """Whether the turn was held there before any judgement."""
        return self.trigger is Trigger.BREAKPOINT

    @property
    def sent_cap(self) -> int | None:
        """The `max_tokens` of the call that was answered; None where none was sent, or none is known."""
        known = None if self.snapshot is None else replace(self.snapshot, call=self.answered_call)
        return None if known is None else known.sent_cap

    @property
    def evaluations(self) -> tuple[Json, ...]:
        """The evaluation of each criterion."""
        return tuple(self.outcome["evaluations"]) if self.outcome else ()

    @property
    def forbade(self) -> tuple[Json, ...]:
        """The evaluations that forbade, in their order."""
        return tuple(said for said in self.evaluations if said["decision"] == "forbid")

    def said(self, criterion: str) -> Json | None:
        """The evaluation of the criterion of this name; None if it was not evaluated."""
        if "said" not in self.kept:
            self.kept["said"] = {said["criterion"]: said for said in reversed(self.evaluations)}
        found: Json | None = self.kept["said"].get(criterion)
        return found

    def context(self, criterion: str) -> Json:
        """The numbers of this criterion's evaluation; empty if it was not evaluated."""
        said = self.said(criterion)
        return said["context"] if said else {}


def cases_of(span: Span) -> Iterator[Case | None]:
    """One case for each transition of a record; None for transitions out of a waiting state, and for unknown ones."""
    for number, transition in enumerate(span.record.transitions, start=span.first):
        yield case_of(span, number, transition)


def case_of(span: Span, number: int, transition: Json) -> Case | None:
    """The case of one transition; None where it leaves no deciding state."""
    try:
        source, trigger, target = State(transition["from"]), Trigger(transition["trigger"]), State(transition["to"])
    except ValueError:
        return None
    if source not in DECIDING:
        return None
    known = span.after if span.known else None
    response = _response(span, known)
    return Case(
        seq=span.record.seq,
        number=number,
        source=source,
        trigger=trigger,
        target=target,
        reason=transition["reason"],
        outcome=transition.get("outcome"),
        snapshot=known,
        response=response,
        error=_error(span, response),
        answered_call=span.before.call if isinstance(span.record.event, ModelResponded) else None,
    )


def _response(span: Span, known: Snapshot | None) -> ChatResponse | None:
    """The last answer: as it is judged, else as it came."""
    if known is not None:
        return known.response
    event = span.record.event
    return event.response if isinstance(event, ModelResponded) else None


def _error(span: Span, response: ChatResponse | None) -> ProviderError | None:
    event = span.record.event
    if isinstance(event, ModelFailed):
        return event.error
    failure = span.before.failure if span.known else None
    if failure is not None and failure.provider is not None and not isinstance(event, ModelResponded):
        return failure.provider
    return response_error(response) if response is not None else None


class Stand(NamedTuple):
    """`open`: its condition held; None where that is not recorded. `miss`: how it stood, in words; `counted`: by a
    limit, so that a number says how near it was."""

    open: bool | None
    miss: str
    counted: bool = False
