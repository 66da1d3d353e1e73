"""continuation-and-error-policy: the criterion that asks the error policy, the base criteria, and what is told."""

from typing import Any

import pytest

from agentcore import ContinuationDecision, ContinuationEvaluation, ErrorPolicy, ErrorType, Policy, Snapshot, State
from agentcore.criteria.builtin import ErrorPolicyCriterion
from agentcore.error_policy import PRESETS as OURS
from agentcore.machine.judgement import evaluate
from agentcore.snapshot_parts import Failure, Spent
from dashboard.agents.policies import draft_policy
from tests.agentcore.playbook import Playbook, call, called, ended, error, started, tools_returned, truncated
from tests.spec.continuation_and_error_policy.outcomes import evaluation, outcome
from tests.spec.continuation_and_error_policy.policies import Case, cases
from tests.spec.rules import Kind, rule
from tests.together import together

D = ContinuationDecision
CRITERION = "continuation-and-error-policy §ErrorPolicyCriterion"
BASE = "continuation-and-error-policy §Base Criteria"
EVENTS = "continuation-and-error-policy §Events"
COMPATIBILITY = "continuation-and-error-policy §Behavior Compatibility"
each_case = pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.preset}-{case.error}-{case.failures}")


def judged(case: Case, *, tool: str | None = None) -> ContinuationEvaluation:
    failure = Failure(ErrorType(case.error), "It broke.", tool)
    spent = Spent(consecutive_failures=case.failures, total_failures=case.failures + 1)
    state = Snapshot(state=State.EVALUATE_ERROR, error_policy=OURS[case.preset], failure=failure, spent=spent)
    return ErrorPolicyCriterion().explain(state)


@rule(CRITERION, "`stop` forbids continuing; `retry` and `ignore` allow it")
@together
@each_case
def test_the_error_handling_determines_the_decision(case: Case) -> None:
    assert judged(case).decision is (D.FORBID if case.handling == "stop" else D.ALLOW)


@rule(CRITERION, "The reason is the document's sentence for the handling, with its type and numbers")
@together
@each_case
def test_the_reason_is_the_sentence_of_the_document(case: Case) -> None:
    assert judged(case).reason == case.reason


@rule(CRITERION, "The context has error type, both counts, max retries, handling and tool name")
@together
@each_case
def test_the_context_has_the_keys_of_the_document(case: Case) -> None:
    assert judged(case, tool="calculator").context == {
        "errorType": case.error,
        "consecutiveFailures": case.failures,
        "totalFailures": case.failures + 1,
        "maxRetries": OURS[case.preset].max_retries,
        "handling": case.handling,
        "toolName": "calculator",
    }


def names_asked(policy: Policy) -> list[str]:
    snapshot = (Playbook() >> started()).snapshot
    return [said.criterion for said in evaluate(snapshot, policy).evaluations]


#: The document's base criteria, in its order.
SIX = [
    "StepsLimit",
    "TokenUsageLimit",
    "ExecutionTimeLimit",
    "FinishReasonCheck",
    "ErrorPolicyCriterion",
    "ToolCallPresenceCheck",
]


@rule(BASE, "The six base criteria are evaluated in the document's order")
def test_the_base_criteria_are_in_the_specified_order() -> None:
    assert names_asked(Policy())[-6:] == SIX


@rule(BASE, "Custom criteria come after the base criteria")
def test_custom_criteria_come_last() -> None:
    class Mine:
        def decide(self, state: object) -> D:
            return D.ALLOW

    assert names_asked(Policy(criteria=(Mine(),)))[-7:] == [*SIX, "Mine"]


@rule(BASE, "The criteria that the error policy replaces are gone")
def test_error_presence_check_and_retry_limit_no_longer_exist() -> None:
    assert not {"ErrorPresenceCheck", "RetryLimit"} & set(names_asked(Policy()))


