"""The table is walked whole, and what is not in it cannot happen."""

import pytest

from agentcore import IllegalEvent, Snapshot, State, Trigger, advance
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.events import ToolsReturned
from agentcore.machine.advance import JUDGES, _move
from agentcore.states import CALLS, DECIDING, RELEASES, RETRIES, TERMINAL, TRANSITIONS, WAITING
from tests.agentcore.machine.stories import STORIES, WAITING_STORIES, asked
from tests.agentcore.playbook import (
    Playbook,
    cancelled,
    ended,
    error,
    interrupted,
    lost,
    operator,
    started,
    woke_up,
)
from tests.together import together

#: Nothing can come this way today: a call always asks to go on once its results are in.
UNREACHED = {(State.EVALUATE_CONTINUATION, Trigger.STOP)}

EVENTS = {
    "started": (started(), {State.IDLE}),
    "model_responded": (ended("x"), set(CALLS)),
    "model_failed": (error(), set(CALLS)),
    "interrupted": (interrupted(), {*CALLS, State.EXECUTE_TOOLS, State.BACKOFF}),
    "lost": (lost(), {*CALLS, State.EXECUTE_TOOLS, State.BACKOFF}),
    "tools_returned": (ToolsReturned(1.0), {State.EXECUTE_TOOLS}),
    "woke_up": (woke_up(), {State.BACKOFF}),
    "operator_acted": (operator(), set(WAITING)),
    "cancel_requested": (cancelled(), set(WAITING)),
}


class Asks:
    """Always wants more."""

    def explain(self, state):
        return ContinuationEvaluation("Asks", ContinuationDecision.REQUEST, "more", message="More.")


def resting(state: State) -> Playbook:
    """A turn that rests in this state; deciding states are never rested in, so they are set."""
    if state in WAITING_STORIES:
        return WAITING_STORIES[state]()
    book = Playbook() if state is State.IDLE else asked() >> ended("x")
    object.__setattr__(book, "snapshot", Snapshot(state=state, setup=book.setup, call=book.snapshot.call))
    return book


def test_every_transition_of_the_table_is_reached_by_a_scenario():
    asking = Playbook(criteria=(Asks(),)) >> started() >> ended("a")
    reached = {move for story in STORIES for move in story().moves} | set(asking.moves)
    table = {(state, trigger, target) for state, row in TRANSITIONS.items() for trigger, target in row.items()}
    assert {(s, t) for s, t, _ in table - reached} == UNREACHED
    assert reached <= table


@together
@pytest.mark.parametrize("state", State)
def test_every_absent_trigger_is_illegal(state):
    for trigger in set(Trigger) - set(TRANSITIONS[state]):
        with pytest.raises(IllegalEvent, match="nothing has changed"):
            _move(resting(state).snapshot, trigger)


@together
@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("state", State)
def test_every_event_is_accepted_exactly_where_the_table_has_it(state, name):
    event, allowed = EVENTS[name]
    book = resting(state)
    before = repr(book.snapshot)
    if state in allowed:
        assert book >> event
        return
    with pytest.raises(IllegalEvent):
        advance(book.snapshot, event(book) if callable(event) else event, book.policy)
    assert repr(book.snapshot) == before


def test_every_state_is_in_the_table_with_exactly_one_kind():
    assert set(TRANSITIONS) == set(State)
    assert sorted([State.IDLE, *WAITING, *DECIDING, *TERMINAL]) == sorted(State)
    assert set(WAITING_STORIES) == set(WAITING)


def test_every_trigger_is_used():
    assert {trigger for row in TRANSITIONS.values() for trigger in row} == set(Trigger)


def test_every_deciding_state_has_a_judge_and_a_release():
    assert set(JUDGES) == set(DECIDING) == set(RELEASES)
    assert set(RETRIES) == set(CALLS)


def test_terminal_states_have_no_transitions_and_every_other_state_can_reach_one():
    assert all(not TRANSITIONS[state] for state in TERMINAL)
    ends = set(TERMINAL)
    for _ in State:
        ends |= {state for state, row in TRANSITIONS.items() if ends & set(row.values())}
    assert ends == set(State)


def test_every_deciding_state_records_its_evaluations():
    for story in STORIES:
        for step in story().steps:
            for transition in step.transitions:
                judged = transition.source in DECIDING and transition.trigger is not Trigger.BREAKPOINT
                assert (transition.outcome is not None) is judged
                assert transition.reason
