"""The error context: the machine's own unless a policy brings a resolver; one that fails stops the turn."""

from dataclasses import dataclass, replace

import pytest

from agentcore import (
    AgentErrorContextResolver,
    ErrorContext,
    ErrorPolicy,
    ErrorType,
    Recording,
    Snapshot,
    State,
    StopReason,
    serial,
    verdict,
    verify,
)
from tests.agentcore.playbook import Playbook, call, called, error, started, tool_failed, tools_returned, woke_up
from tests.spec.continuation_and_error_policy.outcomes import evaluation


@dataclass(frozen=True)
class Lenient:
    """Counts no failure but the first."""

    def resolve(self, state: Snapshot) -> ErrorContext:
        return replace(AgentErrorContextResolver().resolve(state), consecutive_failures=1)


@dataclass(frozen=True)
class As:
    """Says of every failure that it is of one type."""

    type: ErrorType

    def resolve(self, state: Snapshot) -> ErrorContext:
        return replace(AgentErrorContextResolver().resolve(state), type=self.type, metadata={"seen": True})


class Raises:
    def resolve(self, state: Snapshot) -> ErrorContext:
        raise LookupError("no table of errors")


class GivesNothing:
    def resolve(self, state: Snapshot) -> ErrorContext:
        return None  # type: ignore[return-value]


def told(resolver: object, **errors: object) -> Playbook:
    """A turn under this resolver whose first call fails."""
    return Playbook(error_policy=ErrorPolicy(**errors), resolver=resolver) >> started() >> error()  # type: ignore[arg-type]


def test_without_a_resolver_the_machine_counts_failures():
    plain = told(None, on_model_error="retry", max_retries=2)
    default = told(AgentErrorContextResolver(), on_model_error="retry", max_retries=2)
    assert plain.snapshot.state is default.snapshot.state is State.BACKOFF
    assert plain.snapshot.error_context() == default.snapshot.error_context()
    assert [record.transitions for record in plain.records] == [record.transitions for record in default.records]


def test_the_error_policy_uses_the_type_returned_by_a_resolver():
    story = told(As(ErrorType.TIMEOUT), on_timeout_error="retry", max_retries=2)
    assert story.snapshot.state is State.BACKOFF
    said = evaluation(story, "ErrorPolicyCriterion")
    assert (said.context["errorType"], said.reason) == ("timeout", "Timeout error, retrying (1/2)")


def test_retries_run_out_by_the_failure_count_of_a_resolver():
    story = told(Lenient(), on_model_error="retry", max_retries=2)
    for _ in range(4):
        story = story >> woke_up() >> error()
    assert story.snapshot.state is State.BACKOFF


@pytest.mark.parametrize("resolver", [Raises(), GivesNothing()])
def test_a_failing_resolver_stops_the_turn_with_the_reason(resolver):
    story = told(resolver, on_model_error="retry", max_retries=5)
    end = story.snapshot.end
    assert end is not None
    assert (story.snapshot.state, end.stop_reason) == (State.ABORT, StopReason.ERROR)
    assert "The error-context resolver" in evaluation(story, "ErrorPolicyCriterion").reason


def test_the_result_of_a_resolver_is_stored_in_the_snapshot_and_read_back():
    snapshot = told(As(ErrorType.TIMEOUT), on_timeout_error="retry", max_retries=2).snapshot
    assert serial.snapshot_from_json(serial.to_json(snapshot)) == snapshot
    assert snapshot.error_context().metadata == {"seen": True}


def test_a_turn_recorded_with_a_resolver_verifies_with_it():
    story = told(As(ErrorType.TIMEOUT), on_timeout_error="retry", max_retries=2)
    assert verify(Recording(story.policy, Snapshot(), story.records)).verified
    bare = replace(story.policy, resolver=None)
    assert not verify(Recording(bare, Snapshot(), story.records)).verified


def test_a_failed_tool_is_also_resolved():
    book = Playbook(error_policy=ErrorPolicy(on_tool_error="ignore"), resolver=As(ErrorType.RATE_LIMIT))  # type: ignore[arg-type]
    story = book >> started() >> called(call()) >> tools_returned(tool_failed())
    assert evaluation(story, "ErrorPolicyCriterion").context["errorType"] == "rate_limit"
    assert story.snapshot.end is not None


@pytest.mark.parametrize("resolver", [Raises(), GivesNothing(), As(ErrorType.MODEL)])
@pytest.mark.parametrize("policy", [ErrorPolicy(), ErrorPolicy.ignore_tool_errors(), ErrorPolicy.retry_all(5)])
def test_no_setting_for_tool_errors_is_named_where_the_resolver_decided(resolver, policy: ErrorPolicy):
    story = Playbook(error_policy=policy, resolver=resolver) >> started() >> called(call())
    story = story >> tools_returned(tool_failed())
    said = verdict(story.snapshot)
    assert "on_tool_error" not in said
    assert "max_retries, the model would" not in said
    if story.snapshot.failure is not None and story.snapshot.failure.unresolved:
        assert story.snapshot.failure.unresolved in said
