"""Whom a policy reaches, and what does not fit them: asked of each way in which it may come to count."""

import pytest

from dashboard.agents.models import Agent, Connection, Policy, PolicyVersion, Project
from dashboard.agents.services import agent_create, connection_create
from dashboard.policies import policy_versions
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_forms import PolicyForm
from dashboard.policies.policy_impact import PolicyGraph, activation_warnings, place_warnings, version_warnings

pytestmark = pytest.mark.django_db

SMALL = {"max_total_completion_tokens": 10}
WORDS = (
    "Max completion tokens per turn (max_total_completion_tokens) is 10, less than one answer of the agent “essay”, "
    "which may have 100 tokens"
)


@pytest.fixture
def connection(project: Project) -> Connection:
    """An endpoint that gives at most 4096 tokens at a time."""
    return connection_create(
        project=project, name="near", provider="openai", base_url="http://127.0.0.1:9/v1", max_output_tokens=4096
    )


@pytest.fixture
def agent(project: Project, connection: Connection) -> Agent:
    return agent_create(project=project, name="essay", connection=connection, model="m", max_tokens=100)


@pytest.fixture
def small(project: Project) -> PolicyVersion:
    return policy_create(project=project, name="small", limits=SMALL)


def place(level: str, agent: Agent) -> dict[str, object]:
    return {
        "site": {},
        "provider": {"provider": "openai"},
        "model": {"connection": agent.connection, "model": "m"},
        "another provider": {"provider": "anthropic"},
        "another model": {"connection": agent.connection, "model": "n"},
    }[level]


@pytest.mark.parametrize("level", ["agent", "model", "provider", "site"])
def test_a_total_below_one_answer_is_found_wherever_the_policy_applies(agent: Agent, small: PolicyVersion, level: str):
    assert version_warnings(small) == place_warnings(small.policy) == []
    if level == "agent":
        agent.policy = small.policy
        agent.save()
    else:
        policy_versions.policy_attach(project=agent.project, policy=small.policy, **place(level, agent))
    (warning,) = version_warnings(small)
    assert warning.startswith(WORDS)
    assert place_warnings(small.policy) == [warning]
    form = PolicyForm({"max_total_completion_tokens": "10"}, instance=small.policy)
    assert form.errors["max_total_completion_tokens"][0].startswith("10 is less than one answer of the agent “essay”")
    fits = PolicyForm({"max_total_completion_tokens": "100"}, instance=small.policy)
    assert "max_total_completion_tokens" not in fits.errors


@pytest.mark.parametrize("level", ["another model", "another provider"])
def test_an_agent_outside_the_scope_is_not_affected(agent: Agent, small: PolicyVersion, level: str):
    policy_versions.policy_attach(project=agent.project, policy=small.policy, **place(level, agent))
    assert version_warnings(small) == []


def test_a_number_overridden_by_a_more_specific_policy_is_ignored(agent: Agent, small: PolicyVersion, project: Project):
    policy_versions.policy_attach(project=project, policy=small.policy)
    near = policy_create(project=project, name="near", limits={"max_total_completion_tokens": 900})
    policy_versions.policy_attach(project=project, policy=near.policy, provider="openai")
    assert version_warnings(small) == []
    assert version_warnings(near) == []


def test_a_draft_is_checked_as_if_active_and_the_most_demanding_agent_is_named(
    agent: Agent, project: Project, connection: Connection
):
    wide = policy_create(project=project, name="wide", limits={"max_total_completion_tokens": 900})
    policy_versions.policy_attach(project=project, policy=wide.policy)
    agent_create(project=project, name="novel", connection=connection, model="m", max_tokens=400)
    both = {**SMALL, "max_total_tokens": 200}
    draft = policy_create(project=project, name="wide", limits=both, activate=False)
    assert version_warnings(wide) == []
    first, second = version_warnings(draft)
    assert "10, less than one answer of the agent “novel”, which may have 400 tokens" in first
    assert "(max_total_tokens) is 200, less than one answer of the agent “novel”" in second


def test_a_budget_above_the_ceiling_is_attributed_to_the_policy_that_sets_it(project: Project, connection: Connection):
    own = policy_create(project=project, name="own", limits={"max_steps": 3})
    agent_create(
        project=project,
        name="strict",
        connection=connection,
        model="m",
        max_tokens=3000,
        envelope_schema={"type": "object"},
        policy=own.policy,
    )
    site = policy_create(project=project, name="site", limits={"truncation_budget_multiplier": 1.5})
    assert "2 times that is more than the 4,096 that “near” allows" in version_warnings(own)[0]
    policy_versions.policy_attach(project=project, policy=site.policy)
    assert version_warnings(own) == []
    assert "1.5 times that is more than the 4,096" in version_warnings(site)[0]


def test_the_data_is_read_with_a_constant_number_of_queries(
    agent: Agent, small: PolicyVersion, project: Project, connection: Connection, django_assert_num_queries
):
    policy_versions.policy_attach(project=project, policy=small.policy)
    for n in range(5):
        own = policy_create(project=project, name=f"own-{n}", limits={"max_steps": 3}).policy
        agent_create(project=project, name=f"a{n}", connection=connection, model="m", max_tokens=9, policy=own)
    with django_assert_num_queries(3):
        assert len(list(PolicyGraph.of(project).reached(small))) == 6


def test_a_policy_of_drafts_applies_nowhere(agent: Agent, project: Project):
    policy: Policy = policy_create(project=project, name="new", limits=SMALL, activate=False).policy
    policy_versions.policy_attach(project=project, policy=policy)
    assert place_warnings(policy) == []


def test_a_version_that_removes_a_limit_is_warned_of(project: Project):
    first = policy_create(project=project, name="site", limits={"max_total_completion_tokens": 600, "max_steps": 3})
    assert activation_warnings(first) == []
    gone = policy_create(project=project, name="site", limits={"max_total_completion_tokens": None})
    words = "Max completion tokens per turn (max_total_completion_tokens)"
    assert activation_warnings(gone) == [f"v2 removes {words}, which v1 sets to 600 tokens."]
    draft = policy_create(project=project, name="site", limits={"max_total_tokens": 900}, activate=False)
    assert activation_warnings(draft) == []
    policy_versions.version_activate(version=first)
    assert activation_warnings(first) == []
    assert activation_warnings(draft) == [f"v3 does not set {words}, which v1 sets to 600 tokens."]


def test_a_version_that_sets_no_limit_where_none_was_said_is_warned_of(project: Project):
    policy_create(project=project, name="site", limits={"max_steps": 3})
    open_ended = policy_create(project=project, name="site", limits={"max_total_tokens": None})
    assert activation_warnings(open_ended) == ["v2 removes Max tokens per turn (max_total_tokens)."]
