"""The head of a turn's page leads on, also where no limit would have helped."""

import re

import pytest
from django.test import Client

from agentcore.policy import Violation
from agentcore.replay import fold
from agentcore.schema_violations import fields_text
from agentcore.values import replace
from dashboard.agents.models import Connection
from dashboard.agents.services import connection_create
from dashboard.policies.suggestions.next_step import next_step_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion_text import because
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)

OTHER_PROMPT = "Change the prompt, or use another model."
MAIN = re.compile(r'class="btn primary"')
LEADS = {
    "sim-blocked": OTHER_PROMPT,
    "sim-refusal": OTHER_PROMPT,
    "sim-empty": OTHER_PROMPT,
    "sim-context": "Shorten the conversation, or use a model with a larger context window.",
}


@pytest.mark.parametrize("model", LEADS)
def test_a_turn_that_no_limit_would_have_helped_links_to_a_rerun_with_changes(browser: Client, play: Play, model: str):
    turn = play(model, max_tokens=400)
    html = head(browser, f"/turns/{turn.id}")
    assert LEADS[model] in text_of(html)
    assert f'<a class="btn primary" href="/turns/{turn.id}/replay/again">Re-run with changes…</a>' in html


def test_an_error_caused_by_the_connection_links_to_the_connection_first(browser: Client, play: Play):
    html = head(browser, f"/turns/{play('sim-nowhere', max_tokens=400).id}")
    assert "Check the model sim-nowhere and the base URL of connection simulator." in text_of(html)
    assert re.search(r'<a class="btn primary" href="/connections/[^"]+">Open ', html)
    assert '<a class="btn" href=' in html, "and a re-run is there, too"


def test_a_provider_that_asks_for_too_long_a_wait_is_shown_with_the_maximum_wait(play: Play):
    turn = play("sim-429", max_tokens=400)
    last = fold(recording_of(turn))[-1].after
    assert last.failure is not None
    assert last.failure.provider is not None
    for asked, told in ((600.0, "asked to try again in 600 s. Whystop waits 120 s at most"), (60.0, "")):
        failure = replace(last.failure, provider=replace(last.failure.provider, retry_after=asked))
        step = next_step_of(turn, replace(last, failure=failure))
        assert step is not None
        assert (told in step.advice, bool(step.advice)) == (True, bool(told))


def test_settings_of_a_re_run_take_precedence_over_those_of_its_agent(browser: Client, play: Play, simulator_url: str):
    turn = play("sim-essay", max_tokens=400)
    connection_create(project=turn.project, name="other", provider="openai", base_url=simulator_url)
    words = RerunChanges(connection="other")
    child = drive(turn_rerun(turn=turn, overrides={"model": "sim-nowhere"}, words=words))
    html = head(browser, f"/turns/{child.id}")
    assert "Check the model sim-nowhere and the base URL of connection other." in text_of(html)
    assert 'href="/connections/other">Open other' in html
    Connection.objects.filter(name="other").delete()
    assert "Connection other no longer exists." in text_of(head(browser, f"/turns/{child.id}"))


def test_a_permanent_error_offers_no_paid_retries(browser: Client, play: Play):
    turn = play("sim-html", max_tokens=400)
    html = head(browser, f"/turns/{turn.id}")
    assert "Check the base URL and the provider of connection simulator." in text_of(html)
    assert suggestion_for(turn) is None
    assert "Prove it live" not in html
    assert "Max failures in a row" not in html
    assert len(MAIN.findall(html)) == 1
    assert re.search(r'<a class="btn primary" href="/connections/[^"]+">Open ', html)
    assert "Re-run with changes…" in html, "once the connection is mended"


def test_a_completed_turn_has_no_next_step(browser: Client, play: Play):
    assert "Re-run with changes" not in head(browser, f"/turns/{play('sim-essay', max_tokens=900).id}")


