"""What may be done to policies on their pages, and by whom."""

import datetime as dt
import json
import re
from datetime import timedelta
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents import selectors
from dashboard.agents.models import PolicyActivation, PolicyVersion, Project
from dashboard.agents.services import agent_create, connection_create
from dashboard.policies import urls
from dashboard.policies.models import Shadow
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_file import policies_export, policies_import
from dashboard.policies.policy_versions import policy_attach
from tests.dashboard.pages import page
from tests.together import together

pytestmark = pytest.mark.django_db


@pytest.fixture
def two(project: Project) -> tuple[PolicyVersion, PolicyVersion]:
    first = policy_create(project=project, name="wide", limits={"max_continuations": 5})
    second = policy_create(
        project=project, name="wide", limits={"max_continuations": 1, "max_steps": 2}, why="Too dear."
    )
    return first, second


def acted(client: Client, name: str, key: object = None, **data: str) -> str:
    address = reverse(f"policies:{name}", args=[] if key is None else [key])
    answer = client.post(address, data, follow=True)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_a_version_is_rolled_back_to_with_author_and_reason(anns: Client, two):
    first, second = two
    policy = first.policy
    assert "Roll back to v1" in page(anns, f"/policies/{policy.pk}")
    assert "Enter a reason" in acted(anns, "activate", first.pk)
    assert selectors.policy_version_active(policy=policy) == second
    told = acted(anns, "activate", first.pk, why="Answers were cut.")
    assert "wide v1 is now active." in told
    assert "<b>ann</b> activated v1" in told
    assert "<q>Answers were cut.</q>" in told
    assert selectors.policy_version_active(policy=policy) == first


def test_a_schedule_is_shown_and_withdrawn(anns: Client, two):
    first, _ = two
    soon = f"{timezone.now() + timedelta(hours=2):%Y-%m-%dT%H:%M}"
    assert f"becomes active at {soon} UTC" in acted(anns, "activate", first.pk, why="tonight", starts_at=soon)
    html = page(anns, f"/policies/{first.policy_id}")
    assert "Cancel schedule" in html
    planned = PolicyActivation.objects.get(why="tonight")
    assert "cancelled the schedule of v1" in acted(anns, "withdraw", planned.pk)
    assert "not a time such as" in acted(anns, "activate", first.pk, why="x", starts_at="soon")


def test_a_time_in_another_zone_is_shown_in_utc(anns: Client, two):
    moment = timezone.now().replace(microsecond=0) + timedelta(hours=9)
    there = moment.astimezone(dt.timezone(timedelta(hours=2))).isoformat()
    assert there.endswith("+02:00")
    html = acted(anns, "activate", two[0].pk, why="tonight", starts_at=there)
    assert f"wide v1 becomes active at {moment:%Y-%m-%dT%H:%M} UTC." in html
    assert PolicyActivation.objects.get(why="tonight").starts_at == moment
    assert "too far in the past or future" in acted(
        anns, "activate", two[0].pk, why="x", starts_at="0001-01-01T00:00+02:00"
    )
    assert "moment in the future" in acted(anns, "activate", two[0].pk, why="x", starts_at="0001-01-01T00:00")


def test_any_two_versions_are_compared(browser: Client, two):
    first, _ = two
    html = page(browser, f"/policies/{first.policy_id}/diff?a=1&b=2")
    assert '<span class="way lowered">lowered</span> Max continuations' in html
    assert "5 continuations</span> → <b>1 continuation</b>" in html
    assert '<span class="way added">added</span> Max steps' in html
    assert '<span class="way raised">' in page(browser, f"/policies/{first.policy_id}/diff?a=2&b=1")
    assert "The versions have the same settings." in page(browser, f"/policies/{first.policy_id}/diff?a=1&b=1")
    assert "v1 and v2" in page(browser, f"/policies/{first.policy_id}/diff?a=99&b=x")


def test_a_viewer_can_look_and_change_nothing(viewer: Client, two, project: Project):
    first, _ = two
    attachment = policy_attach(project=project, policy=first.policy)
    shadow = Shadow.objects.create(project=project, version=first, started_at=timezone.now())
    html = page(viewer, f"/policies/{first.policy_id}") + page(viewer, "/policies/")
    assert "Too dear." in html
    assert 'method="post"' not in html.replace('<form method="post" action="/sign-out/">', "")
    keys = {
        "version_id": first.pk,
        "activation_id": PolicyActivation.objects.latest("id").pk,
        "attachment_id": attachment.pk,
        "shadow_id": shadow.pk,
    }
    acting = [pattern for pattern in urls.urlpatterns if pattern.callback.__name__ in ACTS]
    assert {pattern.name for pattern in acting} == ACTS_BY_NAME
    before = PolicyActivation.objects.count()
    for pattern in acting:
        assert viewer.post(_address(pattern, keys)).status_code == 403
    assert PolicyActivation.objects.count() == before
    assert selectors.attachment_list(project=project).count() == 1


