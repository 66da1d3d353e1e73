"""From what is stored to the core's policy, and back."""

import pytest

from agentcore.policy import CriterionSpec, EnvelopeRules, Policy, RecoveryPath
from agentcore.reasons import NormalizedStopReason
from agentcore.serial import to_json
from dashboard.agents.policies import (
    POLICY_CLEANERS,
    POLICY_FIELDS,
    draft_policy,
    envelope_rules_of,
    policy_for,
    stored_policy,
)
from dashboard.agents.policy_validation import RECOVERIES
from dashboard.policies.policy_creation import policy_create

SAID = {
    "limits": {"max_steps": 2},
    "error_policy": {"preset": "retry_all"},
    "envelope": {"recovery": ["jsonrepair"]},
    "tool_calls_on_truncation": "repair",
    "finish_reasons": ["max_tokens"],
    "criteria": [{"path": "ResponseContentCheck", "kwargs": {"message": "More.", "min_chars": 9}}],
    "retention": {"keep_raw_days": 30},
}


def test_every_cleaner_has_a_column_and_every_column_is_read():
    assert set(POLICY_FIELDS) == set(POLICY_CLEANERS) == set(SAID)


@pytest.mark.django_db
def test_a_version_and_a_draft_with_the_same_content_are_one_policy(project):
    version = policy_create(project=project, name="wide", **SAID)
    policy = policy_for(version, {})
    assert policy == draft_policy(SAID)
    assert policy.envelope == EnvelopeRules((RecoveryPath.JSONREPAIR,))
    assert policy.finish_reasons == (NormalizedStopReason.MAX_TOKENS,)
    assert policy.criterion_specs == (CriterionSpec("ResponseContentCheck", {"message": "More.", "min_chars": 9}),)
    assert len(policy.criteria) == 1


def test_a_stored_policy_of_a_turn_judges_it_again_with_the_same_result():
    policy = draft_policy(SAID)
    again = stored_policy(to_json(policy))
    assert again == policy
    assert (again.validate, again.repair) == (policy.validate, policy.repair)
    assert again.repair is not None


def test_policies_stored_before_rules_existed_have_the_default_rules():
    body = to_json(Policy())
    for key in ("envelope", "criterion_specs"):
        body.pop(key, None)
    assert stored_policy(body) == Policy()
    assert envelope_rules_of({"something": "else"}) == envelope_rules_of(None) == EnvelopeRules()


def test_every_recovery_path_except_the_direct_one_can_be_switched():
    assert {RecoveryPath.DIRECT, *RECOVERIES} == set(RecoveryPath)
    assert RecoveryPath.JSONREPAIR not in EnvelopeRules().recovery
