"""Whether a completed turn may be cut is asked of its last answer: one answer in row, head, verdict and suggestions."""

import pytest

from agentcore.completed_verdict import Verdict
from agentcore.verdict import verdict_of
from dashboard.turns.end_summary import cut_sign, end_orders, end_summary_of, may_be_cut
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn
from dashboard.turns.verdicts import verdict_lead
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)


def told(turn: Turn) -> Verdict:
    found = verdict_of(position_of(turn).snapshot)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("model", "max_tokens", "signs"), [("sim-cut-tool", 40, "output_at_cap"), ("sim-reasons", 200, "")]
)
def test_a_turn_whose_last_answer_is_whole_completed(play: Play, model: str, max_tokens: int, signs: str):
    turn = play(model, max_tokens=max_tokens, tools=["calculator"])
    assert (turn.status, turn.attempts > 1, cut_sign(turn), may_be_cut(turn)) == ("completed", True, "", False)
    assert not signs or signs in turn.lint  # those of earlier calls stay listed
    assert end_summary_of(turn).words == "Completed"
    assert "Completed, may be cut" not in end_orders(Turn.objects.filter(id=turn.id))[turn.id]
    assert "cut off" not in turn.verdict
    snapshot = position_of(turn).snapshot
    assert verdict_lead(snapshot, turn.verdict, "completed").look == ""
    assert str(told(turn)) == turn.verdict


def test_a_turn_whose_last_answer_filled_its_cap_may_be_cut(play: Play):
    turn = play("sim-essay", max_tokens=351)
    assert (cut_sign(turn), may_be_cut(turn)) == ("output_at_cap", True)
    assert end_summary_of(turn).words == "Completed, may be cut"
    assert "The answer may be cut off: reported as ended, all output tokens used." in turn.verdict


def test_a_row_from_before_tells_the_signs_of_all_its_calls(play: Play):
    turn = play("sim-cut-tool", max_tokens=40, tools=["calculator"])
    turn.cut_sign = None
    assert cut_sign(turn) == "output_at_cap"