@rule(BASE, "A hard limit forbids once it is reached")
@pytest.mark.parametrize(
    ("limit", "criterion"),
    [
        ({"max_steps": 1}, "StepsLimit"),
        ({"max_total_tokens": 15}, "TokenUsageLimit"),
        ({"max_seconds": 1.0}, "ExecutionTimeLimit"),
    ],
)
def test_a_hard_limit_forbids_when_it_is_reached(limit: dict[str, Any], criterion: str) -> None:
    story = Playbook(**limit) >> started() >> called(call(), tokens=5)
    assert outcome(story).get_forbidding_criterion() == criterion
    wider = Playbook(**{name: value + 1 for name, value in limit.items()}) >> started() >> called(call(), tokens=5)
    assert outcome(wider).get_forbidding_criterion() is None


@rule(BASE, "Tool calls request another call of the model")
def test_tool_calls_request_continuing() -> None:
    story = Playbook() >> started() >> called(call())
    assert evaluation(story, "ToolCallPresenceCheck").decision is D.REQUEST
    story = Playbook() >> started() >> ended("a")
    assert evaluation(story, "ToolCallPresenceCheck").decision is D.STOP


@rule(BASE, "The error policy of an agent is one setting")
def test_an_agent_accepts_an_error_policy() -> None:
    story = Playbook(error_policy=ErrorPolicy.retry_all()) >> started() >> error()
    assert evaluation(story, "ErrorPolicyCriterion").context["maxRetries"] == 5


FIELDS = {"agentId", "parentAgentId", "step", "shouldContinue", "stopReason", "resolvedBy"}


@rule(EVENTS, "`ContinuationEvaluated`: agent, parent agent, step, whether to continue, stop reason, resolved by")
def test_every_evaluation_is_observed_with_the_fields_of_the_document() -> None:
    story = Playbook(max_continuations=0) >> started() >> truncated("a")
    seen = story.observed("continuation_evaluated")
    assert all(set(one) >= FIELDS for one in seen)
    assert {name: seen[-1][name] for name in FIELDS} == {
        "agentId": "turn",
        "parentAgentId": None,
        "step": 1,
        "shouldContinue": False,
        "stopReason": "retry_limit",
        "resolvedBy": "TruncationCriterion",
    }


@rule(EVENTS, "`ContinuationEvaluated` names the parent agent, if any")
def test_an_evaluation_of_a_derived_turn_names_its_parent() -> None:
    story = Playbook() >> started(parent="the first turn") >> ended("a")
    assert [one["parentAgentId"] for one in story.observed("continuation_evaluated")] == ["the first turn"]


@rule(EVENTS, "The step of `ContinuationEvaluated` is the one that was evaluated")
def test_the_step_of_an_evaluation_increments() -> None:
    story = Playbook() >> started() >> called(call()) >> tools_returned() >> ended("a")
    assert [one["step"] for one in story.observed("continuation_evaluated")] == [1, 1, 2]


@rule(EVENTS, "The state keeps the last outcome; before the first evaluation it has none")
def test_the_snapshot_keeps_the_last_outcome() -> None:
    story = Playbook() >> started()
    assert story.snapshot.outcome is None
    story = story >> truncated("a")
    assert story.snapshot.outcome == story.step.transitions[-1].outcome


@rule(COMPATIBILITY, "An earlier criterion that only decides works unchanged")
def test_an_old_criterion_still_forbids() -> None:
    class Old:
        def decide(self, state: object) -> D:
            return D.FORBID

    assert (Playbook(criteria=(Old(),)) >> started() >> called(call())).end.stop_reason == "guard"


@rule(COMPATIBILITY, "The preset retry_tool_errors(3) does what RetryLimit(3) did", Kind.SHOULD)
def test_a_retry_limit_is_migrated_to_an_error_policy() -> None:
    assert draft_policy({"error_policy": {"preset": "retry_tool_errors", "max_retries": 3}}).error_policy == (
        ErrorPolicy.retry_tool_errors(3)
    )
