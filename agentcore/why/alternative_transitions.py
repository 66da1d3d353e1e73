"""The other possible transitions of each step, each with its guard and how near it was.

Also holds the guard of every move out of a deciding state: its condition in words, and how it stood when it was asked.

One row for each (state, trigger) of the transition table; a test holds it to that. A guard is *open* where its own
condition held, whether or not an earlier one was taken instead; None where the record does not show it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from agentcore.policy import limit_in_words
from agentcore.replay.record_spans import Span
from agentcore.states import TRANSITIONS, State, Trigger
from agentcore.truncation_cause import SHOWN
from agentcore.why import evaluate_error_guards, evaluate_stop_guards, pending_guards
from agentcore.why.transition_case import Case, Stand, cases_of


class Guard(NamedTuple):
    """The condition of one move."""

    words: str  #: after “when”
    look: Callable[[Case], Stand]  #: how it stood in a case


def _held(case: Case) -> Stand:
    """Whether somebody waited for the turn here."""
    if case.snapshot is None:
        return Stand(None, "")
    marks = len(case.snapshot.breakpoints)
    if not marks:
        return Stand(case.held, "no hold was requested here")
    return Stand(case.held, f"{'its breakpoint' if marks == 1 else f'none of its {marks} breakpoints'} does not match")


def _used_up(limit: str) -> Guard:
    return Guard(f"{limit_in_words(limit)} is used up", pending_guards.spent(limit))


_BREAKPOINT = Guard("a breakpoint, an approval or an operator holds the turn here", _held)

#: By the state that decides, in the order in which it judges.
GUARDS: Mapping[State, Mapping[Trigger, Guard]] = {
    State.EVALUATE_STOP: {
        Trigger.RESPONSE_ERROR: Guard(
            "the answer carries an error, or its stream broke off", evaluate_stop_guards.error
        ),
        Trigger.ENVELOPE: Guard(("an envelope is required, and no tool is called"), evaluate_stop_guards.envelope),
        Trigger.SAFETY_BLOCKED: Guard(
            "the model's reason is safety_blocked", evaluate_stop_guards.reason_is("safety_blocked")
        ),
        Trigger.CONTEXT_WINDOW_EXCEEDED: Guard(
            "the model's reason is context_window_exceeded", evaluate_stop_guards.reason_is("context_window_exceeded")
        ),
        Trigger.CANCELLED: Guard("the model's reason is cancelled", evaluate_stop_guards.reason_is("cancelled")),
        Trigger.BROKEN_TOOL_CALL: Guard("a tool call in the answer is incomplete", evaluate_stop_guards.broken),
        Trigger.UNKNOWN_FATAL: Guard(
            "its stop reason is unknown, and it contains nothing usable", evaluate_stop_guards.unknown
        ),
        Trigger.MAX_TOKENS: Guard(
            (f"it was cut by {SHOWN.name}, without a complete tool call to run"),
            evaluate_stop_guards.cut,
        ),
        Trigger.PAUSED: Guard("the provider paused it", evaluate_stop_guards.reason_is("paused")),
        Trigger.FORBIDDEN: Guard(
            "a criterion forbids its tool calls, or its text was cut", evaluate_stop_guards.forbidden
        ),
        Trigger.TOOL_CALL: Guard("it calls tools, all complete", evaluate_stop_guards.calls),
        Trigger.CONTINUE_REQUESTED: Guard(
            "a criterion requests another iteration after a natural end", evaluate_stop_guards.requested
        ),
        Trigger.END_TURN: Guard(
            ("the model ended its answer, and nothing else is left to do"), evaluate_stop_guards.ended
        ),
        Trigger.BREAKPOINT: _BREAKPOINT,
    },
    State.CONTINUE_PENDING: {
        Trigger.RETRY_LIMIT: _used_up("max_continuations"),
        Trigger.BUDGET_EXHAUSTED: Guard("the token total is used up", pending_guards.budget),
        Trigger.OUTPUT_CAP: _used_up("max_total_output_chars"),
        Trigger.REPETITION: Guard("two truncated answers in a row added nothing new", pending_guards.repetition),
        Trigger.FORBIDDEN: Guard("another criterion forbids", pending_guards.forbidden),
        Trigger.UNDER_LIMITS: Guard("no limit is used up, and no criterion forbids", pending_guards.room),
        Trigger.BREAKPOINT: _BREAKPOINT,
    },
    State.REPAIR_PENDING: {
        Trigger.RETRY_LIMIT: _used_up("max_tool_repair_attempts"),
        Trigger.BUDGET_EXHAUSTED: _used_up("max_total_tokens"),
        Trigger.FORBIDDEN: Guard("another criterion forbids", pending_guards.forbidden),
        Trigger.UNDER_LIMITS: Guard("a repair is left, and no criterion forbids", pending_guards.room),
        Trigger.BREAKPOINT: _BREAKPOINT,
    },
    State.EVALUATE_ENVELOPE: {
        Trigger.COMPLETE: Guard("it ended by itself and matches its schema", pending_guards.fault_is(None)),
        Trigger.REFUSED: Guard("the provider refused", pending_guards.fault_is("refusal")),
        Trigger.EXHAUSTED: Guard("no envelope retry is left, or a retry could not help", pending_guards.exhausted),
        Trigger.FORBIDDEN: Guard("another criterion forbids", pending_guards.forbidden),
        Trigger.TRUNCATED: Guard("it was cut, and an envelope retry is left", pending_guards.again("truncation")),
        Trigger.SCHEMA_VIOLATION: Guard(
            "it does not match the schema, and an envelope retry is left",
            pending_guards.again("schema-violation", "parse-error"),
        ),
        Trigger.BREAKPOINT: _BREAKPOINT,
    },
    State.EVALUATE_ERROR: {
        Trigger.CONTEXT_WINDOW_EXCEEDED: Guard(
            "the error says that the context is full", evaluate_error_guards.really("context_window_exceeded")
        ),
        Trigger.SAFETY_BLOCKED: Guard("the error is a refusal", evaluate_error_guards.really("safety_blocked")),
        Trigger.ENVELOPE: Guard("the error says that an envelope was cut", evaluate_error_guards.cut(structured=True)),
        Trigger.TRUNCATED_BY_ERROR: Guard(
            "the error says that the answer was cut", evaluate_error_guards.cut(structured=False)
        ),
        Trigger.STOP: Guard(
            "something forbids, and there is no part of an answer", evaluate_error_guards.stops(with_text=False)
        ),
        Trigger.STOP_WITH_TEXT: Guard(
            "something forbids, and there is part of an answer", evaluate_error_guards.stops(with_text=True)
        ),
        Trigger.IGNORE: Guard(
            "the error policy ignores it, and there is no part of an answer",
            evaluate_error_guards.ignores(with_text=False),
        ),
        Trigger.IGNORE_WITH_TEXT: Guard(
            "the error policy ignores it, and there is part of an answer", evaluate_error_guards.ignores(with_text=True)
        ),
        Trigger.RETRY: Guard("the error policy retries it, and nothing forbids", evaluate_error_guards.retries),
        Trigger.BREAKPOINT: _BREAKPOINT,
    },
    State.EVALUATE_CONTINUATION: {
        Trigger.FORBIDDEN: Guard("a criterion forbids", pending_guards.forbidden),
        Trigger.STOP: Guard("nothing forbids continuing, and nothing requests it", pending_guards.idle),
        Trigger.CONTINUE: Guard("a criterion requests to continue, and none forbids it", pending_guards.room),
        Trigger.BREAKPOINT: _BREAKPOINT,
    },
    State.ABORT_PARTIAL: {
        Trigger.RETURN_PARTIAL_WITH_NOTICE: Guard(
            "nothing holds the turn, so the partial answer is returned", pending_guards.returned
        ),
        Trigger.BREAKPOINT: _BREAKPOINT,
    },
}


@dataclass(frozen=True, slots=True)
class AlternativeTransition:
    """A transition that the table allows but that was not made. `open`: its guard was true, but another was checked
    first; None: the record does not show it. `near`: a limit shows how near it was, or its guard was true."""

    source: State  #: the state of the turn
    trigger: Trigger  #: the trigger of the transition
    target: State  #: where to
    guard: str  #: its condition, in words
    open: bool | None
    miss: str  #: how its condition was missed, in words
    near: bool


def roads_of(case: Case) -> tuple[AlternativeTransition, ...]:
    """The other transitions of one step, in the order in which they are checked."""
    guards = GUARDS.get(case.source, {})
    return tuple(_road(case, trigger) for trigger in guards if trigger is not case.trigger)


def _road(case: Case, trigger: Trigger) -> AlternativeTransition:
    guard = GUARDS[case.source][trigger]
    stand = guard.look(case)
    near = stand.counted or bool(stand.open)
    miss = stand.miss or ("the turn was held before this was evaluated" if case.held else "the record does not show it")
    return AlternativeTransition(
        case.source, trigger, TRANSITIONS[case.source][trigger], guard.words, stand.open, miss, near
    )


def roads_taken_past(spans: Iterable[Span]) -> Iterator[tuple[Case, tuple[AlternativeTransition, ...]]]:
    """Every step of a history out of a deciding state, with its other possible transitions."""
    for span in spans:
        for case in cases_of(span):
            if case is not None:
                yield case, roads_of(case)
