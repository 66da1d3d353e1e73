"""Lists are read a page at a time: forth, and back again, whatever comes in between."""

import re

import pytest
from django.test import Client

from dashboard.accounts import services as accounts
from dashboard.accounts.models import User
from dashboard.agents.models import Agent
from dashboard.api.list_pages import Cursor
from dashboard.turns.selectors import BadCursorError
from tests.dashboard.api.conftest import Program
from tests.together import together


def linked(answer, name: str) -> str | None:
    found = re.search(rf'<([^>]*)>; rel="{name}"', answer.headers.get("Link", ""))
    return found[1] if found else None


def walked(api: Program, path: str, way: str) -> list[list[dict]]:
    """Pages from an address on."""
    pages: list[list[dict]] = []
    at: str | None = path
    while at is not None:
        answer = api.client.get(at)
        assert answer.status_code == 200, answer.content
        pages.append(answer.json())
        at = linked(answer, way)
    return pages


@pytest.fixture
def policies(api: Program) -> list[str]:
    names = [f"p{number}" for number in range(5)]
    for name in names:
        assert api.post("/policies", {"name": name}).status_code == 201
        assert api.post("/policies", {"name": "many", "limits": {"max_steps": int(name[1]) + 1}}).status_code == 201
        connection = {"name": f"c{name}", "provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
        assert api.post("/connections", connection).status_code == 201
        assert api.post("/tokens", {"name": name}).status_code == 201
        assert api.post("/keys", {"name": name}).status_code == 201
    return names


@together
@pytest.mark.parametrize("path", ["/connections", "/policies", "/policies/many/versions", "/tokens", "/keys"])
def test_an_array_is_complete_or_paged_in_both_directions(api: Program, policies: list[str], path: str):
    whole = api.get(path)
    assert not whole.has_header("Link")
    pages = walked(api, f"/api/v1{path}?limit=2", "next")
    assert all(len(page) == 2 for page in pages[:-1])
    assert [item for page in pages for item in page] == whole.json()
    last = api.client.get(f"/api/v1{path}?limit=2")
    while (after := linked(last, "next")) is not None:
        last = api.client.get(after)
    back = walked(api, linked(last, "prev"), "prev")
    assert [item for page in reversed(back) for item in page] + last.json() == whole.json()


def test_a_connection_created_in_between_shifts_no_page(api: Program, policies: list[str]):
    first = api.get("/connections", limit=2)
    connection = {"name": "a-first", "provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    api.post("/connections", connection)
    assert [one["name"] for one in api.client.get(linked(first, "next")).json()] == ["cp2", "cp3"]


def test_conversations_page_to_older_ones(api: Program, talker: Agent):
    made = [api.post("/conversations", {"agent": talker.name}).json()["id"] for _ in range(5)]
    pages = walked(api, "/api/v1/conversations?limit=2", "next")
    assert [one["id"] for page in pages for one in page] == made[::-1]


def test_the_audit_log_is_read_by_permitted_users(api: Program, policies: list[str]):
    first = api.get("/audit", limit=2, action="api/v1/policies").json()
    assert [entry["action"] for entry in first["items"]] == ["api/v1/policies"] * 2
    older = api.get("/audit", limit=2, action="api/v1/policies", cursor=first["next"]).json()
    assert first["items"][-1]["id"] > older["items"][0]["id"]
    assert api.get("/audit", limit=2, action="api/v1/policies", cursor=older["previous"]).json() == {
        **first,
        "previous": None,
    }
    _, secret = accounts.api_token_create("w", user=User.objects.create_user("watcher"))
    assert Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/audit").status_code == 403


def test_backtests_are_listed_newest_first(api: Program, db: None):
    made = [api.post("/backtests", {"policy": {"name": "draft"}}).json()["id"] for _ in range(3)]
    first = api.get("/backtests", limit=2).json()
    assert [one["id"] for one in first["items"]] == made[:0:-1]
    assert [one["id"] for one in api.get("/backtests", cursor=first["next"]).json()["items"]] == made[:1]


@pytest.mark.parametrize(
    "cursor", ["x", "Wy0xXQ==", *(str(Cursor(back=False, value=text)) for text in ("\x00", "\ud800")), "WzEsMl0=", "é"]
)
def test_a_cursor_of_another_list_is_refused(api: Program, cursor: str):
    for path in ("/connections", "/policies", "/audit", "/backtests", "/conversations", "/webhooks"):
        assert api.get(path, cursor=cursor).status_code == 400
    with pytest.raises(BadCursorError):
        Cursor.read(cursor)


def test_webhooks_expose_no_secret_and_their_deliveries_are_listed(api: Program, db: None):
    from dashboard.agents.selectors import project_default
    from dashboard.exports.webhooks.services import webhook_create, webhook_test

    by = User.objects.get(username="bootstrap")
    url = "https://hooks.example.com/a-secret"
    webhook, secret = webhook_create(project=project_default(), by=by, name="pager", url=url, events=["turn.ended"])
    deliveries = [webhook_test(webhook).pk for _ in range(3)]
    listed = api.get("/webhooks")
    assert [one["host"] for one in listed.json()] == ["hooks.example.com"]
    assert b"a-secret" not in listed.content
    assert secret.encode() not in listed.content
    assert api.get(f"/webhooks/{webhook.pk}").json() == listed.json()[0]
    page = api.get(f"/webhooks/{webhook.pk}/deliveries", limit=2, state="waiting").json()
    assert [one["id"] for one in page["items"]] == [str(pk) for pk in deliveries[:0:-1]]
    assert page["items"][0]["tries"] == []
