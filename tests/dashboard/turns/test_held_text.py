"""A held turn says in words what Whystop would do next."""

from agentcore.states import State
from dashboard.agents.limit_fields import completion_default
from dashboard.turns.status_text import STEPS, before_step


def test_each_state_in_which_a_turn_can_be_held_has_words():
    assert set(State) - set(STEPS) == {State.IDLE, State.HELD}
    assert before_step(State.CONTINUE_PENDING) == "before Whystop requests the rest of the answer"
    assert before_step(None) == "before the next step"


def test_a_default_that_depends_on_the_cap_is_said_as_a_number():
    assert completion_default(60) == "240 (4 × 60)"
    assert completion_default(400) == "1,600 (4 × 400)"
