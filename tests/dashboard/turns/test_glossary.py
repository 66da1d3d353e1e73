"""One table of terms that pages, admin, docs and API read."""

import re
from pathlib import Path

import pytest
from django.template import Context, Engine
from django.test import Client

from agentcore.criteria.builtin import built_in
from agentcore.policy import LIMIT_NAMES, SETTING_NAMES, Policy
from agentcore.reason_text import criterion_in_words, criterion_name
from dashboard.agents.criteria import POLICY_CRITERIA
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.agents.policy_resolution import FIELDS
from dashboard.agents.policy_validation import HANDLING_KEYS
from dashboard.policies.field_text import label_of
from dashboard.policies.policy_forms import PolicyForm
from dashboard.replay.forms import BudgetForm
from dashboard.turns.certainty_text import SHOWN_BY_RERUN
from dashboard.turns.glossary import ALL, CERTAINTIES, LIMITS, term_of
from dashboard.turns.reason_looks import reason_label
from dashboard.turns.templatetags.glossary import field_named, keys_in_code
from tests.dashboard.pages import page

CHECKOUT = Path(__file__).parents[3]


def test_every_built_in_criterion_has_a_name_in_lists_and_in_sentences():
    names = {*(type(criterion).__name__ for criterion in built_in((), 0.0)), *POLICY_CRITERIA}
    assert len(names) >= 5
    assert {name for name in names if criterion_name(name) == name} == set()
    assert {name for name in names if name in criterion_in_words(name)} == set()


def test_every_limit_has_one_name_and_an_entry():
    assert set(LIMIT_NAMES) <= set(LIMITS)
    assert {key: LIMITS[key].name for key in LIMIT_NAMES} == dict(LIMIT_NAMES)
    fields = {**{key: f"limits.{key}" for key in LIMIT_FIELDS}, "max_retries": "error_policy.max_retries"}
    for key, field in {**fields, "max_tokens": "max_tokens"}.items():
        assert label_of(field) == LIMIT_NAMES[key]


def test_error_handling_settings_have_one_name_on_the_form_the_pages_and_the_what_if():
    what_if = BudgetForm((), Policy(), None)
    for key in (*HANDLING_KEYS, "tool_calls_on_truncation"):
        field = key if key == "tool_calls_on_truncation" else f"error_policy.{key}"
        label = PolicyForm.base_fields[key].label
        names = {label_of(field), getattr(label, "plain", label), str(what_if.fields[key].label)}
        assert names == {SETTING_NAMES[key]}


def test_a_term_is_explained_without_a_link_on_a_shared_page():
    template = Engine.get_default().from_string('{% load glossary %}{% term "seam" "2 seams" %}')
    assert template.render(Context({"sealed": True})).strip() == "2 seams"
    assert 'href="/glossary' in template.render(Context())


def test_a_policy_field_is_the_term_of_its_limit_and_an_unknown_one_has_no_term():
    assert term_of("limits.max_steps") is LIMITS["max_steps"]
    assert term_of("nothing") is None
    assert term_of("stop_reason").name == "Agent stop reason"  # as the filter is named


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


def test_a_sentence_shows_the_keys_of_limits_as_code_and_is_text_otherwise():
    shown = keys_in_code("<b> stopped at max_steps, below max_tokens_x and max_tokens.")
    steps, tokens = '<code title="Max steps">max_steps</code>', '<code title="Max tokens per call">max_tokens</code>'
    assert shown == f"&lt;b&gt; stopped at {steps}, below max_tokens_x and {tokens}."
    named = keys_in_code("at Max steps (max_steps: 3 of 3), by the time limit (max_seconds)")
    assert named == "at Max steps (<code>max_steps</code>: 3 of 3), by the time limit (<code>max_seconds</code>)"
    retried = keys_in_code("With on_rate_limit_error retry")
    assert retried == 'With <code title="On rate limit error">on_rate_limit_error</code> retry'
    assert field_named("limits.max_seconds") == "Time limit <code>max_seconds</code>"
    assert field_named("system_prompt") == "<code>system_prompt</code>"


def test_no_sentence_ends_with_a_space_before_its_full_stop():
    found = re.compile(r"\{% include [^%]*%\}[.,;:!?)]")
    assert not [
        f"{template.name}: {place[0]}"
        for template in (CHECKOUT / "templates").rglob("*.html")
        for place in found.finditer(template.read_text())
    ]


def test_every_setting_of_a_policy_is_explained_where_its_limits_are_listed():
    assert [field for field in FIELDS if term_of(field) is None] == []


def test_pages_and_the_glossary_have_one_word_for_each_certainty():
    words = {word: reason_label(word) for word in CERTAINTIES if word not in SHOWN_BY_RERUN}
    assert words == {"recorded": "recorded", "certain": "certain", "estimated": "likely", "undecidable": "not known"}
    names = {key: term.name.lower() for key, term in CERTAINTIES.items()}
    assert names == words | {"proven": "proven", "measured": "measured"}
    assert "The API calls it undecidable." in CERTAINTIES["undecidable"].meaning


def test_the_badge_of_a_proven_limit_says_that_a_rerun_has_shown_it():
    shown = {"certainty": "certain", "text": "proven", "badge": True}
    badge = Engine.get_default().get_template("_certainty.html").render(Context(shown))
    assert 'title="A live re-run completed under this limit."' in badge
    plain = Engine.get_default().get_template("_certainty.html").render(Context({"certainty": "certain"}))
    assert 'title="It follows from the recording' in plain
