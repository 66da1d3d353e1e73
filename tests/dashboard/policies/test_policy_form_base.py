"""Which version the form of a policy starts from, what it says of it, and what saving it unchanged does."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion
from dashboard.agents.selectors import policy_version_active
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_form_base import asked_version, number_of, start_of
from dashboard.policies.policy_forms import PolicyForm
from dashboard.policies.policy_versions import version_activate
from tests.dashboard.racing import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("contexts")]

INLINE = {"versions-TOTAL_FORMS": "0", "versions-INITIAL_FORMS": "0"}


@pytest.fixture
def wide(project) -> Policy:
    return policy_create(project=project, name="wide", limits={"max_continuations": 1}).policy


@pytest.fixture
def draft(wide) -> PolicyVersion:
    return policy_create(project=wide.project, name="wide", limits={"max_continuations": 5}, activate=False)


def opened(client: Client, policy: Policy, query: str = "") -> tuple[str, dict[str, Any]]:
    """The page, and what its form would send as it stands."""
    answer = client.get(reverse("admin:agents_policy_change", args=[policy.pk]) + query)
    form = answer.context["adminform"].form
    sent = {field.name: field.value() for field in form if field.value() not in (None, [])}
    html = unescape(answer.content.decode())
    hidden = re.search(r'name="start" value="(\d+)"', html)
    assert hidden, "the form does not say where it started"
    counted = re.search(r'name="counted" value="(\d+)"', html)
    assert counted, "the form does not say what counted"
    sent["counted"] = counted[1]
    return re.sub(r"\s+", " ", html), {**sent, "why": "As tried.", "start": hidden[1], **INLINE}


def saved(client: Client, policy: Policy, sent: dict[str, Any]) -> list[str]:
    answer = client.post(reverse("admin:agents_policy_change", args=[policy.pk]), sent, follow=True)
    errors = answer.context.get("errors")
    assert not errors, errors
    return [str(message) for message in answer.context["messages"]]


def active(policy: Policy) -> int:
    version = policy_version_active(policy=policy)
    assert version is not None
    return version.version


def test_a_draft_saved_as_active_becomes_active(admin_client: Client, wide: Policy, draft: PolicyVersion):
    html, sent = opened(admin_client, wide)
    assert "The fields start from v2, a draft (inactive); v1 is active." in html
    assert (sent["max_continuations"], sent["counts"]) == (5, "draft")
    assert saved(admin_client, wide, sent) == ["Nothing has changed: version 2 of “wide” stays as it is."]
    assert active(wide) == 1
    told = saved(admin_client, wide, {**sent, "counts": "now"})
    assert told == ["Version 2 of “wide” is now active."]
    made = PolicyActivation.objects.get(version=draft)
    assert (active(wide), made.why, made.created_by.is_superuser) == (2, "As tried.", True)
    assert PolicyVersion.objects.count() == 2
    html, sent = opened(admin_client, wide)
    assert "The fields start from v2, which is active." in html
    assert saved(admin_client, wide, sent) == ["Nothing has changed: version 2 of “wide” is already active."]


def test_a_draft_saved_with_a_time_is_scheduled(admin_client: Client, wide: Policy, draft: PolicyVersion):
    _, sent = opened(admin_client, wide)
    moment = timezone.now() + timedelta(hours=2)
    soon = f"{moment:%Y-%m-%dT%H:%M}"
    (told,) = saved(admin_client, wide, {**sent, "counts": "later", "starts_at": soon})
    assert told == f"Version 2 of “wide” becomes active at {moment:%Y-%m-%d %H:%M} UTC."
    html, sent = opened(admin_client, wide)
    assert sent["start"] == "1"
    assert f"v2 becomes active at {moment:%Y-%m-%d %H:%M} UTC." in html
    asked, _ = opened(admin_client, wide, "?start=2")
    assert "The fields start from v2, which is not active yet; v1 is active." in asked


@pytest.mark.parametrize("change", [{}, {"max_seconds": "9"}], ids=["unchanged", "changed"])
def test_a_version_activated_while_a_form_was_open_is_not_undone_unnoticed(
    admin_client: Client, wide: Policy, change: dict[str, str]
):
    _, sent = opened(admin_client, wide)
    policy_create(project=wide.project, name="wide", limits={"max_continuations": 7})
    address = reverse("admin:agents_policy_change", args=[wide.pk])
    sent["counts"] = "now"
    refused = admin_client.post(address, {**sent, **change})
    html = unescape(refused.content.decode())
    assert "While this form was open, v2 became active; v1 was active when it was opened." in html
    assert (active(wide), PolicyVersion.objects.count(), PolicyActivation.objects.count()) == (2, 2, 2)
    assert 'name="counted" value="2"' in html
    draft = saved(admin_client, wide, {**sent, "max_steps": "8", "counts": "draft"})
    assert (draft[0][:17], active(wide)) == ("This is version 3", 2), "a draft replaces nothing"
    saved(admin_client, wide, {**sent, **change, "counted": "2"})
    assert active(wide) == (4 if change else 1)


@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_simultaneous_saves_is_told_of_the_first(admin_client: Client, wide: Policy):
    _, sent = opened(admin_client, wide)
    address = reverse("admin:agents_policy_change", args=[wide.pk])

    def another_counts() -> None:
        policy_create(project=wide.project, name="wide", limits={"max_continuations": 7})

    refused = at_once(another_counts, lambda: admin_client.post(address, {**sent, "counts": "now", "max_seconds": "9"}))
    html = unescape(refused.content.decode())
    assert "While this form was open, v2 became active; v1 was active when it was opened." in html
    assert 'name="counted" value="2"' in html
    assert active(wide) == 2


def test_a_time_in_the_past_is_reported_at_its_field(admin_client: Client, wide: Policy):
    _, sent = opened(admin_client, wide)
    late = {**sent, "max_continuations": "2", "counts": "later", "starts_at": "2020-01-01T12:00"}
    answer = admin_client.post(reverse("admin:agents_policy_change", args=[wide.pk]), late)
    assert "Schedule a moment in the future" in answer.content.decode()
    assert PolicyVersion.objects.count() == 1


def test_a_backtested_draft_becomes_a_version_that_keeps_the_backtest(
    admin_client: Client, wide: Policy, draft: PolicyVersion
):
    backtest = backtest_create(
        project=wide.project, policy={"limits": {"max_continuations": 5}}, filter={}, stands_for=wide
    )
    runner.run(backtest.pk)
    _, sent = opened(admin_client, wide)
    (told,) = saved(admin_client, wide, {**sent, "counts": "now", "backtest": str(backtest.pk)})
    assert told.startswith("This is version 3 of “wide”, with a backtest over 0 turns: it found none")
    assert told.endswith(". It is now active.")
    assert (active(wide), PolicyVersion.objects.get(version=3).backtest) == (3, backtest)


def test_a_backtest_of_other_content_is_reported_as_omitted(admin_client: Client, wide: Policy, draft: PolicyVersion):
    other = backtest_create(project=wide.project, policy={"limits": {"max_continuations": 4}}, filter={})
    _, sent = opened(admin_client, wide)
    assert saved(admin_client, wide, {**sent, "counts": "now", "backtest": str(other.pk)}) == [
        "Version 2 of “wide” is now active. The backtest is not kept with this version: it used other settings."
    ]


def test_a_rolled_back_version_is_not_prefilled(admin_client: Client, wide: Policy, draft: PolicyVersion):
    version_activate(version=draft, why="wider")
    version_activate(version=wide.versions.get(version=1), why="too dear")
    html, sent = opened(admin_client, wide)
    assert "The fields start from v1, which is active." in html
    assert (sent["max_continuations"], sent["counts"]) == (1, "draft")
    (told,) = saved(admin_client, wide, {**sent, "counts": "now", "max_steps": "7"})
    assert "version 3" in told
    third = policy_version_active(policy=wide)
    assert third is not None
    assert third.limits == {"max_continuations": 1, "max_steps": 7}
    asked, sent = opened(admin_client, wide, "?start=2")
    assert "The fields start from v2, which is no longer active; v3 is active." in asked
    assert (sent["max_continuations"], sent["counts"]) == (5, "draft")


def test_an_outdated_draft_is_offered_and_not_prefilled(admin_client: Client, wide: Policy):
    second = policy_create(project=wide.project, name="wide", limits={"max_continuations": 3})
    policy_create(project=wide.project, name="wide", limits={"max_continuations": 9}, activate=False)
    version_activate(version=wide.versions.get(version=1), why="back")
    html, sent = opened(admin_client, wide)
    assert sent["max_continuations"] == 1
    assert '<a href="?start=3">Start from v3, a newer draft</a>' in html
    assert second.version == 2
    asked, sent = opened(admin_client, wide, "?start=3")
    assert sent["max_continuations"] == 9
    assert '<a href="?start=1">Start from v1, which is active</a>' in asked


def test_a_form_keeps_its_base_although_another_version_was_saved(
    admin_client: Client, wide: Policy, draft: PolicyVersion
):
    _, sent = opened(admin_client, wide)
    policy_create(project=wide.project, name="wide", limits={"max_continuations": 7})
    assert saved(admin_client, wide, {**sent, "counts": "now", "counted": "3"}) == [
        "Version 2 of “wide” is now active."
    ]


def test_the_newest_draft_of_a_policy_of_drafts_is_prefilled(project):
    for continuations in (1, 2):
        policy = policy_create(
            project=project, name="new", limits={"max_continuations": continuations}, activate=False
        ).policy
    start = start_of(policy)
    assert start is not None
    assert start.words == "The fields start from v2, a draft (inactive); no version of this policy is active."
    assert start.offered == ()
    assert start_of(Policy.objects.create(project=project, name="empty")) is None


@pytest.mark.parametrize(
    ("text", "number"), [("2", 2), ("", None), (None, None), ("-2", None), ("²", None), ("9" * 9, None), ("x", None)]
)
def test_a_version_is_named_only_by_a_number(text: str | None, number: int | None, wide: Policy):
    assert asked_version(text) == number
    found = start_of(wide, asked=number)
    assert found is not None
    assert found.version.version == 1


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("120000", 120_000), ("120,000", 120_000), ("1,000,000.5", 1_000_000.5), (" 12 ", 12), ("0.5", 0.5),
        ("none", None), ("12,00", "12,00"), ("1,2,3", "1,2,3"), ("1e9", "1e9"), ("many", "many"),
    ],
)  # fmt: skip
def test_numbers_are_read_with_or_without_commas_between_thousands(typed: str, number: object):
    assert number_of(typed) == number


def test_stop_reasons_are_offered_by_their_words_with_their_keys_as_code():
    """`max_tokens` is a stop reason here, and the key of a limit elsewhere on the form."""
    html = str(PolicyForm()["finish_reasons"])
    assert 'cut off <code class="key">max_<wbr>tokens</code>' in html
    assert 'ended <code class="key">end_<wbr>turn</code>' in html
    assert "cancelled <code" not in html, "a key that is the word is not said twice"


def test_the_help_of_the_failures_in_a_row_names_presets_as_the_form_does():
    help_text = PolicyForm().fields["max_retries"].help_text
    assert "the preset's value (stop on any error 0, retry tool errors 3," in help_text


def test_the_preset_that_never_retries_says_what_to_set_instead():
    help_text = PolicyForm().fields["preset"].help_text
    assert help_text == (
        "With ignore tool errors, nothing is retried unless you set Max failures in a row to 2 or more below."
    )
