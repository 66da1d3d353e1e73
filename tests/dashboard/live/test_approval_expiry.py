"""Tools that run only once a person has approved: approved, refused, and what happens when the time is over."""

from datetime import timedelta

import pytest
from django.utils import timezone

from agentcore.events import APPROVAL_TIME_LIMIT, Otherwise
from agentcore.replay import verify
from dashboard.live.models import Signal
from dashboard.live.services import approvals_expire, turn_control, turn_start
from dashboard.turns.history import position_of, recording_of
from dashboard.turns.models import Record, ToolClaim, Turn
from tests.dashboard.driving import AgentOf, drive

pytestmark = pytest.mark.django_db(transaction=True)


def waiting(agent_of: AgentOf, **approvals: object) -> Turn:
    """A turn whose calls of the calculator wait for approval."""
    asked = {"tools": ["calculator"], **approvals}
    agent = agent_of("sim-tools", tools=["calculator"], approvals=asked)
    turn = drive(turn_start(agent=agent, input_text="Count."))
    assert turn.status == "held"
    return turn


def overdue(turn: Turn) -> None:
    """As if the turn had begun an hour earlier."""
    Turn.objects.filter(id=turn.id).update(started_at=timezone.now() - timedelta(hours=1))


def told(turn: Turn) -> list[str]:
    return [m.text for m in position_of(turn).snapshot.messages if m.tool_call_id]


def test_nothing_runs_before_approval(agent_of: AgentOf):
    turn = waiting(agent_of)
    assert Record.objects.get(turn_id=turn.id, seq=turn.last_seq).transitions[-1]["reason"] == "approval of calculator"
    assert not ToolClaim.objects.filter(turn_id=turn.id).exists()
    turn_control(turn=turn, by="ada", action="release")
    drive(turn)
    assert (turn.status, told(turn)) == ("completed", ["42", "1024"])
    assert verify(recording_of(turn)).verified


def test_a_rejected_call_never_runs_and_the_model_reads_who_rejected_it(agent_of: AgentOf):
    turn = waiting(agent_of)
    turn_control(turn=turn, by="ada", action="refuse")
    drive(turn)
    assert told(turn) == ["This call was not approved: refused by ada."] * 2
    assert not ToolClaim.objects.filter(turn_id=turn.id).exists()


ENDS = {
    Otherwise.REFUSE: ["This call was not approved: refused by the approval's time limit."] * 2,
    Otherwise.RUN: ["42", "1024"],
    Otherwise.CANCEL: [],
}


@pytest.mark.parametrize("otherwise", Otherwise)
def test_when_the_time_limit_expires_the_configured_action_happens(agent_of: AgentOf, otherwise: Otherwise):
    turn = waiting(agent_of, seconds=600, otherwise=otherwise.value)
    assert approvals_expire() == 0
    overdue(turn)
    assert approvals_expire() == 1
    assert approvals_expire() == 0  # it is asked for already
    drive(turn)
    assert told(turn) == ENDS[otherwise]
    assert (turn.status == "cancelled") is (otherwise is Otherwise.CANCEL)
    assert Signal.objects.get(turn_id=turn.id).by == APPROVAL_TIME_LIMIT
    assert verify(recording_of(turn)).verified


def test_an_unreadable_turn_does_not_block_the_expiry_of_others(agent_of: AgentOf):
    broken = waiting(agent_of, seconds=600)
    other = drive(turn_start(agent=broken.agent, input_text="Count."))
    for turn in (broken, other):
        overdue(turn)
    Turn.objects.filter(id=broken.id).update(policy="no policy")
    assert approvals_expire() == 1
    drive(other)
    assert told(other) == ENDS[Otherwise.REFUSE]


def test_a_decision_before_the_expiry_is_left_alone(agent_of: AgentOf):
    turn = waiting(agent_of, seconds=600)
    overdue(turn)
    turn_control(turn=turn, by="ada", action="release")
    assert approvals_expire() == 0
    drive(turn)
    assert approvals_expire() == 0
    assert turn.status == "completed"


def test_without_a_time_limit_the_approval_waits(agent_of: AgentOf):
    overdue(waiting(agent_of))
    assert approvals_expire() == 0


def test_a_turn_held_for_another_reason_has_no_time_limit(agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="hi", breakpoints=[{"state": "evaluate_stop"}])
    drive(turn)
    overdue(turn)
    assert approvals_expire() == 0
