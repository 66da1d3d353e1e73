import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.agents.limit_fields import LIMIT_FIELDS, RETENTION_FIELDS, default_in_words
from dashboard.agents.models import Agent, Connection, PolicyVersion
from dashboard.agents.policies import POLICY_FIELDS
from dashboard.agents.policy_validation import HANDLING_KEYS
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_forms import PolicyForm, said_by

pytestmark = pytest.mark.django_db

INLINE = {"versions-TOTAL_FORMS": "0", "versions-INITIAL_FORMS": "0"}
DEFAULT = ["markdown-fence", "brace-walker"]
POLICY = {
    "preset": "stop_on_any_error",
    "tool_calls_on_truncation": "execute_if_complete",
    "recovery": DEFAULT,
    "why": "The answers were cut.",
    "counts": "now",
    **INLINE,
}


def page(client: Client, address: str, data: dict[str, Any] | None = None) -> str:
    answer = client.get(address) if data is None else client.post(address, data, follow=True)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_every_limit_and_every_error_type_has_its_own_field():
    assert {*LIMIT_FIELDS, *HANDLING_KEYS, "preset", "max_retries", "name"} < set(PolicyForm.base_fields)


def test_the_form_covers_everything_a_policy_can_set(project):
    form = PolicyForm({**POLICY, "name": "wide"})
    assert form.is_valid()
    assert set(form.said()) == set(POLICY_FIELDS)
    same = {name: POLICY[name] for name in ("tool_calls_on_truncation",)} | {
        "error_policy": {"preset": POLICY["preset"]}
    }
    assert form.said() == said_by(policy_create(project=project, name="wide", **same))


def test_a_connection_is_created_and_an_invalid_one_is_explained(admin_client):
    address = reverse("admin:agents_connection_add")
    good = {
        "name": "near",
        "provider": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "hint_role": "system",
        "max_tokens_field": "max_tokens",
    }
    wrong = page(admin_client, address, {**good, "api_key_env": "sk-secret", "base_url": "here"})
    assert "This looks like the key itself" in wrong
    assert "must begin with http://" in wrong
    refused = page(admin_client, address, {**good, "provider": "cohere", "prefill": "on"})
    assert "cohere cannot continue an assistant message" in refused
    page(admin_client, address, {**good, "prefill": "on"})
    assert (Connection.objects.get().project.name, Connection.objects.get().prefill) == ("default", True)


def test_a_connection_shows_its_continuation_method_which_can_be_set_by_hand(admin_client, connection):
    address = reverse("admin:agents_connection_change", args=[connection.pk])
    words = page(admin_client, address)
    assert "By a hint." in words
    assert "What-ifs with another Max tokens per call are therefore estimates" in words
    assert "Not tested yet." in words
    said = {
        "name": "near",
        "provider": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "hint_role": "system",
        "max_tokens_field": "max_tokens",
        "prefill": "on",
        "prefill_way": "prefix",
        "prefill_echo": "on",
    }
    page(admin_client, address, said)
    connection.refresh_from_db()
    assert connection.continuing == {"prefix": True, "prefill_echo": True}
    exactly = page(admin_client, address)
    assert "Method: prefix: true on the message (DeepSeek, Mistral)." in exactly
    assert "what-ifs with another Max tokens per call are exact" in exactly
    refused = page(admin_client, address, {**said, "provider": "anthropic"})
    assert "anthropic has no field prefix" in refused


def test_a_test_needs_a_model_and_its_result_is_shown_on_the_page(admin_client, connection):
    address = reverse("admin:agents_connection_change", args=[connection.pk])
    said = {
        "name": "near",
        "provider": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "hint_role": "system",
        "max_tokens_field": "max_tokens",
        "_test": "Save and test the connection",
    }
    assert "Enter a model of this server for the test." in page(admin_client, address, said)
    told = page(admin_client, address, {**said, "test_model": "any"})
    assert "Saved. Could not tell whether it continues a last assistant message." in told
    assert "Tested with any at" in told
    assert 'value="any"' in told


def test_a_connection_shows_whether_its_key_is_set_and_never_the_key(admin_client, connection, monkeypatch):
    address = reverse("admin:agents_connection_change", args=[connection.pk])
    assert "no: set it where Whystop runs" in page(admin_client, address)
    monkeypatch.setenv("NEAR_API_KEY", "tell-nobody")
    shown = page(admin_client, address) + page(admin_client, reverse("admin:agents_connection_changelist"))
    assert "yes" in shown
    assert "tell-nobody" not in shown


