"""Which version active since when, where a policy counts, and that nobody can rewrite who said so."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.db import connection as database
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents import selectors
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.models import Agent, Connection, Policy, PolicyActivation, PolicyVersion, Project
from dashboard.agents.policy_layers import effective_policy_for
from dashboard.agents.policy_resolution import Level
from dashboard.agents.services import agent_create
from dashboard.policies import policy_versions
from dashboard.policies.policy_creation import policy_create
from tests.dashboard.racing import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def two(project: Project) -> tuple[PolicyVersion, PolicyVersion]:
    """Two versions of a policy, the second of them a draft."""
    first = policy_create(project=project, name="wide", limits={"max_continuations": 5})
    return first, policy_create(project=project, name="wide", limits={"max_continuations": 9}, activate=False)


def counts(version: PolicyVersion) -> PolicyVersion | None:
    return selectors.policy_version_active(policy=version.policy)


def test_a_draft_applies_once_activated_and_an_earlier_version_after_a_rollback(two, ann):
    first, second = two
    assert counts(first) == first
    policy_versions.version_activate(version=second, by=ann, why="Answers were cut.")
    assert counts(first) == second
    policy_versions.version_activate(version=first, by=ann, why="It cost too much.")
    assert counts(first) == first
    told = [(row.version.version, row.why) for row in selectors.activations_of(first.policy)]
    assert told == [(1, "It cost too much."), (2, "Answers were cut."), (1, "")]


def test_an_active_version_is_not_activated_again(two):
    with pytest.raises(ValidationError, match="wide v1 is already active"):
        policy_versions.version_activate(version=two[0])


@pytest.mark.django_db(transaction=True)
def test_an_activation_that_waited_for_another_comes_after_it(two: tuple[PolicyVersion, PolicyVersion]):
    """Two people at once: the one who is told last that his version counts is the one whose version does."""
    first, second = two
    third = policy_create(project=first.policy.project, name="wide", limits={"max_steps": 3}, activate=False)
    at_once(
        lambda: Policy.objects.select_for_update().get(pk=first.policy_id),
        lambda: policy_versions.version_activate(version=second),
        then=lambda: policy_versions.version_activate(version=third),
    )
    assert counts(first) == second
    starts = [(row.version.version, row.starts_at) for row in selectors.activations_of(first.policy)]
    assert [number for number, _ in starts] == [2, 3, 1]


def test_an_immediate_activation_comes_after_all_started_ones(two: tuple[PolicyVersion, PolicyVersion]):
    first, second = two
    moment = selectors.activations_of(first.policy)[0].starts_at
    assert selectors.start_now(policy_id=first.policy_id) > moment
    PolicyActivation.objects.create(policy=first.policy, version=second, starts_at=moment + timedelta(days=1))
    assert selectors.start_now(policy_id=first.policy_id) < moment + timedelta(days=1)


def test_a_schedule_applies_from_its_time_and_can_be_withdrawn_before(two, ann):
    first, second = two
    tomorrow = timezone.now() + timedelta(days=1)
    planned = policy_versions.version_activate(version=second, starts_at=tomorrow)
    assert counts(first) == first
    before, after = tomorrow - timedelta(seconds=1), tomorrow + timedelta(seconds=1)
    assert selectors.policy_version_active(policy=first.policy, at=before) == first
    assert selectors.policy_version_active(policy=first.policy, at=after) == second
    policy_versions.activation_withdraw(activation=planned, by=ann)
    assert selectors.policy_version_active(policy=first.policy, at=after) == first
    with pytest.raises(ValidationError, match="started or was cancelled"):
        policy_versions.activation_withdraw(activation=planned)


@pytest.mark.parametrize(("ahead", "words"), [(-1, "moment in the future"), (400 * 86400, "at most 366 days")])
def test_a_schedule_must_be_in_the_future_and_within_a_year(two, ahead, words):
    with pytest.raises(ValidationError, match=words):
        policy_versions.version_activate(version=two[1], starts_at=timezone.now() + timedelta(seconds=ahead))


def test_a_started_activation_cannot_be_withdrawn(two):
    with pytest.raises(ValidationError, match="has started"):
        policy_versions.activation_withdraw(activation=PolicyActivation.objects.get())


def refused(statement: str) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), database.cursor() as cursor:
        cursor.execute(statement)


def test_the_record_of_activations_cannot_be_changed(two, ann):
    policy_versions.version_activate(version=two[1], by=ann)
    refused("UPDATE agents_policyactivation SET why = 'it was not me'")
    refused("UPDATE agents_policyactivation SET withdrawn_at = now()")
    refused("DELETE FROM agents_policyactivation")
    ann.delete()
    assert set(PolicyActivation.objects.values_list("created_by", flat=True)) == {None}


def test_every_change_of_an_agent_is_recorded_with_who_when_and_why(project, connection, ann):
    with on_behalf(ann, "a trial"):
        agent = agent_create(project=project, name="essay", connection=connection, model="m", max_tokens=60)
    with on_behalf(ann, "too short"), transaction.atomic():
        agent.max_tokens = 90
        agent.save()
    Agent.objects.filter(pk=agent.pk).update(model="other")
    made, changed, past = agent.changes.order_by("pgh_id")
    assert (made.pgh_label, made.pgh_context, made.max_tokens) == ("made", {"by": "ann", "why": "a trial"}, 60)
    assert (changed.pgh_label, changed.pgh_context["why"], changed.max_tokens) == ("changed", "too short", 90)
    assert past.model == "other"


@pytest.mark.parametrize("table", ["agents_agentchange", "agents_connectionchange", "agents_policyattachmentchange"])
def test_the_log_of_changes_cannot_be_edited(project, connection, two, table):
    agent_create(project=project, name="essay", connection=connection, model="m", max_tokens=60)
    policy_versions.policy_attach(project=project, policy=two[0].policy)
    refused(f"UPDATE {table} SET pgh_label = 'nothing'")
    refused(f"DELETE FROM {table}")


def limits_at(project: Project, name: str, **limits: int) -> PolicyVersion:
    return policy_create(project=project, name=name, limits=limits)


def test_an_agents_turn_takes_each_number_from_the_most_specific_policy(project: Project, connection: Connection):
    own = limits_at(project, "own", max_steps=1)
    model = limits_at(project, "model", max_steps=2, max_continuations=2)
    provider = limits_at(project, "provider", max_steps=3, max_continuations=3, schema_rounds=3)
    site = limits_at(project, "site", max_steps=4, max_continuations=4, schema_rounds=4, max_seconds=4)
    elsewhere = limits_at(project, "elsewhere", max_total_output_chars=7)
    attach = policy_versions.policy_attach
    attach(project=project, policy=model.policy, connection=connection, model="m")
    attach(project=project, policy=elsewhere.policy, connection=connection, model="n")
    attach(project=project, policy=provider.policy, provider="openai")
    attach(project=project, policy=site.policy)
    agent = agent_create(project=project, name="a", connection=connection, model="m", max_tokens=9, policy=own.policy)
    standing = effective_policy_for(agent, {"limits": {"max_tool_repair_attempts": 0}})
    limits = standing.policy.limits
    assert (limits.max_steps, limits.max_continuations, limits.schema_rounds, limits.max_seconds) == (1, 2, 3, 4)
    assert (limits.max_tool_repair_attempts, limits.max_total_output_chars) == (0, 120_000)
    levels = {field: layer.level for field in standing.resolved.said_by if (layer := standing.resolved.source(field))}
    assert levels == {
        "limits.max_tool_repair_attempts": Level.TURN,
        "limits.max_steps": Level.AGENT,
        "limits.max_continuations": Level.MODEL,
        "limits.schema_rounds": Level.PROVIDER,
        "limits.max_seconds": Level.SITE,
    }
    assert standing.version == own
    assert effective_policy_for(agent, {"model": "n"}).policy.limits.max_total_output_chars == 7


def test_one_error_setting_keeps_the_sites_settings_for_all_other_errors(project: Project, connection: Connection):
    """Each type of error is a field: who names one does not speak of the rest."""
    site = policy_create(project=project, name="site", error_policy={"preset": "retry_all", "max_retries": 5})
    own = policy_create(project=project, name="own", error_policy={"on_tool_error": "ignore"})
    policy_versions.policy_attach(project=project, policy=site.policy)
    agent = agent_create(project=project, name="a", connection=connection, model="m", max_tokens=9, policy=own.policy)
    standing = effective_policy_for(agent, {"error_policy": {"max_retries": 2}})
    said = standing.policy.error_policy
    assert (said.on_tool_error, said.on_model_error, said.max_retries) == ("ignore", "retry", 2)
    levels = {
        field: layer.level
        for field in ("max_retries", "on_tool_error", "on_model_error", "on_timeout_error")
        if (layer := standing.resolved.source(f"error_policy.{field}"))
    }
    assert levels == {
        "max_retries": Level.TURN,
        "on_tool_error": Level.AGENT,
        "on_model_error": Level.SITE,
        "on_timeout_error": Level.SITE,
    }


def test_one_policy_applies_per_target_and_targets_are_complete(project, connection, two, ann):
    policy = two[0].policy
    other = limits_at(project, "other", max_steps=4).policy
    first = policy_versions.policy_attach(project=project, policy=policy, by=ann)
    assert policy_versions.policy_attach(project=project, policy=other, by=ann, why="better") == first
    assert [(row.policy, row.place) for row in selectors.attachment_list(project=project)] == [
        (other, "the whole site")
    ]
    assert first.changes.latest("pgh_id").pgh_context == {"by": "ann", "why": "better"}
    with pytest.raises(ValidationError, match="Name a connection and its model"):
        policy_versions.policy_attach(project=project, policy=policy, connection=connection)
    with pytest.raises(ValidationError, match="There is no provider"):
        policy_versions.policy_attach(project=project, policy=policy, provider="nobody")
    policy_versions.policy_detach(attachment=first, by=ann)
    assert not selectors.attachment_list(project=project)


@pytest.mark.django_db(transaction=True)
def test_the_later_of_two_simultaneous_attachments_wins(project: Project, two, ann: User):
    wide, other = two[0].policy, limits_at(project, "other", max_steps=4).policy
    made = at_once(
        lambda: policy_versions.policy_attach(project=project, policy=wide),
        lambda: policy_versions.policy_attach(project=project, policy=other, by=ann, why="better"),
    )
    assert [(row.pk, row.policy) for row in selectors.attachment_list(project=project)] == [(made.pk, other)]
    assert made.changes.latest("pgh_id").pgh_context == {"by": "ann", "why": "better"}


@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_simultaneous_policies_of_one_name_becomes_the_next_version(project: Project):
    def make(steps: int) -> PolicyVersion:
        return policy_create(project=project, name="new", limits={"max_steps": steps})

    second = at_once(lambda: make(1), lambda: make(2))
    assert (second.version, second.limits) == (2, {"max_steps": 2})
    assert Policy.objects.filter(name="new").count() == 1
