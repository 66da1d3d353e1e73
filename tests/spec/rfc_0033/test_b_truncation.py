"""RFC 0033 §B: a truncation is asked for again with more room, and with nothing else."""

import pytest

from agentcore import Limits, NormalizedStopReason, StopReason, TurnStatus
from dashboard.agents.policy_validation import limits_clean
from tests.agentcore.playbook import ended, error, finish, truncated
from tests.spec.rfc_0033.envelopes import CUT, INVALID, VALID, asked, events, names, requests
from tests.spec.rules import Kind, rule

B = "rfc-0033 §B"


@rule(B, "A truncation retry requests a larger budget", Kind.SHOULD)
def test_each_truncation_retry_requests_more() -> None:
    story = asked() >> truncated(CUT) >> truncated(CUT) >> truncated(CUT)
    budgets = [request.max_tokens for request in requests(story)]
    assert budgets == sorted(set(budgets))


@rule(B, "The larger budget is rounded up and at least one token larger, whatever the multiplier", Kind.SHOULD)
@pytest.mark.parametrize(("multiplier", "larger"), [(1.0, 101), (1.005, 101), (1.1, 110)])
def test_a_larger_budget_is_strictly_larger(multiplier: float, larger: int) -> None:
    story = asked(truncation_budget_multiplier=multiplier) >> truncated(CUT)
    assert requests(story)[-1].max_tokens == larger


@rule(B, "A truncation is terminal if the ceiling allows no larger budget", Kind.SHOULD)
def test_a_budget_at_the_ceiling_is_not_requested_again() -> None:
    story = asked(ceiling=100) >> truncated(CUT)
    assert story << finish("", error_code="envelope_truncation_unrecoverable")
    assert names(story) == ["envelope.truncated", "envelope.retry.exhausted", "cap.breached"]


@rule(B, "A truncation that the provider reports as an error is retried and counted like any other")
def test_a_truncation_reported_as_an_error_is_one() -> None:
    cut = error(stop_reason=NormalizedStopReason.MAX_TOKENS, kind="invalid_request", retryable=False)
    story = asked(schema_rounds=1) >> cut
    assert names(story) == ["envelope.truncated", "envelope.retry.attempted"]
    assert [request.max_tokens for request in requests(story)] == [100, 200]
    story = story >> cut
    assert story << finish("", error_code="envelope_truncation_unrecoverable")
    assert names(story)[-2:] == ["envelope.retry.exhausted", "cap.breached"]


@rule(B, "The budget is doubled", Kind.DEFAULT)
def test_the_budget_is_doubled_by_default() -> None:
    assert Limits().truncation_budget_multiplier == 2
    story = asked() >> truncated(CUT) >> truncated(CUT)
    assert [request.max_tokens for request in requests(story)] == [100, 200, 400]


@rule(B, "Another multiplier may be chosen", Kind.MAY)
@pytest.mark.parametrize("multiplier", [1.5, 4.0, 8.0])
def test_the_multiplier_comes_from_the_policy(multiplier: float) -> None:
    story = asked(truncation_budget_multiplier=multiplier) >> truncated(CUT)
    assert story.command.request.max_tokens == int(100 * multiplier)


@rule(B, "A budget above the provider's ceiling is reduced to the ceiling, and the retry is sent", Kind.MAY)
def test_a_budget_is_clamped_at_the_ceiling() -> None:
    story = asked(ceiling=150) >> truncated(CUT)
    assert [request.max_tokens for request in requests(story)] == [100, 150]


@rule(B, "A clamped retry is reported as a retry", Kind.SHOULD)
def test_a_clamped_retry_is_reported() -> None:
    seen = dict(events(asked(ceiling=150) >> truncated(CUT)))["envelope.retry.attempted"]
    assert (seen["attempt"], seen["reason"]) == (2, "truncation")


@rule(B, "A clamped retry that is truncated again is terminal, even if rounds are left", Kind.SHOULD)
def test_a_clamped_retry_that_is_truncated_again_is_terminal() -> None:
    story = asked(ceiling=150, schema_rounds=9) >> truncated(CUT) >> truncated(CUT)
    assert story << finish("", status=TurnStatus.FAILED, error_code="envelope_truncation_unrecoverable")
    assert len(requests(story)) == 2