def test_an_older_connection_that_sends_a_vendors_key_elsewhere_names_the_setting_that_allows_it(
    admin_client, connection, monkeypatch
):
    monkeypatch.setenv("GROQ_API_KEY", "tell-nobody")
    type(connection).objects.filter(pk=connection.pk).update(
        api_key_env="GROQ_API_KEY", base_url="https://llm.example/v1"
    )
    shown = page(admin_client, reverse("admin:agents_connection_change", args=[connection.pk]))
    assert "no: GROQ_API_KEY goes to api.groq.com and this machine alone" in shown
    assert "add GROQ_API_KEY@llm.example to that list" in shown


def test_an_agent_is_created_and_one_above_the_ceiling_is_explained(admin_client, connection):
    address = reverse("admin:agents_agent_add")
    good = {
        "name": "essay",
        "connection": str(connection.pk),
        "model": "m",
        "max_tokens": "60",
        "tools": ["calculator"],
        "envelope_schema": "null",
        "gateway_mode": "continue",
    }
    assert "at most 4,096 tokens" in page(admin_client, address, {**good, "max_tokens": "1000000"})
    assert "Nothing is fetched" in page(
        admin_client, address, {**good, "envelope_schema": '{"$ref": "https://example.com/s"}'}
    )
    for unkept in ('{"minimum": NaN}', '{"minimum": 1e999}', '{"const": "\\u0000"}', "[" * 5_000):
        assert "must be valid JSON: " in page(admin_client, address, {**good, "envelope_schema": unkept})
    page(admin_client, address, good)
    agent = Agent.objects.get()
    assert (agent.tools, agent.envelope_schema) == (["calculator"], None)
    assert "The name “essay” is taken by another agent" in page(admin_client, address, good)


def test_saving_a_policy_adds_a_version_and_keeps_the_old_one(admin_client, project):
    page(admin_client, reverse("admin:agents_policy_add"), {**POLICY, "name": "wide", "max_continuations": "9"})
    version = PolicyVersion.objects.get()
    assert version.limits == {"max_continuations": 9}
    assert version.created_by is not None

    address = reverse("admin:agents_policy_change", args=[version.policy_id])
    form = page(admin_client, address)
    assert 'name="max_continuations" value="9"' in form
    told = " ".join(re.sub(r"<[^>]+>", " ", form.replace("<wbr>", "")).split())
    for name, limit in {**LIMIT_FIELDS, **RETENTION_FIELDS}.items():
        terms = f"Unit {limit.unit} Range {limit.span_in_words} Default {default_in_words(name)}"
        assert f"{limit.label} {name}" in told
        assert terms in told
    assert "Range 0 to 1,000 Default 3 How often the model may be asked" in told

    data = {**POLICY, "max_continuations": "9", "max_seconds": "1.5"}
    assert "version 2 of “wide”" in page(admin_client, address, data)
    assert "Nothing has changed" in page(admin_client, address, data)
    assert [found.limits for found in PolicyVersion.objects.order_by("version")] == [
        {"max_continuations": 9},
        {"max_continuations": 9, "max_seconds": 1.5},
    ]


def test_an_invalid_limit_is_reported_beside_its_field(admin_client):
    address = reverse("admin:agents_policy_add")
    wrong = page(admin_client, address, {**POLICY, "name": "wide", "max_steps": "0", "max_total_tokens": "many"})
    assert "Max steps must be a whole number from 1 to 10,000." in wrong
    assert "Max tokens per turn must be a whole number from 1 to " in wrong
    assert not PolicyVersion.objects.exists()


def test_a_preset_that_can_never_retry_is_saved_with_a_warning(admin_client):
    data = {**POLICY, "name": "wide", "preset": "ignore_tool_errors"}
    assert "nothing is ever retried" in page(admin_client, reverse("admin:agents_policy_add"), data)
    assert PolicyVersion.objects.get().error_policy == {"preset": "ignore_tool_errors"}


def test_the_rules_of_a_policy_are_saved_and_shown_again(admin_client, project):
    criteria = '[{"path": "ResponseContentCheck", "kwargs": {"message": "More.", "min_chars": 9}}]'
    data = {**POLICY, "recovery": ["jsonrepair"], "finish_reasons": ["paused", "max_tokens"], "criteria": criteria}
    page(admin_client, reverse("admin:agents_policy_add"), {**data, "name": "wide"})
    version = PolicyVersion.objects.get()
    assert version.envelope == {"recovery": ["jsonrepair"]}
    assert version.finish_reasons == ["max_tokens", "paused"]
    assert version.criteria == json.loads(criteria)

    address = reverse("admin:agents_policy_change", args=[version.policy_id])
    form = page(admin_client, address)
    assert re.search(r'value="jsonrepair"[^>]*checked', form)
    assert not re.search(r'value="brace-walker"[^>]*checked', form)
    assert re.search(r'value="paused"[^>]*checked', form)
    assert '"min_chars": 9' in form
    assert "Nothing has changed" in page(admin_client, address, data)
    assert "version 2" in page(admin_client, address, {**data, "recovery": [], "criteria": ""})
    assert PolicyVersion.objects.get(version=2).envelope == {"recovery": []}


