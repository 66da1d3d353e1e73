"""continuation-and-error-policy: types of errors, their context, the presets and what a policy makes of an error."""

import pytest

from agentcore import ErrorContext, ErrorHandlingDecision, ErrorPolicy, ErrorType, Policy
from agentcore.error_policy import PRESETS as OURS
from agentcore.events import Event
from tests.agentcore.playbook import Move, Playbook, call, called, error, started, tool_failed, tools_returned, woke_up
from tests.spec.continuation_and_error_policy.policies import PRESETS, TYPES, Case, cases
from tests.spec.rules import Kind, rule
from tests.together import together

H = ErrorHandlingDecision
TYPE = "continuation-and-error-policy §ErrorType"
HANDLING = "continuation-and-error-policy §ErrorHandlingDecision"
CONTEXT = "continuation-and-error-policy §ErrorContext"
RESOLVER = "continuation-and-error-policy §CanResolveErrorContext"
POLICY = "continuation-and-error-policy §ErrorPolicy"
COMPATIBILITY = "continuation-and-error-policy §Behavior Compatibility"


@rule(TYPE, "There are six types of errors, with the document's values")
def test_there_are_six_types_of_errors() -> None:
    assert {error.value for error in ErrorType} == set(TYPES)


@rule(HANDLING, "An error is handled in one of three ways: stop, retry or ignore")
def test_there_are_three_ways_to_handle_an_error() -> None:
    assert {handling.value for handling in H} == {"stop", "retry", "ignore"}


@rule(CONTEXT, "Message and tool name are absent, and the metadata empty, unless given", Kind.DEFAULT)
def test_a_context_requires_only_a_type_and_two_numbers() -> None:
    context = ErrorContext(ErrorType.TOOL, 1, 2)
    assert (context.message, context.tool_name, dict(context.metadata)) == (None, None, {})


@rule(CONTEXT, "The context without an error has the unknown type and no failures")
def test_the_context_without_an_error_is_as_specified() -> None:
    none = ErrorContext.none()
    assert (none.type, none.consecutive_failures, none.total_failures) == (ErrorType.UNKNOWN, 0, 0)


def context_after(*events: Event | Move) -> ErrorContext:
    story = Playbook(error_policy=ErrorPolicy.retry_all(50)) >> started()
    for event in events:
        story = story >> event
    context: ErrorContext = story.snapshot.error_context()
    return context


@rule(RESOLVER, "A failed tool is a tool error, unless it failed by a rate limit or a timeout")
@pytest.mark.parametrize("kind", [ErrorType.TOOL, ErrorType.RATE_LIMIT, ErrorType.TIMEOUT])
def test_a_failed_tool_is_classified_by_its_cause(kind: ErrorType) -> None:
    context = context_after(called(call()), tools_returned(tool_failed(type=kind)))
    assert (context.type, context.tool_name, context.message) == (kind, "calculator", "division by zero")


@rule(RESOLVER, "An error of the model's answer is a model error")
def test_a_failed_call_of_the_model_is_a_model_error() -> None:
    context = context_after(error(ErrorType.MODEL))
    assert (context.type, context.tool_name, context.message) == (ErrorType.MODEL, None, "It broke.")


@rule(RESOLVER, "Consecutive failures count back to the last step without a failure; total failures count all steps")
def test_failures_are_counted_consecutively_and_in_total() -> None:
    fails = (called(call()), tools_returned(tool_failed("a")))
    fails_again = (called(call(id="b")), tools_returned(tool_failed("b")))
    works = (called(call(id="c")), tools_returned())
    last = (called(call(id="d")), tools_returned(tool_failed("d")))
    context = context_after(*fails, *fails_again)
    assert (context.consecutive_failures, context.total_failures) == (2, 2)
    context = context_after(*fails, *fails_again, *works, *last)
    assert (context.consecutive_failures, context.total_failures) == (1, 3)


@rule(RESOLVER, "A state without a failure has no error")
def test_without_a_failure_the_context_is_that_of_no_error() -> None:
    assert context_after() == ErrorContext.none()


@rule(POLICY, "A preset has a decision for each of the six types, and its max_retries")
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_the_seven_values_of_the_document(name: str) -> None:
    policy = getattr(ErrorPolicy, name)()
    handling, max_retries = PRESETS[name]
    assert [getattr(policy, f"on_{error}_error").value for error in TYPES] == list(handling)
    assert policy.max_retries == max_retries
    assert OURS[name] == policy


@rule(POLICY, "retry_tool_errors has max_retries 3 and retry_all has 5 by default", Kind.DEFAULT)
def test_the_two_retrying_presets_accept_another_number() -> None:
    assert (ErrorPolicy.retry_tool_errors().max_retries, ErrorPolicy.retry_all().max_retries) == (3, 5)
    assert ErrorPolicy.retry_tool_errors(7) == ErrorPolicy.retry_tool_errors().with_max_retries(7)
    assert ErrorPolicy.retry_all(max_retries=7) == ErrorPolicy.retry_all().with_max_retries(7)


@rule(POLICY, "A modifier returns a new policy with one changed value")
@pytest.mark.parametrize("name", PRESETS)
def test_a_modifier_changes_one_value_of_a_copy(name: str) -> None:
    policy = OURS[name]
    fields = ErrorPolicy.__dataclass_fields__
    retried, ignoring = policy.with_max_retries(9), policy.with_tool_error_handling(H.IGNORE)
    assert (retried.max_retries, ignoring.on_tool_error) == (9, H.IGNORE)
    assert all(getattr(retried, f) == getattr(policy, f) for f in fields if f != "max_retries")
    assert all(getattr(ignoring, f) == getattr(policy, f) for f in fields if f != "on_tool_error")
    assert getattr(ErrorPolicy, name)() == policy


@rule(POLICY, "Each preset handles each type of error as documented, from zero to six consecutive failures")
@together
@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.preset}-{case.error}-{case.failures}")
def test_a_policy_handles_an_error_as_the_document_says(case: Case) -> None:
    context = ErrorContext(ErrorType(case.error), case.failures, case.failures)
    assert OURS[case.preset].evaluate(context).value == case.handling


@rule(POLICY, "Retries stop when the consecutive failures reach max_retries")
def test_total_failures_do_not_end_a_retry() -> None:
    policy = ErrorPolicy.retry_all(2)
    assert policy.evaluate(ErrorContext(ErrorType.MODEL, 1, 99)) is H.RETRY
    assert policy.evaluate(ErrorContext(ErrorType.MODEL, 2, 2)) is H.STOP


@rule(POLICY, "A turn stops when its consecutive failed calls reach max_retries")
def test_a_turn_stops_at_the_failure_of_that_number() -> None:
    story = Playbook(error_policy=ErrorPolicy.retry_all(3)) >> started() >> error() >> woke_up() >> error() >> woke_up()
    story = story >> error()
    assert story.end.stop_reason == "retry_limit"
    assert story.snapshot.spent.attempts == 3


@rule(COMPATIBILITY, "The policy of a turn is stop_on_any_error", Kind.DEFAULT)
def test_any_error_stops_a_turn_by_default() -> None:
    assert Policy().error_policy == ErrorPolicy() == ErrorPolicy.stop_on_any_error()
    assert (Playbook() >> started() >> error()).end.stop_reason == "error"