ACTS = {"activate", "withdraw", "attach", "detach", "shadow", "shadow_stop", "promote", "take_in"}
ACTS_BY_NAME = (ACTS - {"take_in"}) | {"import"}


def _address(pattern: URLPattern, keys: dict[str, object]) -> str:
    wanted = [keys[name] for name in pattern.pattern.converters]
    return reverse(f"policies:{pattern.name}", args=wanted)


def test_the_admin_shows_a_viewer_a_policy_without_a_form(viewer: Client, two):
    address = reverse("admin:agents_policy_change", args=[two[0].policy_id])
    html = page(viewer, address)
    assert 'name="max_continuations"' not in html
    assert viewer.post(address, {"max_continuations": "9"}).status_code == 403


def test_a_total_below_one_answer_is_refused_in_the_admin(admin_client: Client, two, project: Project):
    connection = connection_create(
        project=project, name="near", provider="openai", base_url="http://127.0.0.1:9/v1", max_output_tokens=500
    )
    agent_create(
        project=project,
        name="essay",
        connection=connection,
        model="m",
        max_tokens=400,
        policy=two[0].policy,
        envelope_schema={"type": "object"},
    )
    address = reverse("admin:agents_policy_change", args=[two[0].policy_id])
    said = {"why": "less", "counts": "now", "recovery": ["markdown-fence", "brace-walker"]}
    inline = {"versions-TOTAL_FORMS": "0", "versions-INITIAL_FORMS": "0"}
    small = {**said, **inline, "max_total_completion_tokens": "399", "max_total_tokens": "400"}
    html = unescape(admin_client.post(address, small).content.decode())
    assert "399 is less than one answer of the agent “essay”, which may have 400 tokens" in html
    assert html.count("is less than one answer") == 1
    fits = {**said, **inline, "max_total_completion_tokens": "400"}
    told = unescape(admin_client.post(address, fits, follow=True).content.decode())
    assert "2 times that is more than the 500 that “near” allows" in told


def test_a_draft_and_a_schedule_are_created_in_the_admin(admin_client: Client, two):
    address = reverse("admin:agents_policy_change", args=[two[0].policy_id])
    said = {
        "why": "wider",
        "recovery": ["markdown-fence", "brace-walker"],
        "max_continuations": "8",
        "max_seconds": "none",
        "versions-TOTAL_FORMS": "0",
        "versions-INITIAL_FORMS": "0",
    }
    admin_client.post(address, {**said, "counts": "draft"})
    third = PolicyVersion.objects.get(version=3)
    assert (third.limits, third.why) == ({"max_continuations": 8, "max_seconds": None}, "wider")
    assert selectors.policy_version_active(policy=third.policy) == two[1]
    html = unescape(admin_client.post(address, {**said, "counts": "later", "max_steps": "3"}).content.decode())
    assert "Enter when it becomes active" in html
    soon = f"{timezone.now() + timedelta(hours=2):%Y-%m-%dT%H:%M}"
    admin_client.post(address, {**said, "counts": "later", "max_steps": "3", "starts_at": soon})
    later = timezone.now() + timedelta(hours=3)
    active = selectors.policy_version_active(policy=third.policy, at=later)
    assert active is not None
    assert active.version == 4
    assert admin_client.post(address, {**said, "counts": "now", "why": ""}).status_code == 200
    assert PolicyVersion.objects.count() == 4


def test_input_of_the_attach_form_is_kept_after_a_fault(anns: Client, two):
    html = acted(anns, "attach", policy="wide", level="provider", provider="x", model="m", why="Typed at length.")
    for kept in ('value="Typed at length."', 'value="provider" selected', 'name="provider" value="x"', 'value="m"'):
        assert kept in html


def test_policies_are_attached_and_detached(anns: Client, two, project: Project):
    connection_create(project=project, name="near", provider="openai", base_url="http://127.0.0.1:9/v1")
    assert "“wide” applies to the whole site from" in acted(anns, "attach", policy="wide", level="site")
    provider = acted(anns, "attach", policy="wide", level="provider", provider="openai")
    assert "“wide” applies to the provider openai from the next turn on." in provider
    there = {"policy": "wide", "level": "model", "connection": "near"}
    assert "Name a connection and its model" in acted(anns, "attach", **there)
    html = acted(anns, "attach", model="gpt-4o", **there)
    assert "gpt-4o on near" in html
    assert "There is no provider “x”" in acted(anns, "attach", policy="wide", level="provider", provider="x")
    site = selectors.attachment_list(project=project).get(provider="", connection=None)
    assert "no longer applies to the whole site" in acted(anns, "detach", site.pk)