def test_the_recovery_setting_of_a_version_is_kept_where_another_field_changes(admin_client, project):
    said = policy_create(project=project, name="kept", envelope={"recovery": DEFAULT}).policy
    unsaid = policy_create(project=project, name="open").policy
    for policy in (said, unsaid):
        address = reverse("admin:agents_policy_change", args=[policy.pk])
        assert "version 2" in page(admin_client, address, {**POLICY, "max_steps": "6"})
    envelopes = PolicyVersion.objects.filter(version=2).values_list("policy__name", "envelope")
    assert dict(envelopes) == {"kept": {"recovery": DEFAULT}, "open": None}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("criteria", "[{", "must be valid JSON: it ends too early (line 1, column 2)."),
        ("criteria", '[{"path": 1e999}]', "must be valid JSON: a number is too large"),
        ("criteria", '{"path": "x"}', "criteria must be a list"),
        ("criteria", "{}", "criteria must be a list"),
        ("criteria", '[{"path": "os.system"}]', "There is no criterion “os.system”"),
        ("recovery", ["guess"], "Local recovery must be one of the choices offered, not “guess”."),
        ("finish_reasons", ["tired"], "Final stop reasons must be one of the choices offered, not “tired”."),
    ],
)
def test_an_invalid_rule_is_reported_beside_its_field_and_kept(admin_client, field, value, words):
    answer = page(admin_client, reverse("admin:agents_policy_add"), {**POLICY, "name": "wide", field: value})
    assert words in answer
    assert field != "criteria" or value in answer
    assert not PolicyVersion.objects.exists()


def test_a_draft_reports_that_another_one_was_saved_while_its_form_was_open(admin_client, project):
    version = policy_create(project=project, name="wide")
    policy_create(project=project, name="wide", limits={"max_steps": 3})
    address = reverse("admin:agents_policy_change", args=[version.policy_id])
    said = page(admin_client, address, {**POLICY, "counts": "draft", "newest": "1", "start": "1"})
    assert "While the form was open, v2 was saved. What you saved starts from v1." in said


def test_a_version_can_be_viewed_and_never_changed(admin_client, project):
    version = policy_create(project=project, name="wide")
    address = reverse("admin:agents_policyversion_change", args=[version.pk])
    assert "Save" not in page(admin_client, address)
    assert admin_client.post(address, {"version": "7"}).status_code == 403
    assert admin_client.post(reverse("admin:agents_policy_delete", args=[version.policy_id])).status_code == 403


AGENT = {
    "name": "careful",
    "model": "m",
    "max_tokens": "100",
    "tools": ["calculator", "current_time"],
    "gateway_mode": "continue",
    "breakpoints": '[{"state": "continue_pending"}, {"budget_below": 0.1}]',
    "approve": ["calculator"],
    "approve_seconds": "60",
    "approve_otherwise": "run",
}


def test_breakpoints_and_approvals_of_an_agent_are_saved_and_shown_again(admin_client, connection):
    page(admin_client, reverse("admin:agents_agent_add"), {**AGENT, "connection": connection.pk})
    agent = Agent.objects.get(name="careful")
    assert agent.breakpoints == [{"state": "continue_pending"}, {"budget_below": 0.1}]
    assert agent.approvals == {"tools": ["calculator"], "seconds": 60.0, "otherwise": "run"}
    html = page(admin_client, reverse("admin:agents_agent_change", args=[agent.pk]))
    assert 'name="approve_seconds" value="60.0"' in html
    assert re.search(r'name="approve" value="calculator"[^>]*checked', html)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"breakpoints": '[{"state": "nowhere"}]'}, "Breakpoint 1: there is no state “nowhere” to hold at"),
        (
            {"breakpoints": '[{"budget_below": 2}]'},
            "budget_below must be above 0 and at most 1, such as 0.1 for the last tenth of a budget, not 2",
        ),
        ({"breakpoints": '{"state": "idle"}'}, "Breakpoints must be a list of objects"),
        (
            {"tools": ["current_time"]},
            "The agent has no tool “calculator” that could need approval; its tools are current_time.",
        ),
        ({"approve_seconds": "0"}, "Approval time limit (seconds) must be a number from 1 to 604,800."),
    ],
)
def test_impossible_holds_and_approvals_are_reported_at_their_field(admin_client, connection, given: dict, words: str):
    html = page(admin_client, reverse("admin:agents_agent_add"), {**AGENT, "connection": connection.pk, **given})
    assert words in html
    assert not Agent.objects.exists()
