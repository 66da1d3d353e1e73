"""What of a policy's file comes here: what counts, drafts and schedules; what is left out is named."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion, Project
from dashboard.agents.selectors import policy_version_active
from dashboard.agents.services import agent_create, connection_create
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_file import policies_export, policies_import
from dashboard.policies.policy_form_base import start_of
from dashboard.policies.policy_versions import activation_withdraw, version_activate

pytestmark = pytest.mark.django_db

SOON = timezone.now() + timedelta(hours=5)
TOLD = f"{SOON:%Y-%m-%d %H:%M} UTC"
ALL_HERE = ["Everything in the file was here already."]


@pytest.fixture
def lived(project: Project) -> Policy:
    """v1 counts again, v2 did in between, v3 will, v4 is a draft."""
    first = policy_create(project=project, name="wide", limits={"max_continuations": 1})
    policy_create(project=project, name="wide", limits={"max_continuations": 2})
    third = policy_create(project=project, name="wide", limits={"max_continuations": 3}, activate=False)
    version_activate(version=first, why="back")
    version_activate(version=third, why="tonight", starts_at=SOON)
    policy_create(project=project, name="wide", limits={"max_continuations": 4}, why="an idea", activate=False)
    return first.policy


def the_file(project: Project, **changes: Any) -> dict[str, Any]:
    (told,) = policies_export(project)["policies"]
    return {**told, **changes}


def taken(told: dict[str, Any], by: User | None = None) -> list[str]:
    body = json.dumps({"whystop_policies": 1, "policies": [told]})
    return policies_import(body.encode(), project=Project.objects.get(), by=by)


def more(told: dict[str, Any], number: int, continuations: int) -> dict[str, Any]:
    version = {"version": number, "why": "mine", "limits": {"max_continuations": continuations}}
    return {**told, "versions": [*told["versions"], version]}


def latest(policy: Policy) -> PolicyVersion:
    return policy.versions.order_by("-version")[0]


def test_a_file_lists_active_past_and_scheduled_versions(project: Project, lived: Policy):
    told = the_file(project)
    assert (told["active"], told["past"]) == (1, [2])
    assert told["schedule"] == [{"version": 3, "starts_at": SOON.isoformat(), "why": "tonight"}]
    assert taken(told) == ALL_HERE


def test_an_additional_draft_is_imported_once(project: Project, lived: Policy, ann: User):
    told = more(the_file(project), 11, 9)
    assert taken(told, ann) == ["“wide” has a new draft: version 5."]
    assert taken(told, ann) == ALL_HERE
    made, active = latest(lived), policy_version_active(policy=lived)
    assert (made.limits, made.created_by, made.why) == ({"max_continuations": 9}, ann, "Imported from a file. mine")
    assert active is not None
    assert active.version == 1


def test_a_version_that_was_only_active_in_the_past_is_omitted_and_named(project: Project, lived: Policy):
    told = more(the_file(project, past=[2, 11]), 11, 9)
    assert taken(told) == ["“wide”: not imported, because it was active before: version 11 of the file."]
    assert lived.versions.count() == 4


def test_in_a_file_without_past_markers_versions_before_the_active_one_are_past(project: Project, lived: Policy):
    told = more(more(the_file(project, active=8), 7, 70), 9, 90)
    told = {name: value for name, value in more(told, 8, 1).items() if name != "past"}
    assert taken(told) == [
        "“wide” has a new draft: version 5.",
        "“wide”: not imported, because it was active before: version 7 of the file.",
    ]
    assert latest(lived).limits == {"max_continuations": 90}


def test_a_schedule_is_imported_once(project: Project, lived: Policy):
    told = the_file(project)
    activation_withdraw(activation=PolicyActivation.objects.get(why="tonight"))
    assert taken(told) == [f"wide v3 becomes active at {TOLD}."]
    assert taken(told) == ALL_HERE
    active = policy_version_active(policy=lived, at=SOON + timedelta(seconds=1))
    assert active is not None
    assert active.version == 3


def test_a_new_policy_keeps_its_state_and_its_form_starts_from_the_active_version(project: Project, lived: Policy):
    told = the_file(project, name="far")
    assert taken(told) == ["“far” is new here, with 4 versions.", f"far v3 becomes active at {TOLD}."]
    far = Policy.objects.get(name="far")
    start = start_of(far)
    assert start is not None
    assert (start.version.version, start.counts, len(start.planned)) == (1, True, 1)


def test_a_schedule_in_the_past_is_named(project: Project, lived: Policy):
    told = the_file(project, schedule=[{"version": 4, "starts_at": "2020-01-31T12:00+02:00"}])
    assert taken(told) == [
        "wide v4 was scheduled for 2020-01-31 10:00 UTC, which has passed; it was not scheduled again."
    ]


def test_settings_that_do_not_suit_the_affected_agents_are_reported(project: Project, lived: Policy):
    near = connection_create(project=project, name="near", provider="openai", base_url="http://127.0.0.1:9/v1")
    agent_create(project=project, name="essay", connection=near, model="m", max_tokens=100, policy=lived)
    told = the_file(project)
    told["versions"][0]["limits"] = {"max_total_tokens": 99}
    counts, warned = taken(told)
    assert "its version 5, which is now active" in counts
    assert "“wide”: Max tokens per turn (max_total_tokens) is 99, less than one answer of the agent “essay”" in warned


def test_a_policy_without_a_version_imports_all_of_them(project: Project):
    Policy.objects.create(project=project, name="wide")
    told = {"name": "wide", "past": [1], "versions": [{"version": 1}]}
    assert taken(told) == ["“wide”: not imported, because it was active before: version 1 of the file."]
    assert taken({**told, "past": []}) == ["“wide” has a new draft: version 1."]


def test_a_past_version_that_no_longer_loads_blocks_nothing(project: Project, lived: Policy):
    told = the_file(project)
    told["versions"][1]["criteria"] = [{"path": "gone.Criterion"}]
    assert taken(told) == ["“wide”: not imported, because it was active before: version 2 of the file."]
    with pytest.raises(ValidationError, match="“far”: Criterion 1: There is no criterion"):
        taken({**told, "name": "far"})
    assert not Policy.objects.filter(name="far").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"past": 3}, "past must be a list"),
        ({"schedule": {}}, ""),
        ({"schedule": {"version": 1}}, "schedule must be a list"),
        ({"schedule": [3]}, "schedule must be a list"),
        ({"schedule": [{}] * 51}, "at most 50"),
        ({"schedule": [{}]}, "needs a version and starts_at"),
        ({"schedule": [{"version": 77}]}, "version 77 is listed as scheduled"),
        ({"schedule": [{"version": 1}]}, "null is not a moment"),
        ({"schedule": [{"version": 1, "starts_at": "0001-01-01T00:00+02:00"}]}, "is not a moment"),
        ({"schedule": [{"version": 4, "starts_at": "9000-01-01"}]}, "at most 366 days"),
    ],
)
def test_an_invalid_file_is_explained_and_changes_nothing(
    project: Project, lived: Policy, changes: dict[str, Any], words: str
):
    told = the_file(project, **changes)
    if not words:
        assert taken(told) == ALL_HERE
        return
    with pytest.raises(ValidationError, match=words):
        taken(told)
    assert (lived.versions.count(), lived.activations.count()) == (4, 4)
