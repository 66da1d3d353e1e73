"""A shadow run of a policy that applies to no turn says so before it starts, when it starts, and while it runs."""

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.agents.models import Policy, PolicyVersion, Project
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.selectors import LOOKED_AT, reach_warning
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)

NOWHERE = "because no agent uses it and it is not attached anywhere."


@pytest.fixture
def draft(project: Project) -> PolicyVersion:
    """Of a policy that nothing uses, with another version active."""
    policy_create(project=project, name="spare", limits={"max_continuations": 5})
    return policy_create(project=project, name="spare", limits={"max_continuations": 1}, activate=False)


@pytest.fixture
def spare(draft: PolicyVersion) -> Policy:
    return draft.policy


def test_a_policy_that_nothing_uses_is_reported_with_the_number_of_turns(spare: Policy, play: Play):
    assert reach_warning(spare) == f"It applies to no turn, {NOWHERE}"
    play("sim-essay", name="a")
    play("sim-essay", name="b")
    assert reach_warning(spare) == f"It applies to none of the last 2 turns, {NOWHERE}"
    assert LOOKED_AT >= 2


def test_a_policy_whose_turns_are_among_the_last_is_not_reported(spare: Policy, play: Play):
    play("sim-essay", name="a", policy=spare)
    assert reach_warning(spare) == ""


def test_a_policy_that_applies_where_no_turn_ran_names_the_place(spare: Policy, play: Play):
    quiet = play("sim-essay", name="quiet", policy=spare)
    Turn.objects.filter(pk=quiet.pk).update(policy_sources=None)
    assert reach_warning(spare) == (
        "It applies to none of the last 1 turn, because it applies to quiet, and none of these turns ran there."
    )


def test_a_policy_without_an_active_version_is_reported(project: Project, play: Play):
    draft = policy_create(project=project, name="first", limits={"max_continuations": 1}, activate=False)
    play("sim-essay", name="a", policy=draft.policy)
    assert "none of its versions is active" in reach_warning(draft.policy)


def test_the_form_and_the_page_of_the_shadow_run_show_the_warning(browser: Client, draft: PolicyVersion, play: Play):
    play("sim-essay", name="a")
    address = reverse("policies:show", args=[draft.policy_id])
    before = page(browser, address)
    assert "may have nothing to evaluate" in before
    assert NOWHERE in before
    answer = browser.post(reverse("policies:shadow", args=[draft.pk]), follow=True).content.decode()
    assert "This shadow run may have nothing to evaluate. It applies to none of the last 1 turn" in answer
    assert f"No turn has been evaluated yet. It applies to none of the last 1 turn, {NOWHERE}" in page(browser, address)
