"""The head of a turn's page leads on, also where no limit would have helped."""

import re

import pytest
from django.test import Client

from tests.dashboard.driving import Play
from tests.dashboard.pages import HTMX, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)

OTHER_PROMPT = "Change the prompt, or ask another model."
MAIN = re.compile(r'class="btn primary"')
LEADS = {
    "sim-blocked": OTHER_PROMPT,
    "sim-refusal": OTHER_PROMPT,
    "sim-empty": OTHER_PROMPT,
    "sim-context": "Shorten the conversation, or use a model with a larger context window.",
}


@pytest.mark.parametrize("model", LEADS)
def test_a_turn_that_no_limit_would_have_helped_leads_to_a_rerun_with_changes(browser: Client, play: Play, model: str):
    turn = play(model, max_tokens=400)
    html = head(browser, f"/turns/{turn.id}")
    assert LEADS[model] in text_of(html)
    assert f'<a class="btn primary" href="/turns/{turn.id}/replay/again">Re-run with changes…</a>' in html


def test_an_error_that_the_connection_causes_leads_to_the_connection_first(browser: Client, play: Play):
    html = head(browser, f"/turns/{play('sim-nowhere', max_tokens=400).id}")
    assert "Check the model of agent" in text_of(html)
    assert re.search(r'<a class="btn primary" href="/connections/[^"]+">Open ', html)
    assert '<a class="btn" href=' in html, "and a re-run is there, too"


def test_where_a_retry_is_suggested_the_connection_comes_first_and_is_the_main_action(browser: Client, play: Play):
    html = head(browser, f"/turns/{play('sim-html', max_tokens=400).id}")
    words = text_of(html)
    advice, retry = (
        words.index(each)
        for each in ("Check the base URL and the provider of connection", "the call would have been tried again")
    )
    assert advice < retry
    assert len(MAIN.findall(html)) == 1
    assert re.search(r'<a class="btn primary" href="/connections/[^"]+">Open ', html)
    assert "Create draft: Max retries" in html, "and the retry is there, too"


def test_a_completed_turn_has_nothing_to_do(browser: Client, play: Play):
    assert "Re-run with changes" not in head(browser, f"/turns/{play('sim-essay', max_tokens=900).id}")


def test_the_panel_that_a_live_page_asks_for_leads_on_as_the_page_does(browser: Client, play: Play):
    turn = play("sim-context", max_tokens=400)
    panel = browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()
    assert LEADS["sim-context"] in text_of(panel)
    assert "A higher max_tokens would not have helped." in text_of(panel)
    assert "Re-run with changes…" in panel


def head(browser: Client, address: str) -> str:
    """The part of the page that says what would have helped."""
    return page(browser, address).split('id="limit"')[1].split("</section>")[0]
