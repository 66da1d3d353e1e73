import json
import re
from html import escape
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test import Client

from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.live.services import turn_start
from dashboard.turns.history import raw_response_of
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import HTMX, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def cut(play: Play) -> Turn:
    """Cut, continued three times, and stopped there."""
    return play("sim-essay", max_tokens=60)


def test_the_timeline_shows_why_each_turn_stopped(browser: Client, cut: Turn):
    html = page(browser, "/")
    assert f'href="/turns/{cut.id}"' in html
    assert 'data-reason="retry_limit"' in html
    assert 'data-reason="max_tokens"' in html


@pytest.mark.parametrize("asked", ["", " \n "])
def test_a_turn_without_a_text_prompt_still_has_a_title(browser: Client, cut: Turn, asked: str):
    Turn.objects.filter(pk=cut.pk).update(input_text=asked)
    assert re.search(rf'<a href="/turns/{cut.id}" [^>]*>A turn without text</a ?>', page(browser, "/"))
    for address in (f"/turns/{cut.id}", f"/turns/{cut.id}/replay"):
        assert '<h1 class="prompt">A turn without text</h1>' in page(browser, address)
    Turn.objects.filter(pk=cut.pk).update(input_text="Why?")
    assert '<h1 class="prompt">“Why?”</h1>' in page(browser, f"/turns/{cut.id}")


def test_a_turn_ended_by_its_own_time_limit_does_not_blame_the_provider(browser: Client, cut: Turn):
    ended = {"error_type": "timeout", "error_message": "The provider at example.test did not answer in time."}
    Turn.objects.filter(pk=cut.pk).update(resource="max_retries", **ended)
    assert "<h3>Error</h3><p>The provider at example.test" in page(browser, f"/turns/{cut.id}")
    Turn.objects.filter(pk=cut.pk).update(resource="max_seconds", **ended)
    html = page(browser, f"/turns/{cut.id}")
    assert "<h3>Time limit reached</h3><p>The turn's own time limit ended its last call.</p>" in html
    assert "example.test" not in html


def test_bytes_of_an_unknown_provider_are_shown_unchanged(browser: Client, cut: Turn):
    with transaction.atomic(), connection.cursor() as cursor:  # as an import of a later version's file would be
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        Attempt.objects.filter(turn_id=cut.id).update(provider="of_a_later_version")
    assert "max_tokens" in page(browser, f"/turns/{cut.id}/attempts/1/raw")
    command = browser.get(f"/turns/{cut.id}/attempts/1/curl")
    assert command.status_code == 200
    assert command.content.startswith(b"curl ")
    assert page(browser, f"/turns/{cut.id}")


def test_without_turns_the_timeline_explains_how_to_get_some(browser: Client):
    assert "Talk to an agent" in page(browser, "/")


def test_filters_are_in_the_url_and_narrow_the_list(browser: Client, cut: Turn):
    assert str(cut.id) in page(browser, "/?stop_reason=retry_limit&status=partial&model=sim-essay&q=agents")
    assert str(cut.id) not in page(browser, "/?status=completed")
    assert 'name="status" value="partial" checked' in page(browser, "/?status=partial")


def test_htmx_gets_only_the_list(browser: Client, cut: Turn):
    html = page(browser, "/?status=partial", **{"HX-Request": "true", "HX-Target": "timeline"})
    assert "<html" not in html
    assert html.count('id="timeline"') == 1


def test_an_invalid_filter_is_reported_and_the_rest_is_shown(browser: Client, cut: Turn):
    response = browser.get("/?status=sleeping")
    assert response.status_code == 400
    assert "not “sleeping”." in response.content.decode()


