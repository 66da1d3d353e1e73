"""Which field of a policy ended a turn, by the reasons of design §3.2."""

import pytest

from agentcore.errors import ErrorType
from agentcore.resource import RESOURCES
from dashboard.agents.policy_resolution import FIELDS
from dashboard.policies import stop_setting
from dashboard.policies.stop_setting import NOT_OF_POLICIES, clause_of
from tests.together import together

ENDS = [
    ("retry_limit", "retry_limit", "", "limits.max_continuations"),
    ("budget_exhausted", "token_limit", "TruncationCriterion", "limits.max_total_completion_tokens"),
    ("budget_exhausted", "token_limit", "TokenUsageLimit", "limits.max_total_tokens"),
    ("output_cap", "guard", "", "limits.max_total_output_chars"),
    ("tool_repair_failed", "retry_limit", "", "limits.max_tool_repair_attempts"),
    ("envelope_invalid", "retry_limit", "", "limits.schema_rounds"),
    ("envelope_truncation_unrecoverable", "retry_limit", "", "limits.schema_rounds"),
    ("forbidden", "steps_limit", "StepsLimit", "limits.max_steps"),
    ("forbidden", "time_limit", "ExecutionTimeLimit", "limits.max_seconds"),
    ("forbidden", "token_limit", "TokenUsageLimit", "limits.max_total_tokens"),
    ("forbidden", "finish_reason", "FinishReasonCheck", "finish_reasons"),
    ("forbidden", "guard", "MyOwn", "criteria"),
    ("forbidden", "steps_limit", "MyOwn", "criteria"),
    ("forbidden", "finish_reason", "MyOwn", "criteria"),
    ("forbidden", "steps_limit", "", "limits.max_steps"),
    ("provider_error", "time_limit", "ExecutionTimeLimit", "limits.max_seconds"),
]
NOT_OURS = ["completed", "empty_output", "repetition", "safety_blocked", "cancelled", "unknown_fatal", None]


@together
@pytest.mark.parametrize(("terminal", "stop", "by", "field"), ENDS)
def test_an_ending_names_the_field_that_caused_it(terminal: str, stop: str, by: str, field: str):
    assert clause_of(terminal_reason=terminal, stop_reason=stop, error_type="model", resolved_by=by) == field


@together
@pytest.mark.parametrize("error", list(ErrorType))
@pytest.mark.parametrize("terminal", ["provider_error", "forbidden"])
def test_an_error_names_its_setting_or_the_exhausted_retries(terminal: str, error: ErrorType):
    said = {"terminal_reason": terminal, "error_type": error.value, "resolved_by": "ErrorPolicyCriterion"}
    assert clause_of(stop_reason="error", **said) == f"error_policy.on_{error}_error"
    assert clause_of(stop_reason="retry_limit", **said) == "error_policy.max_retries"


@together
@pytest.mark.parametrize("terminal", NOT_OURS)
def test_an_ending_by_the_model_a_person_or_a_guard_names_no_field(terminal: str | None):
    assert clause_of(terminal_reason=terminal, stop_reason="guard") is None


def test_every_clause_is_a_field_of_a_policy():
    named = {*stop_setting.BY_TERMINAL.values(), *stop_setting.BY_CRITERION.values(), *stop_setting.BY_STOP.values()}
    assert named <= set(FIELDS)


@together
@pytest.mark.parametrize("resource", RESOURCES)
def test_the_exhausted_limit_is_the_clause_where_it_is_known(resource: str):
    field = clause_of(terminal_reason="budget_exhausted", stop_reason="token_limit", resource=resource)
    assert field in FIELDS or (resource in NOT_OF_POLICIES and field is None)
    assert field is None or field.endswith(f".{resource}")
