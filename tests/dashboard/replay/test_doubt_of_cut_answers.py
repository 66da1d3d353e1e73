"""A what-if of a turn whose answer may have been cut at its cap says so, as the turn's page and the sweep do."""

import pytest

from dashboard.replay import experience
from dashboard.replay.run_comparison import what_if_side
from dashboard.replay.services import RECORDED_MAY_BE_CUT, turn_what_if
from dashboard.replay.sweep_service import turn_sweep
from dashboard.turns.endings import MAY_BE_CUT
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def filled(play: Play) -> Turn:
    """Said to have ended with its last token, of a server that reports its cuts."""
    cut = play("sim-essay", name="short", max_tokens=60, overrides={"limits": {"max_continuations": 0}})
    assert cut.status == "partial"
    turn = play("sim-essay", max_tokens=351)
    experience.kept.forget()
    return turn


def test_a_what_if_above_a_cap_that_was_filled_says_that_the_answer_may_be_longer(filled: Turn):
    found = turn_what_if(turn=filled, overrides={"max_tokens": 1404})
    assert found.turn["status"] == "completed"
    assert found.turn["verdict"] == f"Completed in 1 call. {RECORDED_MAY_BE_CUT}"
    leading = what_if_side(filled, recording_of(filled), found).leading
    assert (leading.rest, leading.look) == (f" in 1 call. {RECORDED_MAY_BE_CUT}", MAY_BE_CUT.look)


def test_a_what_if_of_an_answer_that_ended_below_its_cap_has_no_doubt(play: Play):
    found = turn_what_if(turn=play("sim-essay", max_tokens=400), overrides={"max_tokens": 1404})
    assert found.turn["verdict"] == "Completed in 1 call."


def test_a_sweep_of_an_answer_that_may_be_cut_names_no_value_that_its_words_deny(filled: Turn):
    told = turn_sweep(turn=filled, name="max_tokens", values=range(351, 1405, 351), overrides={}).shown()
    assert (told["likely"], told["certain"], told["least"], told["recommended"]) == (None, None, None, [])
    assert "not known to complete with any value" in told["words"]
