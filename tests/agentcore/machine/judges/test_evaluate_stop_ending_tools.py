"""evaluate_stop with tools whose calls end the turn, beside others that run here."""

from agentcore import State, StopReason, Trigger, TurnStatus
from tests.agentcore.playbook import Playbook, call, called, finish, run_tools, started

ENDING = ("report",)


def book():
    return Playbook(ending_tools=ENDING) >> started()


def test_a_call_of_an_ending_tool_ends_the_turn_and_is_kept_in_its_ending():
    told = book() >> called(call("report"))
    told << finish(stop_reason=StopReason.COMPLETED, status=TurnStatus.COMPLETED, calls=(call("report"),))
    assert told.moves[-1] == (State.EVALUATE_STOP, Trigger.END_TURN, State.COMPLETE)


def test_calls_of_other_tools_run_here():
    (book() >> called(call())) << run_tools("calculator")
