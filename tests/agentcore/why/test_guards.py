"""A guard in words for every move of the table, true of every story."""

import pytest

from agentcore.replay import fold
from agentcore.states import DECIDING, TRANSITIONS
from agentcore.why.alternative_transitions import GUARDS
from agentcore.why.transition_case import Case, cases_of
from tests.agentcore.machine.stories import STORIES
from tests.together import together

CASES: tuple[Case, ...] = tuple(
    case for story in STORIES for span in fold(story().recording) for case in cases_of(span) if case is not None
)


def test_every_transition_out_of_a_deciding_state_has_a_guard():
    assert set(GUARDS) == set(DECIDING)
    for state, guards in GUARDS.items():
        assert guards.keys() == TRANSITIONS[state].keys(), state


def test_every_guard_has_its_own_phrase():
    for state, guards in GUARDS.items():
        words = [guard.words for guard in guards.values()]
        assert len(set(words)) == len(words), state
        assert all(words)
        assert not any(said.endswith(".") for said in words)


@together
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source}-{case.trigger}")
def test_the_guard_of_the_transition_taken_was_open(case: Case):
    assert GUARDS[case.source][case.trigger].look(case).open is not False


@together
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source}-{case.trigger}")
def test_no_guard_evaluated_before_it_was_open(case: Case):
    triggers = list(GUARDS[case.source])
    earlier = triggers[: triggers.index(case.trigger)]
    if not case.held:
        assert not [trigger for trigger in earlier if GUARDS[case.source][trigger].look(case).open]


def test_every_guard_is_seen_closed():
    shut = {
        (case.source, trigger)
        for case in CASES
        for trigger, guard in GUARDS[case.source].items()
        if guard.look(case).open is False
    }
    everything = {(state, trigger) for state, guards in GUARDS.items() for trigger in guards}
    assert everything - shut == set()
