import re
from urllib.parse import urlencode

import pytest
from django.db import connection, transaction
from django.test import Client

from dashboard.agents.models import Agent
from dashboard.live.services import turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Record, Turn
from dashboard.turns.record_compression import PACKED
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import HTMX, compact, page, text_of
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


@pytest.fixture
def continued(play: Play) -> Turn:
    return play("sim-essay", max_tokens=150)


def column(html: str, name: str) -> str:
    """The part of the page from one column's beginning to its end."""
    return html[html.index(f'id="{name}"') :]


def test_under_the_recorded_limits_nothing_diverges(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}/replay")
    assert "First divergence" not in html
    assert "same text as recorded" in html


def test_a_larger_budget_than_recorded_is_not_guessed(browser: Client, cut: Turn):
    html = column(page(browser, f"/turns/{cut.id}/replay?max_tokens=400"), "what-if")
    assert "the recording ends here, and the model would have continued. Re-run live to find out" in html
    assert "Re-run live" in html
    assert "same words" not in html


def test_a_budget_covered_by_the_recording_completes_with_the_same_text(browser: Client, continued: Turn):
    html = column(page(browser, f"/turns/{continued.id}/replay?max_tokens=400"), "what-if")
    assert "in 1 call" in html
    assert 'data-certainty="estimated"' in html
    assert "The continued text takes" in html
    assert "same text as recorded" not in html
    assert "the call requests 400 tokens instead of 150" in html


def test_an_assumption_that_often_fails_is_listed_with_the_share_of_correct_estimates(browser: Client, play: Play):
    whole = play("sim-essay", max_tokens=1000)
    html = column(page(browser, f"/turns/{whole.id}/replay?max_tokens=100&max_continuations=0"), "what-if")
    listed = html[html.index("<h3>Assumptions</h3>") : html.index("</ul>")]
    assert "In tests with providers for which this does not hold, 67\u202f% of the estimates came true" in listed


def test_every_step_gives_its_source(browser: Client, continued: Turn):
    html = page(browser, f"/turns/{continued.id}/replay?max_continuations=1")
    assert 'data-certainty="recorded"' in html
    html = column(page(browser, f"/turns/{continued.id}/replay?max_tokens=400"), "what-if")
    steps = html[html.index('class="steps"') :]
    assert 'data-certainty="estimated"' in steps
    assert "Assumed: The continued text takes" in steps


def test_both_endings_are_shown_side_by_side_where_the_assumptions_decide(browser: Client, continued: Turn):
    html = column(page(browser, f"/turns/{continued.id}/replay?max_tokens=100"), "what-if")
    assert "two endings are possible, depending on the assumptions" in html
    assert "nothing is repeated" in html
    assert "tokens are repeated at each seam" in html
    assert "stopped at Max continuations (max_continuations) after 4 calls" in text_of(html)
    assert "from here on the outcome depends on the assumptions" in html


def test_htmx_gets_only_the_simulated_column(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}/replay?max_tokens=30", **HTMX, **{"HX-Target": "what-if"})
    assert html.count('id="what-if"') == 1
    assert "<html" not in html


@together
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("max_tokens=0", "Max tokens per call must be a whole number from 1 to 10,000,000."),
        ("max_tokens=abc", "Max tokens per call must be a whole number"),
        ("max_tokens=99999999999", "must be a whole number from 1 to 10,000,000."),
        ("max_continuations=5000", "1,000"),
        ("max_total_output_chars=0", "Max output characters must be a whole number from 1 to 100,000,000."),
    ],
)
def test_impossible_numbers_are_refused_with_an_explanation(browser: Client, cut: Turn, query: str, words: str):
    assert words in column(page(browser, f"/turns/{cut.id}/replay?{query}"), "what-if")


