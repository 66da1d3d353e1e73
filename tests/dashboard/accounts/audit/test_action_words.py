"""The audit log says each action in words, and every recorded route has some."""

import re

import pytest
from django.test import Client

from dashboard.accounts.audit.action_words import ACTION_WORDS, CHANGES, action_words, object_words
from dashboard.accounts.audit.middleware import is_recorded
from dashboard.accounts.audit.selectors import _tables
from dashboard.accounts.models import User
from dashboard.accounts.roles import ACTIONS
from tests.dashboard.accounts.walked_routes import ANY, SERVED
from tests.dashboard.pages import compact, page, text_of


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
