"""The criteria every turn is judged by, one by one (design §3.5)."""

from dataclasses import replace

from agentcore import ContinuationDecision, ContinuationEvaluation, NormalizedStopReason, StopReason
from agentcore.argument_validation import unchecked
from agentcore.criteria.builtin import ErrorPolicyCriterion, StepsLimit
from agentcore.error_policy import ErrorPolicy
from agentcore.machine.advance import advance
from agentcore.policy import Limits
from agentcore.snapshot import Snapshot
from tests.agentcore.playbook import (
    Playbook,
    call,
    called,
    ended,
    error,
    finish,
    started,
    tools_returned,
    truncated,
)

NAMES = [
    "TruncationCriterion",
    "EnvelopeCriterion",
    "StepsLimit",
    "TokenUsageLimit",
    "ExecutionTimeLimit",
    "FinishReasonCheck",
    "ErrorPolicyCriterion",
    "ToolCallPresenceCheck",
]


def outcomes(story):
    return [t.outcome for step in story.steps for t in step.transitions if t.outcome]


def test_every_outcome_holds_every_criterions_evaluation_with_a_reason():
    story = Playbook() >> started() >> truncated("a ") >> called(call()) >> tools_returned() >> error()
    for outcome in outcomes(story):
        assert [e.criterion for e in outcome.evaluations] == NAMES
        assert all(e.reason for e in outcome.evaluations)


def test_a_number_in_a_reason_keeps_its_written_form_even_after_an_equal_number():
    """What was said of 20 is kept; 20.0 equals it."""
    for most, retries in ((20, 3), (20.0, 3.0), (20, 3)):
        limits, retried = unchecked(Limits)(max_steps=most), unchecked(ErrorPolicy)(max_retries=retries)
        state = Snapshot(limits=limits, error_policy=retried, iteration=1)
        assert StepsLimit().explain(state).reason == f"1 of {most} iterations"
        assert repr(ErrorPolicyCriterion().explain(state).context["maxRetries"]) == repr(retries)


def test_custom_criteria_come_after_the_built_in_ones_and_may_only_decide():
    class Veto:
        def decide(self, state):
            return ContinuationDecision.FORBID

    story = Playbook(criteria=(Veto(),)) >> started() >> truncated("a")
    assert story << finish("a", StopReason.GUARD, terminal="forbidden")
    assert outcomes(story)[-1].evaluations[-1].criterion == "Veto"


def test_a_custom_criterion_that_raises_forbids_with_an_error_and_never_breaks_the_turn():
    class Fragile:
        def explain(self, state):
            raise KeyError("x")

    story = Playbook(criteria=(Fragile(),)) >> started() >> truncated("a")
    assert story << finish("a", StopReason.ERROR, terminal="forbidden")
    assert "Fragile raised KeyError" in story.end.notice


def test_a_built_in_criterion_that_cannot_compare_its_limit_also_forbids():
    """No stored policy has such a limit: it is refused when it is read. A program may still make one."""
    story = Playbook() >> started()
    odd = replace(story.snapshot, limits=unchecked(Limits)(max_steps="many"))
    end = advance(odd, called(call()), story.policy).command
    assert (end.stop_reason, end.terminal_reason) == (StopReason.ERROR, "forbidden")
    assert "StepsLimit raised TypeError" in end.notice


def test_the_order_of_criteria_does_not_change_what_happens():
    class Veto:
        def decide(self, state):
            return ContinuationDecision.FORBID

    class Wish:
        def decide(self, state):
            return ContinuationDecision.REQUEST

    for criteria in ((Veto(), Wish()), (Wish(), Veto())):
        story = Playbook(criteria=criteria) >> started() >> called(call())
        assert story << finish("", StopReason.GUARD, terminal="forbidden")


def test_a_listed_finish_reason_forbids_a_continuation():
    story = Playbook(finish_reasons=(NormalizedStopReason.MAX_TOKENS,)) >> started() >> truncated("a")
    assert story << finish("a", StopReason.FINISH_REASON, terminal="forbidden")


def test_the_error_policy_criterion_uses_the_sentences_and_context_of_the_spec():
    story = Playbook() >> started() >> error()
    spoken = outcomes(story)[0].get_evaluation_for("ErrorPolicyCriterion")
    assert spoken.reason == "Model error after 1 consecutive failures (max: 0)"
    assert dict(spoken.context) == {
        "errorType": "model",
        "consecutiveFailures": 1,
        "totalFailures": 1,
        "maxRetries": 0,
        "handling": "stop",
        "toolName": None,
    }
    assert outcomes(Playbook() >> started() >> ended("a"))[0].get_evaluation_for("ErrorPolicyCriterion").reason == (
        "No errors present"
    )


def test_a_context_of_any_shape_is_stored_and_verifies():
    class Shaped:
        def explain(self, state):
            context = {"tuple": (1, 2), 3: {"nested": ("a",)}, "word": StopReason.GUARD}
            return ContinuationEvaluation("Shaped", ContinuationDecision.ALLOW, "shaped", context)

    assert Playbook(criteria=(Shaped(),)) >> started() >> ended("a") << finish("a")
