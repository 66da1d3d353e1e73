"""One table of terms that pages, admin, docs and API read."""

import re
from pathlib import Path

import pytest
from django.test import Client

from agentcore.policy import LIMIT_NAMES
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.policies.field_text import label_of
from dashboard.turns.glossary import ALL, LIMITS, term_of
from dashboard.turns.templatetags.glossary import field_named, keys_in_code
from tests.dashboard.pages import page

CHECKOUT = Path(__file__).parents[3]


def test_every_limit_has_one_name_and_an_entry():
    assert set(LIMIT_NAMES) <= set(LIMITS)
    assert {key: LIMITS[key].name for key in LIMIT_NAMES} == dict(LIMIT_NAMES)
    fields = {**{key: f"limits.{key}" for key in LIMIT_FIELDS}, "max_retries": "error_policy.max_retries"}
    for key, field in {**fields, "max_tokens": "max_tokens"}.items():
        assert label_of(field) == LIMIT_NAMES[key]


def test_a_field_of_a_policy_is_the_term_of_its_limit_and_a_stranger_is_none():
    assert term_of("limits.max_steps") is LIMITS["max_steps"]
    assert term_of("nothing") is None


def test_every_term_is_one_sentence_or_two_in_plain_words():
    for term in ALL.values():
        assert term.meaning.endswith("."), term
        assert len(term.meaning) < 260, term


@pytest.mark.django_db
def test_the_page_has_every_term_and_every_link_to_a_term_has_its_place(browser: Client):
    places = set(re.findall(r'<div id="([^"]+)"', page(browser, "/glossary"))) - {"messages", "inbox-socket"}
    assert places == set(ALL)
    used = {
        key
        for template in (CHECKOUT / "templates").rglob("*.html")
        for key in re.findall(r'{% term "([^"]+)"', template.read_text())
    }
    assert used
    assert used <= places


def test_a_sentence_has_the_keys_of_limits_in_code_and_stays_text_otherwise():
    shown = keys_in_code("<b> stopped at max_steps, below max_tokens_x and max_tokens.")
    steps, tokens = '<code title="Max steps">max_steps</code>', '<code title="Max tokens per call">max_tokens</code>'
    assert shown == f"&lt;b&gt; stopped at {steps}, below max_tokens_x and {tokens}."
    retried = keys_in_code("With on_rate_limit_error retry")
    assert retried == 'With <code title="On rate limit error">on_rate_limit_error</code> retry'
    assert field_named("limits.max_seconds") == "Time limit <code>max_seconds</code>"
    assert field_named("system_prompt") == "<code>system_prompt</code>"
