"""The other possible transitions of each step, each with its guard and how near it was."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agentcore.machine.states import TRANSITIONS, State, Trigger
from agentcore.replay.record_spans import Span
from agentcore.why.guards import GUARDS
from agentcore.why.transition_case import Case, cases_of


@dataclass(frozen=True, slots=True)
class Road:
    """A transition that the table allows but that was not made. `open`: its guard was true, but another was checked
    first; None: the record does not show it. `near`: a limit shows how near it was, or its guard was true."""

    source: State  #: the state of the turn
    trigger: Trigger  #: the trigger of the transition
    target: State  #: where to
    guard: str  #: its condition, in words
    open: bool | None
    miss: str  #: how its condition was missed, in words
    near: bool


def roads_of(case: Case) -> tuple[Road, ...]:
    """The other transitions of one step, in the order in which they are checked."""
    guards = GUARDS.get(case.source, {})
    return tuple(_road(case, trigger) for trigger in guards if trigger is not case.trigger)


def _road(case: Case, trigger: Trigger) -> Road:
    guard = GUARDS[case.source][trigger]
    stand = guard.look(case)
    near = stand.counted or bool(stand.open)
    miss = stand.miss or ("the turn was held before this was evaluated" if case.held else "the record does not show it")
    return Road(case.source, trigger, TRANSITIONS[case.source][trigger], guard.words, stand.open, miss, near)


def roads_taken_past(spans: Iterable[Span]) -> Iterator[tuple[Case, tuple[Road, ...]]]:
    """Every step of a history out of a deciding state, with its other possible transitions."""
    for span in spans:
        for case in cases_of(span):
            if case is not None:
                yield case, roads_of(case)