def test_a_panel_loaded_by_a_live_page_offers_the_same_as_the_page(browser: Client, play: Play):
    turn = play("sim-context", max_tokens=400)
    panel = browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()
    assert LEADS["sim-context"] in text_of(panel)
    assert "A higher Max tokens per call (max_tokens) would not have helped." in text_of(panel)
    assert "Re-run with changes…" in panel


def head(browser: Client, address: str) -> str:
    """The part of the page that says what would have helped."""
    return page(browser, address).split('id="limit"')[1].split("</section>")[0]


def test_a_structured_answer_that_its_schema_does_not_allow_names_the_field_and_what_is_wrong(play: Play):
    item = {"type": "object", "properties": {"x": {"type": "string"}}}
    schema = {"type": "object", "required": ["title", "items"], "properties": {"items": {"items": item}}}
    turn = play("sim-schema", max_tokens=400, envelope_schema=schema, overrides={"limits": {"schema_rounds": 0}})
    last = fold(recording_of(turn))[-1].after
    step = next_step_of(turn, last)
    assert step is not None
    assert "What the JSON Schema does not allow: the answer as a whole: required propert" in step.advice
    assert "/" not in step.advice
    violation = Violation("/items/0/x", "/properties/items/items/properties/x/type", "type", "")
    told = fields_text(schema, {"items": [{"x": 3}]}, [violation])
    assert told == "field “items[0].x”: the type must be string"


def test_a_repetition_says_that_no_setting_stopped_it_and_a_cap_at_its_ceiling_that_it_cannot_be_raised(
    play: Play, connection: Connection
):
    turn = play("sim-empty", connection=connection, max_tokens=400)
    last = fold(recording_of(turn))[-1].after
    assert last.end is not None
    repeated = replace(last, end=replace(last.end, terminal_reason="repetition"))
    step = next_step_of(turn, repeated)
    assert step is not None
    assert step.advice.startswith("No setting of the policy stopped this turn")
    assert "cannot be raised" not in step.advice
    Connection.objects.filter(pk=connection.pk).update(max_output_tokens=400)
    full = next_step_of(Turn.objects.get(pk=turn.pk), repeated)
    assert full is not None
    assert "Max tokens per call cannot be raised: it is at Max output tokens of the connection (400)." in full.advice


FULL = "Max tokens per call cannot be raised: it is at Max output tokens of the connection ({})."


def test_a_cut_at_the_ceiling_of_the_connection_says_why_continuations_are_suggested_and_no_larger_cap(
    play: Play, connection: Connection, browser: Client
):
    Connection.objects.update(max_output_tokens=60)
    connection.refresh_from_db()
    limits = {"max_continuations": 0}
    cut = play("sim-essay", connection=connection, max_tokens=60, overrides={"limits": limits})
    said = suggestion_for(cut)
    assert said is not None
    assert said.limit == "max_continuations"
    assert FULL.format(60) in because(said)
    assert FULL.format(60) in text_of(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode())


def test_a_completed_answer_that_used_all_of_a_cap_at_its_ceiling_says_that_it_cannot_be_raised(
    play: Play, connection: Connection, browser: Client
):
    Connection.objects.update(max_output_tokens=351)
    connection.refresh_from_db()
    filled = play("sim-essay", connection=connection, max_tokens=351)
    assert (filled.status, suggestion_for(filled)) == ("completed", None)
    assert FULL.format(351) in text_of(browser.get(f"/turns/{filled.id}/limit", headers=HTMX).content.decode())


def test_the_page_of_an_invalid_envelope_names_the_fields_and_folds_the_rules_of_the_schema(
    play: Play, browser: Client
):
    schema = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
    turn = play("sim-schema", max_tokens=400, envelope_schema=schema, overrides={"limits": {"schema_rounds": 0}})
    said = " ".join(page(browser, f"/turns/{turn.id}").split("<h3>Error</h3>")[1].split("</div>")[0].split())
    shown, _, folded = said.partition("<details")
    assert shown.strip() == "<p>No valid envelope: field “title”: the type must be string.</p>"
    assert "schema /properties/title/type" in folded
