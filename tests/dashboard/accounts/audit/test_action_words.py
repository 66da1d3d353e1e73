"""The audit log says each action in words, and every recorded route has some."""

import re

import pytest
from django.test import Client

from dashboard.accounts.audit.action_words import ACTION_WORDS, CHANGES, CONTROL_WORDS, action_words, object_words
from dashboard.accounts.audit.middleware import is_recorded
from dashboard.accounts.audit.selectors import _tables
from dashboard.accounts.models import User
from dashboard.accounts.roles import ACTIONS
from dashboard.live.services import turn_start
from tests.dashboard.accounts.walked_routes import ANY, SERVED
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import compact, page, text_of


def rows_of(browser: Client, address: str) -> str:
    return text_of(page(browser, address).split("<tbody")[1])


def recorded() -> set[tuple[str, str]]:
    """Each method and route of which a request leaves an entry. Redirects and shared pages change nothing."""
    return {
        (method, route.rstrip("/"))
        for route, methods in SERVED.items()
        for method in methods.split()
        if methods != ANY and is_recorded(method, f"/{re.sub('<[^>]*>', '1', route)}", route)
    }


def test_every_recorded_route_has_words_and_no_word_is_without_a_route():
    found = {(method, route): action_words(method, route) for method, route in recorded()}
    assert [asked for asked, words in found.items() if not words] == []
    assert set(found.values()) == set(ACTION_WORDS.values())
    assert {route for _, route in found} >= set(ACTIONS)


@pytest.mark.parametrize(
    ("method", "action", "words"),
    [
        ("POST", "agents/<str:name>/live", "Send a prompt to an agent"),
        ("GET", "api/v1/turns/<turn_id>/export", "Export a turn"),
        ("DELETE", "api/v1/alerts/<alert_id>", "Delete an alert"),
        ("POST", "admin/accounts/user/<path:object_id>/change", "Change “user” in the admin"),
        ("POST", "admin/accounts/user/add", "Create “user” in the admin"),
        ("POST", "admin/accounts/user", "Act on “user” in the admin"),
        ("POST", "admin/logout", "Use the admin"),
        ("", "prune", "Run a command"),
        ("POST", "of/a/later/version", ""),
    ],
)
def test_an_action_is_said_in_words(method: str, action: str, words: str):
    assert action_words(method, action) == words


@pytest.mark.parametrize(("done", "words"), [*CONTROL_WORDS.items(), ("later", "Hold, release or change a turn")])
def test_what_was_done_to_a_turn_is_said_in_words(done: str, words: str):
    for route in ("turns/<uuid:turn_id>/control", "api/v1/turns/<turn_id>/control"):
        assert action_words("POST", route, f"/turns/1/control?action={done}") == words


@pytest.mark.django_db(transaction=True)
def test_the_page_tells_approving_from_refusing_and_filters_by_it(agent_of: AgentOf, browser: Client):
    User.objects.update(is_superuser=True)
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"]})
    for action in ("release", "refuse"):
        turn = drive(turn_start(agent=agent, input_text="Count."))
        browser.post(f"/turns/{turn.id}/control", {"action": action})
    turn = drive(turn_start(agent=agent_of("sim-essay"), input_text="Tell.", breakpoints=[{"state": "evaluate_stop"}]))
    browser.post(f"/api/v1/turns/{turn.id}/control", {"action": "release"}, content_type="application/json")
    shown = rows_of(browser, "/audit/")
    for words in ("Release a held turn", "Refuse tool calls", "Approve tool calls"):
        assert shown.count(words) == 1, words
    refused = rows_of(browser, "/audit/?control=refuse")
    assert "Refuse tool calls" in refused
    assert "Approve tool calls" not in refused


def test_every_table_of_changes_names_what_it_keeps():
    assert [table for table in _tables() if not object_words(table._meta.db_table)] == []
    assert object_words("accounts_membershipchange") == "membership"
    assert set(CHANGES) == {"made", "changed", "deleted"}


@pytest.mark.django_db
def test_the_page_says_who_did_what_in_words(browser: Client):
    User.objects.update(is_superuser=True)
    form = {"name": "on-call", "url": "https://one.example/", "events": ["turn.ended"]}
    browser.post("/webhooks/", form)
    shown = compact(text_of(page(browser, "/audit/")))
    assert "Create a webhookPOST webhooks/webhooks/Webhook" in shown
    assert re.search(r"Webhook \S+ created \(webhooks_webhookchange \d+\)", shown)
    assert "every export of turns" in shown
