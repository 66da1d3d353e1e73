"""The account of a policy, in words."""

import pytest

from dashboard.agents.selectors import project_default
from dashboard.policies.audit_log import audit_entries
from dashboard.policies.policy_creation import policy_create

pytestmark = pytest.mark.django_db


def test_a_version_without_changes_is_not_described_as_having_no_overrides():
    for _ in range(2):
        version = policy_create(project=project_default(), name="own", limits={"max_continuations": 1})
    created = [entry.what for entry in audit_entries(version.policy) if entry.what.startswith("created")]
    assert created == ["created v2: no changes", "created v1: Max continuations inherited → 1 continuation"]


def test_a_first_version_without_settings_has_no_overrides():
    version = policy_create(project=project_default(), name="own")
    assert "created v1: no overrides" in [entry.what for entry in audit_entries(version.policy)]
