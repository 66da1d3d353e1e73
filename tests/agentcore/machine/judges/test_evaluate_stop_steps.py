"""evaluate_stop at the last iteration: a criterion that asks for more there is refused by max_steps (design §3.5)."""

from agentcore import ContinuationDecision, ContinuationEvaluation, State, StopReason, Trigger, TurnStatus
from agentcore.replay.record_spans import fold
from agentcore.resource import resource_of
from agentcore.verdict import verdict
from agentcore.why import derive, roads_of
from agentcore.why.transition_case import cases_of
from tests.agentcore.playbook import Playbook, ended, finish, started


class Asks:
    """Wants more, whatever was said."""

    def explain(self, state):
        decision = ContinuationDecision.ALLOW if state.calls else ContinuationDecision.REQUEST
        return ContinuationEvaluation("Asks", decision, "not enough", message="Go on, please.")


def _out_of_steps(**rules) -> Playbook:
    return Playbook(criteria=(Asks(),), max_steps=2, **rules) >> started() >> ended("a") >> ended("b")


def test_a_turn_asked_to_continue_is_partial_where_no_iteration_is_left():
    story = _out_of_steps()
    assert story << finish("b", StopReason.STEPS_LIMIT, TurnStatus.PARTIAL)
    assert story.end.terminal_reason == "forbidden"
    assert story.end.notice == "This answer is incomplete: Asks asked for more, with 2 of 2 iterations used."
    assert (State.EVALUATE_STOP, Trigger.FORBIDDEN, State.ABORT_PARTIAL) in story.moves


def test_the_outcome_says_that_the_turn_does_not_continue():
    outcome = _out_of_steps().step.transitions[1].outcome
    assert (outcome.should_continue, outcome.resolved_by) == (False, "StepsLimit")
    assert outcome.get_evaluation_for("Asks").decision is ContinuationDecision.REQUEST


def test_the_verdict_and_the_resource_name_max_steps():
    story = _out_of_steps()
    assert resource_of(story.snapshot) == "max_steps"
    assert verdict(story.snapshot) == (
        "Stopped at Max steps (max_steps): the criterion Asks asked for more, with 2 of 2 steps used. With a higher Max"
        " steps (max_steps) it would have continued. The recording does not show how it would have ended."
    )


def test_the_derivation_names_the_limit():
    found = derive(_out_of_steps().recording)
    assert (found.resource, found.clause, found.loop_reason) == ("max_steps", "limits.max_steps", "steps_limit")


def test_other_possible_transitions_say_that_the_model_ended_and_another_step_was_requested():
    case = next(case for case in cases_of(fold(_out_of_steps().recording)[-1]) if case)
    missed = {road.trigger: road.miss for road in roads_of(case)}
    assert missed[Trigger.CONTINUE_REQUESTED] == "a criterion requested another step at 2 of 2 steps"
    assert missed[Trigger.TOOL_CALL] == "no tool call in the answer"


def test_turns_recorded_before_rules_were_numbered_completed_there():
    assert _out_of_steps(revision=None) << finish("b", StopReason.COMPLETED, TurnStatus.COMPLETED)