def test_settings_that_do_not_suit_the_affected_agents_are_reported_on_activation(anns: Client, two, project: Project):
    near = connection_create(project=project, name="near", provider="openai", base_url="http://127.0.0.1:9/v1")
    agent_create(project=project, name="essay", connection=near, model="m", max_tokens=400)
    small = policy_create(project=project, name="wide", limits={"max_total_tokens": 399})
    words = (
        "(<code>max_total_tokens</code>) is 399, less than one answer of the agent “essay”, which may have 400 tokens"
    )
    assert words in acted(anns, "attach", policy="wide", level="site")
    assert words not in acted(anns, "activate", two[0].pk, why="back")
    shadow = Shadow.objects.create(project=project, version=small, started_at=timezone.now())
    assert words in acted(anns, "promote", shadow.pk, why="again")
    acted(anns, "activate", two[0].pk, why="back")
    assert words in acted(anns, "activate", small.pk, why="again")


def exported(client: Client) -> dict[str, object]:
    told: dict[str, object] = json.loads(client.get("/policies/file").content)
    return told


def test_policies_are_exported_to_a_file_and_imported_unchanged(anns: Client, two, project: Project, ann: User):
    policy_attach(project=project, policy=two[0].policy, provider="openai")
    file = exported(anns)
    assert [(policy["name"], policy["active"], len(policy["versions"])) for policy in file["policies"]] == [
        ("wide", 2, 2)
    ]
    assert policies_import(json.dumps(file).encode(), project=project, by=ann) == [
        "Everything in the file was here already."
    ]

    without = unescape(anns.post("/policies/import", follow=True).content.decode())
    assert "Choose a policy file (JSON, at most " in without
    renamed = json.loads(json.dumps(file).replace('"wide"', '"far"').replace('"openai"', '"anthropic"'))
    upload = SimpleUploadedFile("p.json", json.dumps(renamed).encode(), "application/json")
    html = unescape(anns.post("/policies/import", {"file": upload}, follow=True).content.decode())
    assert "“far” is new here, with 2 versions." in html
    assert "Attached: far for anthropic." in html
    far = selectors.policy_get(project=project, name="far")
    active = selectors.policy_version_active(policy=far)
    assert active is not None
    assert (active.version, active.limits) == (2, {"max_continuations": 1, "max_steps": 2})
    again = {policy["name"]: policy["active"] for policy in policies_export(project)["policies"]}
    assert again == {"wide": 2, "far": 2}


def test_a_different_file_creates_the_next_version(project: Project, two, ann: User):
    file = policies_export(project)
    file["policies"][0]["versions"][1]["limits"] = {"continuation_max_attempts": 7}
    (told,) = policies_import(json.dumps(file).encode(), project=project, by=ann)
    assert "the file's settings are its version 3" in told
    active = selectors.policy_version_active(policy=two[0].policy)
    assert active is not None
    assert active.limits == {"max_continuations": 7}


@together
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "not a JSON file"),
        ('{"whystop_policies": 1e999}', "not a JSON file"),
        ("[]", "not a policy file"),
        ('{"whystop_policies": 1, "policies": 3}', "must be lists"),
        ('{"whystop_policies": 1, "policies": [{"name": "x", "versions": []}]}', "needs a name and a list"),
        (
            '{"whystop_policies": 1, "policies": [{"name": "a/b", "active": 1, "versions": [{"version": 1}]}]}',
            "letters",
        ),
        (
            '{"whystop_policies": 1, "policies": [{"name": "x", "versions": [{"limits": {"max_steps": 0}}]}]}',
            "“x”: Max steps (<code>max_steps</code>) must be a whole number from 1 to",
        ),
        (
            '{"whystop_policies": 1, "policies": [{"name": "x", "active": 2, "versions": [{"version": 1}]}]}',
            "“x”: version 2 is listed as active, but is not in the file",
        ),
        (
            '{"whystop_policies": 1, "policies": [{"name": "x", "versions": [{"version": 1, "limts": {}}]}]}',
            "“x”: there is no field “limts”; a version has version, why, made_at, by, limits",
        ),
        (
            '{"whystop_policies": 1, "policies": [{"name": "x", "versions": [{"version": 1}], "scheduled": []}]}',
            "“x”: there is no field “scheduled”; a policy has name, active, past, schedule, versions",
        ),
        (
            '{"whystop_policies": 1, "attachment": []}',
            "There is no field “attachment”; the file has whystop_policies, policies, attachments",
        ),
        (
            '{"whystop_policies": 1, "attachments": [{"policy": "x", "modle": "m"}]}',
            "There is no field “modle”; an attachment has policy, connection, model, provider",
        ),
        ('{"whystop_policies": 1, "attachments": [{"policy": "gone"}]}', "names the policy “gone”"),
        ('{"whystop_policies": 1, "attachments": [{"policy": "\\u0000"}]}', "the character U+0000"),
    ],
)
def test_an_invalid_file_changes_nothing_and_is_explained(anns: Client, project: Project, body, words):
    upload = SimpleUploadedFile("p.json", body.encode(), "application/json")
    html = unescape(anns.post("/policies/import", {"file": upload}, follow=True).content.decode())
    assert words in html
    assert not selectors.policy_list(project=project).exists()