def test_a_rerun_is_stored_as_a_child_and_shown_beside_the_others(browser: Client, continued: Turn):
    response = browser.post(f"/turns/{continued.id}/replay/rerun", {"max_tokens": "400", "max_continuations": ""})
    child = Turn.objects.get(parent=continued)
    assert response["Location"] == f"/turns/{continued.id}/replay?max_tokens=400&rerun={child.id}"
    waiting = page(browser, response["Location"])
    assert f'ws-connect="/ws/turns/{child.id}/rerun/' in waiting
    drive(child)
    html = column(page(browser, response["Location"]), "rerun")
    assert "ws-connect" not in html
    assert "same text as the what-if" in html


def test_a_rerun_under_impossible_numbers_stores_nothing(browser: Client, cut: Turn):
    response = browser.post(f"/turns/{cut.id}/replay/rerun", {"max_tokens": "0"})
    assert response.status_code == 422
    assert not Turn.objects.filter(parent=cut).exists()


def test_verify_says_that_all_records_agree(browser: Client, cut: Turn):
    html = compact(browser.post(f"/turns/{cut.id}/replay/verify", headers=HTMX).content.decode())
    assert re.search(r"All <b>5</b>\u00a0records replayed", html)
    plain = compact(browser.post(f"/turns/{cut.id}/replay/verify").content.decode())
    assert "<html" in plain


def test_verify_names_a_missing_record_without_a_link(browser: Client, cut: Turn):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE turns_record DISABLE TRIGGER ALL")
        Record.objects.filter(turn_id=cut.id, seq=3).delete()
        cursor.execute("ALTER TABLE turns_record ENABLE TRIGGER ALL")
    html = compact(browser.post(f"/turns/{cut.id}/replay/verify", headers=HTMX).content.decode())
    assert "<b>2</b>\u00a0records match. Record 3 of 5 is missing. Verification stops there." in html
    assert ("?step=" in html, "<table>" in html) == (False, False)


def test_a_missing_turn_is_404(browser: Client):
    assert browser.get("/turns/01890000-0000-7000-8000-000000000000/replay").status_code == 404


ADDRESS = {
    "max_tokens": "100",
    "max_seconds": "2.5",
    "truncation_budget_multiplier": "3",
    "preset": "retry_all",
    "max_retries": "4",
    "on_model_error": "stop",
    "tool_calls_on_truncation": "repair",
}


def test_the_whole_query_is_in_the_url_and_in_the_form(browser: Client, continued: Turn):
    query = urlencode(ADDRESS)
    html = page(browser, f"/turns/{continued.id}/replay?{query}")
    for name, value in ADDRESS.items():
        assert f'<input type="hidden" name="{name}" value="{value}">' in html
    assert '<details class="more" open>' in html
    assert '<option value="retry_all" selected>' in html
    response = browser.get(f"/turns/{continued.id}/replay?{query}", headers={**HTMX, "HX-Target": "what-if"})
    assert response["HX-Replace-Url"] == f"?{query}"


@pytest.mark.parametrize(
    ("name", "value"), [("max_steps", "0"), ("preset", "x"), ("max_retries", "-1"), ("max_seconds", "nan")]
)
def test_an_impossible_value_is_reported_at_its_field_and_the_input_is_kept(browser: Client, cut: Turn, name, value):
    address = f"/turns/{cut.id}/replay?max_tokens=77&{name}={value}"
    html = page(browser, address)
    beside = html[html.index(f'id="budget_{name}_error"') :]
    assert '<p class="error">' in beside[: beside.index("</div>")]
    assert 'value="77"' in html
    alone = page(browser, address, **HTMX, **{"HX-Target": "what-if"})
    assert f'id="budget_{name}_error" role="alert" hx-swap-oob="true"><p class="error">' in alone


def test_a_retry_that_can_never_happen_is_reported(browser: Client, cut: Turn):
    assert "nothing is ever retried" in page(browser, f"/turns/{cut.id}/replay?preset=retry_all&max_retries=0")


def test_a_limit_can_be_removed(browser: Client, play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60, "limits": {"max_total_completion_tokens": 100}})
    html = column(page(browser, f"/turns/{turn.id}/replay?no_max_total_completion_tokens=on"), "what-if")
    assert "First divergence" in html


