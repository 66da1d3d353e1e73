"""What was read and has not changed is not sent again; what has changed meanwhile is not written over."""

import gzip

import pytest

from dashboard.agents.models import Agent
from dashboard.api.openapi_headers import UNREAD
from tests.dashboard.api.conftest import Program


@pytest.fixture
def conversation(api: Program, talker: Agent) -> str:
    made = api.post("/conversations", {"agent": talker.name, "token_budget": 1000})
    assert made.status_code == 201, made.content
    return f"/api/v1/conversations/{made.json()['id']}"


def budget(api: Program, path: str, tokens: int, **headers: str):
    body = f'{{"token_budget": {tokens}}}'
    return api.client.patch(path, body, content_type="application/json", headers=headers)


def test_an_unchanged_response_is_not_sent_again(api: Program, conversation: str):
    tag = api.client.get(conversation)["ETag"]
    again = api.client.get(conversation, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    assert budget(api, conversation, 2000).status_code == 200
    changed = api.client.get(conversation, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed["ETag"] != tag


def test_a_compressed_response_has_a_strong_tag_that_is_recognized(api: Program):
    packed = api.client.get("/api/v1/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(packed.content).startswith(b"{")
    assert packed["ETag"].startswith('"')
    assert packed["ETag"].endswith('-gzip"')
    again = api.client.get("/api/v1/openapi.json", headers={"If-None-Match": packed["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("form", ["{}", '"other", {}', "*"])
def test_a_change_with_the_current_tag_is_applied(api: Program, conversation: str, form: str):
    tag = api.client.get(conversation)["ETag"]
    assert budget(api, conversation, 2000, **{"If-Match": form.format(tag)}).status_code == 200


def test_a_change_with_an_outdated_tag_is_refused(api: Program, conversation: str):
    tag = api.client.get(conversation)["ETag"]
    assert budget(api, conversation, 2000).status_code == 200
    refused = budget(api, conversation, 3000, **{"If-Match": tag})
    assert refused.status_code == 412
    assert refused["Content-Type"] == "application/problem+json"
    assert api.client.get(conversation).json()["token_budget"] == 2000


def test_a_weak_tag_matches_no_change(api: Program, conversation: str):
    tag = api.client.get(conversation)["ETag"]
    assert budget(api, conversation, 2000, **{"If-Match": f"W/{tag}"}).status_code == 412


def test_an_action_is_conditional_on_what_it_acts_on(api: Program):
    assert api.post("/policies", {"name": "p"}).status_code == 201
    assert api.post("/policies", {"name": "p", "limits": {"max_steps": 3}}).status_code == 201
    tag = api.client.get("/api/v1/policies/p")["ETag"]

    def activate(matching: str):
        return api.client.post(
            "/api/v1/policies/p/activations",
            {"version": 1},
            content_type="application/json",
            headers={"If-Match": matching},
        )

    assert activate('"another"').status_code == 412
    assert activate(tag).status_code == 201


def test_a_missing_object_is_reported_by_the_write_itself(api: Program):
    missing = "/api/v1/turns/01990000-0000-7000-8000-000000000000/cancel"
    assert api.client.post(missing, headers={"If-Match": "*"}).status_code == 404


def test_faults_of_a_request_are_reported_before_an_outdated_tag(api: Program):
    paths = api.get("/openapi.json").json()["paths"]
    writes = [(path, method) for path, of in paths.items() for method in of.keys() - {"get"} if path not in UNREAD]
    assert len(writes) > 20
    for path, method in writes:
        send = getattr(api.client, method)
        answer = send(path, "[", content_type="application/json", headers={"If-Match": '"another"'})
        has_body = "requestBody" in paths[path][method]
        assert answer.status_code in ({400, 404} if has_body or "_id}" in path else {404, 412}), (path, answer.content)


def test_an_unreadable_tag_matches_nothing(api: Program):
    refused = api.client.post("/api/v1/logs/import", "{}", content_type="text/plain", headers={"If-Match": "*"})
    assert refused.status_code == 412