def test_a_policy_of_drafts_is_imported_as_drafts(project: Project, ann: User):
    """Also where a file, written by hand, numbers no version."""
    body = {"whystop_policies": 1, "policies": [{"name": "x", "active": None, "versions": [{"limits": {}}, {}]}]}
    policies_import(json.dumps(body).encode(), project=project, by=ann)
    policy = selectors.policy_get(project=project, name="x")
    assert policy.versions.count() == 2
    assert selectors.policy_version_active(policy=policy) is None


def test_every_policy_setting_survives_a_file(project: Project, ann: User):
    said = {
        "limits": {"max_steps": 2, "max_seconds": None},
        "error_policy": {"on_model_error": "retry", "max_retries": 4},
        "envelope": {"recovery": []},
        "tool_calls_on_truncation": "repair",
        "finish_reasons": ["max_tokens"],
        "criteria": [{"path": "ResponseContentCheck", "kwargs": {"message": "More.", "min_chars": 9}}],
        "retention": {"keep_raw_days": 0},
    }
    policy_create(project=project, name="all", **said)
    (told,) = policies_export(project)["policies"]
    assert {field: told["versions"][0][field] for field in said} == said
    again = json.dumps({"whystop_policies": 1, "policies": [{**told, "name": "other"}]})
    policies_import(again.encode(), project=project, by=ann)
    other = selectors.policy_version_active(policy=selectors.policy_get(project=project, name="other"))
    assert other is not None
    assert {field: getattr(other, field) for field in said} == said
    assert policies_import(again.encode(), project=project, by=ann) == ["Everything in the file was here already."]


def test_a_missing_object_is_404(anns: Client, two):
    nobody = "00000000-0000-7000-8000-000000000000"
    for address in (f"/policies/{nobody}", f"/policies/{nobody}/diff", f"/policies/versions/{nobody}"):
        assert anns.get(address).status_code == 404
    assert anns.post(f"/policies/versions/{nobody}/activate").status_code == 404
    assert anns.get(f"/policies/versions/{two[0].pk}").headers["Location"].endswith("#v1")


def test_changes_to_agents_are_shown_on_their_page(browser: Client, project: Project, ann: User):
    connection = connection_create(project=project, name="near", provider="openai", base_url="http://127.0.0.1:9/v1")
    agent = agent_create(project=project, name="essay", connection=connection, model="m", max_tokens=60)
    agent.max_tokens = 90
    agent.save()
    html = page(browser, "/policies/changes")
    assert "changed the agent essay: Max tokens per call 60 → 90" in html
    assert "created the connection near" in html


def test_characters_forbidden_in_text_break_nothing(anns: Client, two):
    assert "is now active" in acted(anns, "activate", two[0].pk, why="a\x00b")
    assert "no longer exists" not in acted(anns, "attach", policy="wide", level="site", why="\x00")
    there = {"policy": "wide", "level": "model", "connection": "near\x00", "model": "\x00"}
    assert "There is no connection “near" in acted(anns, "attach", **there)
    assert "There is no policy “" in acted(anns, "attach", policy="\x00", level="site")


def test_an_activation_from_an_outdated_page_reports_the_newly_active_version(anns: Client, two):
    first, _ = two
    old = re.findall(r'name="standing" value="(\d*)"', page(anns, f"/policies/{first.policy_id}"))
    assert set(old) == {"2"}
    third = policy_create(project=first.policy.project, name="wide", limits={"max_steps": 3})
    told = acted(anns, "activate", first.pk, why="from an old page", standing="2")
    assert "wide v3 became active in the meantime. wide v1 was not activated" in told
    assert selectors.policy_version_active(policy=first.policy) == third
    assert "wide v1 is now active." in acted(anns, "activate", first.pk, why="again", standing="3")