def test_both_sides_show_path_answer_tokens_and_price(browser: Client, continued: Turn):
    html = page(browser, f"/turns/{continued.id}/replay?max_tokens=400")
    assert html.count('class="machine"') == 2
    assert html.count("simulator, free") >= 2


def test_the_end_of_the_recording_is_shown_and_a_live_continuation_offered(browser: Client, cut: Turn):
    html = column(page(browser, f"/turns/{cut.id}/replay?max_tokens=400"), "what-if")
    assert "The recording has the first" in html
    assert "Continue live from here" in html
    html = column(
        page(browser, f"/turns/{cut.id}/replay?max_continuations=9&max_total_completion_tokens=2000"), "what-if"
    )
    assert "was never made in this recording" in html
    assert "Go on live" not in column(page(browser, f"/turns/{cut.id}/replay?max_continuations=1"), "what-if")


def test_a_live_continuation_is_stored_as_a_child(browser: Client, cut: Turn):
    response = browser.post(
        f"/turns/{cut.id}/replay/go-on", {"max_continuations": "9", "max_total_completion_tokens": "2000"}
    )
    child = drive(Turn.objects.get(parent=cut))
    assert child.status == "completed"
    assert str(child.id) in response["Location"]
    page(browser, response["Location"])


def test_a_rerun_with_another_prompt_starts_at_the_chosen_record(browser: Client, cut: Turn):
    address = f"/turns/{cut.id}/replay/again?from_record=2&max_tokens=400"
    html = page(browser, address)
    assert "after record <b>2</b>" in html
    sent = {
        "from_record": "2",
        "max_tokens": "400",
        "model": "sim-odd",
        "message_1": "Why, though?",
        "hold": "evaluate_stop",
    }
    response = browser.post(f"/turns/{cut.id}/replay/again", sent)
    child = Turn.objects.get(parent=cut)
    assert (child.forked_at, child.model, child.max_tokens, child.input_text) == (2, "sim-odd", 400, "Why, though?")
    assert response["Location"].endswith(f"rerun={child.id}")
    assert drive(child).status == "held"


def test_every_record_but_the_last_is_offered_or_gives_the_reason(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}/replay/again")
    assert [f"from_record={n}" in html for n in range(1, 6)] == [True, True, True, True, False]
    assert "After record 5" not in html, "nothing follows the end"
    assert "After record 5 the turn has ended" in page(browser, f"/turns/{cut.id}/replay/again?from_record=5")
    assert "There is no record “99”" in page(browser, f"/turns/{cut.id}/replay/again?from_record=99")


def test_impossible_input_is_reported_beside_its_field_and_nothing_is_lost(browser: Client, cut: Turn):
    sent = {"message_1": " ", "system_prompt": "Keep me.", "connection": "simulator", "model": "sim-odd"}
    response = browser.post(f"/turns/{cut.id}/replay/again", sent)
    html = response.content.decode()
    assert response.status_code == 422
    assert "must not be empty" in html
    assert "Keep me." in html
    assert not Turn.objects.filter(parent=cut).exists()


def test_a_tool_result_is_requested_where_tools_are_about_to_run(browser: Client, play: Play):
    turn = play("sim-tools", tools=["calculator"])
    assert "result of calculator" in page(browser, f"/turns/{turn.id}/replay/again?from_record=2")
    assert "result of calculator" not in page(browser, f"/turns/{turn.id}/replay/again")


def test_a_deleted_or_changed_agent_is_reported(browser: Client, cut: Turn):
    Agent.objects.update(system_prompt="Other.")
    assert "The agent has changed since this turn began (system prompt)" in page(browser, f"/turns/{cut.id}/replay")
    Agent.objects.all().delete()
    for where in ("", "/again", "/sweep"):
        assert "This turn has no agent, or its agent was deleted" in page(browser, f"/turns/{cut.id}/replay{where}")


