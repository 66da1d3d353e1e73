"""Connections, policies and agents, over the API."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from dashboard.accounts.models import User
from tests.dashboard.api.conftest import Program, said

NEAR = {"name": "near", "provider": "openai", "base_url": "http://127.0.0.1:9/v1", "max_output_tokens": 4096}
WRITER = {"name": "writer", "connection": "near", "model": "sim-essay", "max_tokens": 60}


@pytest.fixture
def near(api: Program) -> dict:
    return api.post("/connections", NEAR).json()


def test_a_connection_is_created_listed_and_read_by_name_and_by_id(api: Program):
    response = api.post("/connections", {**NEAR, "api_key_env": "NO_SUCH_API_KEY"})
    assert response.status_code == 201
    made = response.json()
    assert NEAR.items() <= made.items()
    assert made["key_found"] is False
    assert api.get("/connections").json() == [made]
    assert api.get("/connections/near").json() == made
    assert api.get(f"/connections/{made['id']}").json() == made


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PATH", "NO_SUCH_VARIABLE"])
def test_a_variable_without_a_key_is_refused_without_revealing_whether_it_is_set(
    api: Program, name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "there")
    wrong = api.problem("/connections", {**NEAR, "api_key_env": name})
    assert wrong == {
        "api_key_env": f"{name} is not among the variables that may be sent (WHYSTOP_KEY_NAMES: *_API_KEY)."
    }


@pytest.mark.parametrize(("role", "told"), [("watcher", None), ("operator", None), ("admin", True)])
def test_presence_of_a_key_is_shown_only_to_users_who_may_change_connections(
    api: Program, role: str, told: bool | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SOME_API_KEY", "there")
    api.post("/connections", {**NEAR, "api_key_env": "SOME_API_KEY"})
    user = User.objects.create(username=role)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    assert client.get("/api/v1/connections/near").json()["key_found"] is told
    assert client.get("/api/v1/connections").json()[0]["key_found"] is told


@pytest.mark.parametrize("model", ["../../x", "models/../x", "a/.", "..", "..\\x", "a\nb"])
def test_a_model_name_cannot_redirect_to_another_url(api: Program, near, model: str):
    assert set(api.problem("/agents", {**WRITER, "model": model})) == {"model"}
    api.post("/agents", WRITER)
    body = {"agent": "writer", "input": "hi", "overrides": {"model": model}}
    assert "model" in " ".join(api.problem("/turns", body).values())


def test_null_is_treated_like_an_omitted_field(api: Program):
    made = api.post("/connections", {**NEAR, "api_key_env": None, "context_window": None, "hint_role": None})
    assert made.status_code == 201
    assert (made.json()["api_key_env"], made.json()["hint_role"]) == ("", "system")


def test_a_prefill_is_a_connections_setting(api: Program):
    made = api.post("/connections", {**NEAR, "provider": "anthropic", "prefill": True}).json()
    assert made["prefill"] is True
    assert api.post("/connections", {**NEAR, "name": "plain"}).json()["prefill"] is False
    wrong = api.problem("/connections", {**NEAR, "name": "cold", "provider": "cohere", "prefill": True})
    assert set(wrong) == {"prefill"}


def test_all_faults_of_a_connection_are_reported_at_once_by_field(api: Program, near):
    wrong = api.problem("/connections", {**NEAR, "provider": "nobody", "base_url": "ftp://host", "api_key_env": "a b"})
    assert set(wrong) == {"name", "provider", "base_url", "api_key_env"}
    assert wrong["provider"].startswith("There is no provider “nobody”; the providers are ")


@pytest.mark.parametrize("path", ["/connections/none", "/policies/none", "/agents/none", "/agents/%00"])
def test_a_missing_object_is_404(api: Program, path: str):
    response = api.get(path)
    assert response.status_code == 404
    said(response)


def test_a_policy_returns_every_limit_and_increments_its_version(api: Program):
    first = api.post("/policies", {"name": "patient", "limits": {"max_continuations": 5}})
    assert (first.status_code, first.json()["version"]) == (201, 1)
    assert first.json()["limits"]["max_continuations"] == 5
    assert first.json()["limits"]["max_steps"] == 20
    assert first.json()["limits"]["max_total_tokens"] is None
    error_policy = {"preset": "retry_all", "max_retries": 2, "on_tool_error": "ignore"}
    second = api.post("/policies", {"name": "patient", "error_policy": error_policy}).json()
    assert (second["version"], second["error_policy"]) == (2, error_policy)
    assert api.get("/policies").json() == [second]
    assert api.get("/policies/patient").json() == second
    assert api.get("/policies/patient", version=1).json() == {**first.json(), "active": 2}


def test_policies_are_listed_by_name_in_one_query_with_their_latest_versions(
    api: Program, django_assert_max_num_queries
):
    for name in ("b", "a", "b", "c"):
        api.post("/policies", {"name": name})
    with django_assert_max_num_queries(5):
        listed = api.get("/policies").json()
    assert [(policy["name"], policy["version"]) for policy in listed] == [("a", 1), ("b", 2), ("c", 1)]


def test_a_policy_that_can_never_retry_has_a_warning(api: Program):
    made = api.post("/policies", {"name": "calm", "error_policy": {"preset": "ignore_tool_errors"}}).json()
    assert "nothing is ever retried" in made["warnings"][0]


def test_a_valid_policy_has_no_warning_and_returns_every_rule(api: Program):
    made = api.post("/policies", {"name": "plain"}).json()
    assert made["warnings"] == []
    assert made["envelope"] == {"recovery": ["markdown-fence", "brace-walker"]}
    assert (made["finish_reasons"], made["criteria"]) == ([], [])


def test_a_policy_keeps_its_rules(api: Program):
    rules = {
        "envelope": {"recovery": ["brace-walker", "jsonrepair"]},
        "finish_reasons": ["max_tokens"],
        "criteria": [{"path": "ResponseContentCheck", "kwargs": {"message": "More.", "min_chars": 9}}],
    }
    assert rules.items() <= api.post("/policies", {"name": "ruled", **rules}).json().items()
    assert rules.items() <= api.get("/policies/ruled").json().items()


def test_the_specs_names_of_limits_are_accepted(api: Program):
    limits = {"continuation_max_attempts": 9, "continuation_tool_repair_attempts": 0}
    made = api.post("/policies", {"name": "spec", "limits": limits}).json()
    assert (made["limits"]["max_continuations"], made["limits"]["max_tool_repair_attempts"]) == (9, 0)


def test_an_invalid_policy_is_refused_with_an_explanation(api: Program):
    body = {"name": "p", "limits": {"max_step": 1}, "error_policy": {"preset": "x"}, "tool_calls_on_truncation": "run"}
    wrong = api.problem("/policies", body)
    assert wrong["limits"].startswith("There is no limit “max_step”; the limits are max_continuations, ")
    assert set(wrong) == {"limits", "error_policy", "tool_calls_on_truncation"}
    for name, value in (("max_retries", 2), ("on_tool_error", "retry")):
        wrong = api.problem("/policies", {"name": "p", "limits": {name: value}})
        assert f"“{name}” is not a limit; it belongs in `error_policy`." in wrong["limits"]
    rules = {"envelope": {"jsonrepair": True}, "finish_reasons": ["length"], "criteria": [{}]}
    wrong = api.problem("/policies", {"name": "p", **rules})
    assert wrong["envelope"] == "envelope has no “jsonrepair”; its field is recovery."
    assert set(wrong) == set(rules)


def test_a_missing_version_is_404_and_a_non_numeric_one_is_reported(api: Program):
    api.post("/policies", {"name": "p"})
    assert api.get("/policies/p", version=2).status_code == 404
    response = api.get("/policies/p", version="last")
    assert response.status_code == 422
    assert set(said(response)) == {"version"}


def test_an_agent_is_created_listed_and_read(api: Program, near, django_assert_max_num_queries):
    api.post("/policies", {"name": "patient"})
    more = {"tools": ["calculator"], "policy": "patient", "envelope_schema": {"type": "object"}, "system_prompt": "Hi"}
    response = api.post("/agents", {**WRITER, **more})
    assert response.status_code == 201
    made = response.json()
    assert {**WRITER, **more, "gateway_mode": "continue"}.items() <= made.items()
    for number in range(5):
        api.post("/agents", {**WRITER, **more, "name": f"writer{number}"})
    with django_assert_max_num_queries(4):
        assert api.get("/agents").json()[0] == made
    assert api.get("/agents/writer").json() == made
    assert api.get(f"/agents/{made['id']}").json() == made


def test_an_agent_with_a_missing_connection_or_policy_is_refused(api: Program):
    wrong = api.problem("/agents", {**WRITER, "policy": "none"})
    assert wrong == {
        "connection": "There is no connection “near”; create it first, or choose another.",
        "policy": "There is no policy “none”; create it first, or choose another.",
    }


@pytest.mark.parametrize("max_tokens", [0, -1, 4097, 1_000_000, 10**30])
def test_max_tokens_is_limited_by_the_connection(api: Program, near, max_tokens: int):
    assert "max_tokens" in api.problem("/agents", {**WRITER, "max_tokens": max_tokens})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", "60"),
        ("max_tokens", True),
        ("max_tokens", 1.5),
        ("tools", "calculator"),
        ("gateway_mode", "both"),
        ("envelope_schema", []),
    ],
)
def test_a_value_of_the_wrong_type_is_422(api: Program, near, field: str, value: object):
    assert set(api.problem("/agents", {**WRITER, field: value}, 422)) == {field}


@pytest.mark.parametrize(("field", "value"), [("system_prompt", "a\x00b"), ("envelope_schema", {"enum": ["\x00"]})])
def test_text_with_a_null_character_is_400(api: Program, near, field: str, value: object):
    assert set(api.problem("/agents", {**WRITER, field: value}, 400)) == {field}