@rule(B, "The multiplier is called truncationBudgetMultiplier; it does not affect the retry count")
def test_the_multiplier_applies_to_the_budget_and_not_to_the_count() -> None:
    assert limits_clean({"truncation_budget_multiplier": 4}) == {"truncation_budget_multiplier": 4}
    fields = Limits.__dataclass_fields__
    assert "truncation_retry_multiplier" not in fields
    story = asked(truncation_budget_multiplier=8.0, schema_rounds=1) >> truncated(CUT) >> truncated(CUT)
    assert len(requests(story)) == 2


@rule(B, "A truncation retry is the first request with a larger budget, without a fragment, partial payload or hint")
def test_a_truncation_retry_adds_no_text() -> None:
    story = asked(system_prompt="Be terse.") >> truncated(CUT)
    first, second = requests(story)
    assert (second.messages, second.system_prompt, second.continuation) == (first.messages, "Be terse.", None)
    assert (second.tools, second.envelope_schema) == (first.tools, first.envelope_schema)


@rule(B, "A truncation retry drops the fragment of an earlier violation")
def test_the_fragment_of_an_earlier_violation_is_dropped() -> None:
    story = asked(system_prompt="Be terse.") >> ended(INVALID) >> truncated(CUT)
    assert requests(story)[-1].system_prompt == "Be terse."


@rule(B, "Truncation retries count against the schema rounds")
@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_truncation_retries_are_limited_by_the_rounds(rounds: int) -> None:
    story = asked(schema_rounds=rounds)
    for _ in range(rounds + 1):
        story = story >> truncated(CUT)
    assert story << finish("", StopReason.RETRY_LIMIT, TurnStatus.FAILED)
    assert len(requests(story)) == 1 + rounds


@rule(B, "Both faults use up the same rounds")
def test_the_rounds_are_shared() -> None:
    story = asked(schema_rounds=2) >> truncated(CUT) >> ended(INVALID) >> truncated(CUT)
    assert story << finish("", error_code="envelope_truncation_unrecoverable")


@rule(B, "An exhausted truncation emits the exhausted event with its reason, and a breached cap of kind `schema`")
def test_an_exhausted_truncation_reports_both_terminal_events() -> None:
    story = asked(schema_rounds=1) >> truncated(CUT) >> truncated(CUT)
    (exhausted, told), (breached, cap) = events(story)[-2:]
    assert (exhausted, told["finalReason"], told["totalAttempts"]) == ("envelope.retry.exhausted", "truncation", 2)
    assert (breached, cap["kind"], cap["limit"], cap["observed"]) == ("cap.breached", "schema", 1, 2)


@rule(B, "An exhausted truncation fails with envelope_truncation_unrecoverable")
def test_an_exhausted_truncation_has_its_error_code() -> None:
    story = asked(schema_rounds=0) >> truncated(CUT)
    code = "envelope_truncation_unrecoverable"
    assert story << finish("", StopReason.RETRY_LIMIT, TurnStatus.FAILED, code, error_code=code)


@rule(B, "Each truncation retry emits an event with the reason `truncation`; the first call does not")
def test_each_truncation_retry_is_reported_with_its_reason() -> None:
    story = asked() >> truncated(CUT) >> truncated(CUT) >> ended(VALID)
    told = [fields for name, fields in events(story) if name == "envelope.retry.attempted"]
    assert [(one["attempt"], one["reason"]) for one in told] == [(2, "truncation"), (3, "truncation")]
    assert names(asked() >> ended(VALID)) == []


@rule(B, "There are three schema rounds", Kind.DEFAULT)
def test_three_retries_are_made_by_default() -> None:
    assert Limits().schema_rounds == 3
    story = asked() >> truncated(CUT) >> truncated(CUT) >> truncated(CUT) >> truncated(CUT)
    assert story << finish("", status=TurnStatus.FAILED)