def test_older_and_newer_pages_are_linked(browser: Client, cut: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dashboard.turns.timeline_page.PAGE_LENGTH", 1)
    older = drive(turn_start(agent=cut.agent, input_text="Another one."))
    first = page(browser, "/")
    assert str(older.id) in first
    link = re.search(r'rel="next" href="([^"]+)"', first)
    assert link
    second = page(browser, link[1].replace("&amp;", "&"))
    assert str(cut.id) in second
    assert 'rel="prev"' in second


def test_the_timeline_is_shown_as_soon_as_its_rows_fill_the_window(
    browser: Client, cut: Turn, monkeypatch: pytest.MonkeyPatch
):
    waits = 'rel="expect" href="#{}" blocking="render"'
    assert waits.format("whole") in page(browser, "/")
    monkeypatch.setattr("dashboard.turns.timeline_page.IN_SIGHT", 1)
    newest = drive(turn_start(agent=cut.agent, input_text="Another one."))
    html = page(browser, "/")
    assert waits.format(f"row-{newest.id}") in html
    assert html.index(f'id="row-{newest.id}"') < html.index(f'id="row-{cut.id}"')


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_turn_url_works_with_and_without_a_trailing_slash(browser: Client, cut: Turn, slash: str):
    assert (
        "4 times by Max tokens per call (max_tokens), then stopped at Max continuations (max_continuations: 3 of 3)"
        in re.sub("<[^>]+>", "", page(browser, f"/turns/{cut.id}{slash}"))
    )


def test_a_missing_turn_is_404(browser: Client, db: None):
    assert browser.get(f"/turns/{uuid4()}").status_code == 404


def island(html: str) -> dict[str, Any]:
    """The page's data: what a template holds is text, and no browser runs it."""
    found = re.search(r'<template id="steps">(.*?)</template>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_every_transition_is_on_the_page_and_the_last_is_shown(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}")
    steps = island(html)["steps"]
    assert [step[0] for step in steps] == list(range(1, len(steps) + 1))
    assert f'href="#t{len(steps)}"' in html
    assert html.count('id="step"') == 1


def test_a_step_can_be_given_in_the_url(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}?step=2")
    assert 'data-now="2"' in html
    assert re.search(r'data-state="evaluate_stop" data-when="now"', html)
    assert re.search(r'class="piece" data-from="\d+" data-when="future"', html)


@pytest.mark.parametrize(("asked", "shown"), [("0", 1), ("999", 14), ("two", 14), ("²", 14)])
def test_a_missing_step_shows_the_nearest(browser: Client, cut: Turn, asked: str, shown: int):
    assert f'data-now="{shown}"' in page(browser, f"/turns/{cut.id}?step={asked}")


def test_without_scripts_the_buttons_request_the_adjacent_steps(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}?step=5")
    assert [int(n) for n in re.findall(r'name="step" value="(\d+)"', html)] == [1, 4, 6, 14]


def test_the_page_is_compressed_for_clients_that_accept_it(browser: Client, cut: Turn):
    response = browser.get(f"/turns/{cut.id}", headers={"Accept-Encoding": "gzip"})
    assert response["Content-Encoding"] == "gzip"


def test_the_number_in_the_heading_equals_that_of_the_what_if(browser: Client, play: Play, simulator_url: str):
    address = simulator_url.removesuffix("/v1")
    exact = connection_create(
        project=project_default(), name="exact", provider="anthropic", base_url=address, prefill=True
    )
    whole = play("sim-essay", max_tokens=150, connection=exact)
    enough = whole.output_tokens + END_AT_MOST  # for the end of the answer, which some servers count and do not report
    html = page(browser, f"/turns/{whole.id}")
    assert f"With Max tokens per call at {enough}, one call would have been enough." in text_of(html)
    shown = page(browser, f"/turns/{whole.id}/replay?max_tokens={enough}")
    assert "Completed in 1 call" in " ".join(re.sub("<[^>]+>", "", shown).split())
    told = f"certain: one call with Max tokens per call (max_tokens) ≥ {enough} would have been enough"
    assert told in text_of(html), "the tree too"
    assert re.search(r"call 1 used 150 of 150 tokens, and was cut there <a [^>]+href=\"#t2\"", html)


def test_dropped_overlap_and_seams_are_shown(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}")
    assert html.count('<span class="seam">cut at 60 tokens</span>') == 4
    assert '<del class="drop" title=' in html


def test_the_notice_is_separate_and_the_history_is_verified(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}")
    assert escape(cut.notice) in html
    assert "Replay verified" in html


def test_tools_are_shown_with_their_arguments_and_results(browser: Client, play: Play):
    turn = play("sim-tools", tools=["calculator"])
    html = page(browser, f"/turns/{turn.id}")
    assert html.count('class="call"') == 2
    assert "<small>result</small>" in html


def test_text_of_a_person_or_a_model_is_never_markup(browser: Client, agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-essay"), input_text=SCRIPT))
    Turn.objects.filter(pk=turn.pk).update(output_text=SCRIPT, notice=SCRIPT, verdict=SCRIPT, error_message=SCRIPT)
    for address in ("/", f"/turns/{turn.id}", f"/turns/{turn.id}/attempts/1/raw", f"/turns/{turn.id}/replay"):
        assert SCRIPT not in page(browser, address)


def test_the_raw_request_and_response_are_shown_byte_for_byte(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}/attempts/2/raw", **{"HX-Request": "true"})
    assert "Continue exactly from where you left off" in html
    assert "chat.completion.chunk" in html
    attempt = Attempt.objects.get(turn_id=cut.id, index=2)
    download = browser.get(f"/turns/{cut.id}/attempts/2/bytes")
    assert download.content == raw_response_of(attempt)
    assert download["Content-Disposition"].startswith("attachment")


def test_the_link_to_the_request_opens_a_page_and_htmx_gets_its_fragment(browser: Client, cut: Turn):
    address = f"/turns/{cut.id}/attempts/2/raw"
    whole, part = page(browser, address), page(browser, address, **HTMX)
    assert "<title>Call 2 of" in whole
    assert 'css/turn.css"' in whole
    assert 'js/copy_text.js"' in whole
    assert f'href="/turns/{cut.id}#attempts"' in whole
    assert "<html" not in part
    assert part.strip() in whole


def test_a_missing_attempt_is_404(browser: Client, cut: Turn):
    assert browser.get(f"/turns/{cut.id}/attempts/9/raw").status_code == 404


@pytest.mark.parametrize("model", ["sim-refuse", "sim-flaky", "sim-hangup", "sim-odd", "sim-cut-tool", "sim-endless"])
def test_every_ending_has_its_page(browser: Client, play: Play, model: str):
    turn = play(model, max_tokens=120, tools=["calculator"] if model == "sim-cut-tool" else [])
    html = page(browser, f"/turns/{turn.id}")
    told = "doubtful" if model == "sim-odd" else turn.status if turn.status == "interrupted" else turn.terminal_reason
    assert f'data-reason="{told}"' in html
    assert "Replay verified" in html


def test_a_queued_turn_has_a_page_that_waits(browser: Client, agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="Wait.")
    html = page(browser, f"/turns/{turn.id}")
    assert "Waiting for a worker" in html
    assert f'ws-connect="/ws/turns/{turn.id}/?seq=0&amp;status={turn.status}"' in html
    assert "Cancel" in html