def test_a_running_turn_says_so_on_every_page(browser: Client, agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="Soon.")
    for where in ("", "/again", "/sweep"):
        assert "This turn is still running" in page(browser, f"/turns/{turn.id}/replay{where}")


def test_a_tampered_history_is_shown_line_by_line_with_a_link_to_its_step(browser: Client, cut: Turn):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE turns_record DISABLE TRIGGER ALL")
        record = Record.objects.get(turn_id=cut.id, seq=2)
        told = [{**record.transitions[0], "reason": "nothing to see"}, *record.transitions[1:]]
        Record.objects.filter(turn_id=cut.id, seq=2).update(
            **{name: getattr(record, name) for name in PACKED} | {"transitions": told, "packed": None}
        )
        cursor.execute("ALTER TABLE turns_record ENABLE TRIGGER ALL")
    html = browser.post(f"/turns/{cut.id}/replay/verify", headers=HTMX).content.decode()
    assert f'<a href="/turns/{cut.id}?step=2">record 2</a>' in html
    assert re.search(r"<del>.*nothing to see.*</del>", html)
    assert html.count("<del>") == 1
    assert "responded because “nothing to see” in the recording, because “the model answered” here" in html
    assert "identical lines" in html


def test_a_rerun_that_is_identical_to_the_recording_is_called_the_same(browser: Client, cut: Turn):
    child = drive(turn_rerun(turn=cut, overrides={}))
    html = column(page(browser, f"/turns/{cut.id}/replay?rerun={child.id}"), "rerun")
    assert "The re-run and the recording are the same: the same steps, and the same answer word for word." in html
    assert "First divergence" not in html
    assert "diverging" not in html


def test_a_rerun_with_another_result_says_where_it_diverges(browser: Client, cut: Turn):
    child = drive(turn_rerun(turn=cut, overrides={"max_tokens": 400}))
    html = column(page(browser, f"/turns/{cut.id}/replay?rerun={child.id}"), "rerun")
    assert "are the same" not in html
    assert "First divergence" in html


def test_a_rerun_from_a_record_says_where_it_started_and_what_its_figures_count(browser: Client, cut: Turn):
    child = drive(turn_rerun(turn=cut, overrides={}, from_record=4))
    html = column(page(browser, f"/turns/{cut.id}/replay?rerun={child.id}"), "rerun")
    assert "Started from record 4 of the recording." in html
    assert "The sentence above also counts the 3 calls before it; the figures below do not." in html
    assert "The answer is the same as in the recording, word for word." in html
    assert 'class="bar b-stream f4" x="750.0"' in html
    assert "Open the re-run" in html


def test_the_calls_of_a_fork_are_distinguished_from_inherited_ones(browser: Client, play: Play):
    parent = play("sim-tools", tools=["calculator"])
    child = drive(turn_rerun(turn=parent, overrides={}, from_record=3))
    html = page(browser, f"/turns/{child.id}")
    assert "in 2 calls" in html
    assert "1 call + 1 inherited" in " ".join(text_of(html).split())
    assert "<b>1</b>\u00a0call of its own" in page(browser, f"/turns/{parent.id}/replay")
    assert "<dd>1 + 1 inherited</dd>" in page(browser, f"/turns/{parent.id}/replay?rerun={child.id}")


def test_a_turn_whose_row_includes_inherited_calls_says_so(browser: Client, play: Play):
    """Earlier releases stored turns so that were continued live; their rows are chained."""
    parent = play("sim-tools", tools=["calculator"])
    child = drive(turn_rerun(turn=parent, overrides={}, from_record=3))
    del child.base_snapshot["inherited"]
    Turn.objects.filter(id=child.id).update(base_snapshot=child.base_snapshot, attempts=2)
    shown = " ".join(text_of(page(browser, f"/turns/{child.id}")).split())
    assert "2 calls, including 1 of the original turn" in shown
    beside = page(browser, f"/turns/{parent.id}/replay?rerun={child.id}")
    assert "<dd>2, including 1 of the original turn</dd>" in beside
