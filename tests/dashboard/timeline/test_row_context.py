"""A row of the timeline: how it ended, the limit that would have sufficed, what it cost, and the words found."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.exports.turn_rows import rows_of
from dashboard.live import driver
from dashboard.live.services import turn_control, turn_start
from dashboard.policies.suggestions.limit_usage import usage_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion_text import sentence
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_verify
from dashboard.timeline.row_context import snippet_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.history import rebuilt_columns
from dashboard.turns.models import Turn
from dashboard.turns.templatetags.formatting import milliseconds
from dashboard.turns.verification import verification_of
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import HTMX, compact, page, text_of
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def test_a_row_shows_its_ending_and_loads_its_limit_when_visible(browser: Client, cut: Turn):
    html = page(browser, "/")
    assert "Cut off</span>" in html
    assert "Max continuations reached" in html
    assert f'<td id="limit-{cut.id}" class="c-limit needs-limit">' in html


def test_the_row_names_the_same_limit_as_the_turns_page(browser: Client, cut: Turn):
    for n in range(12):
        make_turn(**ALIKE, agent_name=cut.agent_name, model=cut.model, output_tokens=350 + n)
    cell = browser.get(f"/turns/limits?turn={cut.id}", headers=HTMX).content.decode()
    assert 'data-certainty="estimated"' in cell
    assert "366 was 60 Max tokens per call" in " ".join(text_of(cell).replace("60Max", "60 Max").split())
    assert "With Max tokens per call at 366, the turn would likely have finished." in text_of(
        page(browser, f"/turns/{cut.id}")
    )
    assert "was 60" in text_of(page(browser, "/")), "what was found last is in the row at once"


ALIKE = {"status": "completed", "model_stop_reason": "end_turn", "attempts": 1, "last_seq": 3, "provider": "openai"}


def test_the_cell_reads_the_history_of_its_turn_once(browser: Client, cut: Turn):
    with CaptureQueriesContext(connection) as asked:
        browser.get(f"/turns/limits?turn={cut.id}", headers=HTMX)
    assert sum('FROM "turns_record"' in query["sql"] for query in asked.captured_queries) == 1


def test_a_cell_names_all_settings_that_must_change_together(browser: Client, cut: Turn):
    more = {"limits": {"max_continuations": 40, "max_total_completion_tokens": 4_000}}
    assert drive(turn_rerun(turn=cut, overrides=more)).status == "completed"
    cell = compact(browser.get(f"/turns/limits?turn={cut.id}", headers=HTMX).content.decode())
    said = suggestion_for(cut)
    assert said is not None
    shown = " ".join(text_of(cell.replace("<", " <")).split())
    total = said.overrides["limits"]["max_total_completion_tokens"]
    assert f"{said.value} was 3 Max continuations + {total} completion tokens" in shown
    assert sentence(said) in cell, "all of it is in the title"


def test_a_cell_of_one_setting_mentions_no_other(browser: Client, cut: Turn):
    for n in range(12):
        make_turn(**ALIKE, agent_name=cut.agent_name, model=cut.model, output_tokens=350 + n)
    cell = browser.get(f"/turns/limits?turn={cut.id}", headers=HTMX).content.decode()
    assert "other" not in text_of(cell)


def test_a_completed_single_call_turn_needs_no_other_limit(browser: Client, play: Play):
    turn = play("sim-essay", max_tokens=2000)
    assert "needs-limit" not in page(browser, "/")
    cell = browser.get(f"/turns/limits?turn={turn.id}", headers=HTMX).content.decode()
    assert "data-certainty" not in cell
    assert browser.get(f"/turns/limits?turn={turn.id}")["Location"] == "/"


def test_search_terms_are_highlighted_in_the_answer(browser: Client):
    make_turn(input_text="Why?", output_text="All of the violins collect mirrors.")
    html = page(browser, "/?q=violins")
    assert "<mark>violins</mark>" in html
    assert "<mark>" not in page(browser, "/")


def test_an_operators_hold_is_separate_from_the_duration_of_a_turn(browser: Client, held: Turn):
    [used] = usage_of(turn=held, limit="max_seconds", filters=TimelineFilters())
    assert used.tokens < 90_000, "no limit counts what a turn was held"  # milliseconds
    html, shown = page(browser, "/"), milliseconds(held.held_ms)
    assert f'Held, or waiting for an approval, for {shown}">+ {shown} held</small>' in html
    assert "1\u202fmin" in shown
    assert "1 min" not in html.split('c-took num">')[-1].split("<small")[0]


@pytest.fixture
def held(agent_of: AgentOf, monkeypatch: pytest.MonkeyPatch) -> Turn:
    """A turn that an operator held for ninety seconds, and that took less than sixty itself."""
    agent = agent_of("sim-essay", max_tokens=2000)
    turn = drive(turn_start(agent=agent, input_text="hi", breakpoints=[{"state": "evaluate_stop"}]))
    monkeypatch.setattr(driver, "_now", lambda: datetime.now(UTC) + timedelta(seconds=90))
    turn_control(turn=turn, by="ada", action="release")
    drive(turn)
    return Turn.objects.get(pk=turn.pk)


def test_the_row_of_a_turn_stores_how_long_it_was_held_as_its_history_tells_it(held: Turn):
    assert 90_000 <= held.held_ms < 150_000
    assert rebuilt_columns(held)["held_ms"] == held.held_ms
    assert turn_verify(turn=held).verified
    held.held_ms -= 1
    assert not verification_of(held).verified


@pytest.mark.parametrize("address", ["/?", "/api/v1/turns?", "/?sort=-took&", "/?q=hi&"])
def test_the_filter_of_took_counts_what_its_column_shows(browser: Client, held: Turn, address: str):
    def finds(asked: str) -> bool:
        answer = browser.get(f"{address}{asked}")
        return str(held.id) in b"".join(answer).decode()

    assert held.duration_ms is not None
    assert held.duration_ms >= 90_000
    assert finds("duration_to=60000")
    assert not finds("duration_from=60000")


def test_an_export_has_the_turns_that_the_filter_of_took_finds(held: Turn):
    def exported(**asked: int) -> list[object]:
        return [row["id"] for row in rows_of(project=held.project, filters=TimelineFilters(**asked))]

    assert exported(duration_to=60_000) == [held.id]
    assert exported(duration_from=60_000) == []


def test_the_heading_of_took_says_that_sorting_and_filter_do_not_count_pauses(browser: Client):
    make_turn()
    assert "without pauses by an operator, also for sorting and in the filter “Took”" in page(browser, "/")
    assert "with pauses" not in page(browser, "/")
    sort = next(each for each in parameters(browser) if each["name"] == "sort")
    assert "`took`: without pauses by operators, unlike `duration_ms`." in sort["description"]


def parameters(browser: Client) -> list[dict[str, Any]]:
    paths = browser.get("/api/v1/openapi.json").json()["paths"]
    found: list[dict[str, Any]] = paths["/api/v1/turns"]["get"]["parameters"]
    return found


def test_facets_name_their_values_before_they_are_counted(browser: Client):
    html = page(browser, "/?stop_reason=guard&not_stop_reason=finish_reason")
    assert "<span>stopped by a guard</span>" in html
    assert "<span>not ended by the model&#x27;s stop reason</span>" in html
    for raw in ("guard", "finish_reason", "retry_limit", "max_continuations", "budget_exhausted"):
        assert f"<span>{raw}</span>" not in html
        assert f'title="Leave out {raw}"' not in html


def test_a_turn_whose_log_gave_no_times_shows_no_duration(browser: Client):
    turn = make_turn(duration_ms=0, attempts=1)
    took = '<td class="c-took num"><span class="faint" title="Not recorded: the log gives no times.">–</span>'
    assert took in re.sub(r"\s+<", "<", page(browser, "/"))
    Turn.objects.filter(id=turn.id).update(duration_ms=900)
    assert "Not recorded: the log gives no times." not in page(browser, "/")


def test_the_details_of_a_row_say_reasons_in_words_with_their_codes_beside(browser: Client):
    make_turn(model_stop_reason="max_tokens", stop_reason="finish_reason", status="partial")
    details = re.sub(r"\s+", " ", page(browser, "/").split('id="rows"')[1])
    for label, code in (("cut off", "max_tokens"), ("ended by the model&#x27;s stop reason", "finish_reason")):
        assert f'</svg>{label}</span> <code class="soft">{code}</code>' in details


LONG = "so it goes " * 40


@pytest.mark.parametrize(
    ("asked", "where", "found"),
    [
        ("violins", "answer", ["violins"]),
        ("VIOLINS sea", "answer", ["violins", "sea"]),
        ('"violins at"', "answer", ["violins at"]),
        ('"agents stop"', "prompt", ["agents stop"]),
        ("agents stop sea", "prompt", ["agents", "stop"]),
        ("violins -sea", "answer", ["violins"]),
        ("stop or violins", "answer", ["violins"]),
        ("agents", "prompt", ["agents"]),
    ],
)
def test_each_search_term_is_highlighted_where_it_occurs(asked: str, where: str, found: list[str]):
    turn = Turn(input_text="Why do agents stop?", output_text=f"{LONG}violins at sea. {LONG}")
    snippet = snippet_of(turn, asked)
    assert snippet is not None
    assert snippet.where == where
    assert [piece for piece, marked in snippet.marked if marked] == found
    assert len("".join(snippet.pieces)) < 260


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('"stop reason"', ["stop reason"]),
        ("stop reason", ["stop", "reason"]),
        ("stop_reason", ["stop_reason", "stop reason"]),
        ("“reason”", ["reason"]),
    ],
)
def test_the_snippet_shows_most_of_what_was_searched_for_not_the_first_word_of_it(asked: str, found: list[str]):
    answer = f"Agents stop for reasons. {LONG}Its stop_reason, or “stop reason”. {LONG}"
    snippet = snippet_of(Turn(input_text="Why?", output_text=answer), asked)
    assert snippet is not None
    assert set(found) <= {piece for piece, marked in snippet.marked if marked}


def test_a_text_that_repeats_a_word_many_times_has_a_snippet():
    text = "stop " * 40_000
    snippet = snippet_of(Turn(input_text=text, output_text=text), "stop reason")
    assert snippet is not None
    assert snippet.where == "answer"


@pytest.mark.parametrize("asked", ["", "nowhere", "-violins", "viol", "***"])
def test_only_whole_words_are_highlighted(asked: str):
    assert snippet_of(Turn(input_text="Why?", output_text="violins"), asked) is None


@pytest.mark.parametrize("before", [0, 32, 96, 152])
@pytest.mark.parametrize("of", ["answer", "prompt"])
def test_the_first_match_is_visible_in_a_narrow_column(before: int, of: str):
    text = f"{'it goes ' * 40}"[:before] + "violins at sea. " + LONG
    turn = Turn(input_text=text, output_text="") if of == "prompt" else Turn(input_text="Why?", output_text=text)
    snippet = snippet_of(turn, "violins")
    assert snippet is not None
    assert "".join(snippet.pieces).index("violins") < 25


@pytest.mark.parametrize("of", ["answer", "prompt"])
def test_a_snippet_begins_and_ends_with_a_whole_word(of: str):
    text = "Write what happened in the incident of Monday. " + "unabridged " * 40
    turn = Turn(input_text=text, output_text="") if of == "prompt" else Turn(input_text="Why?", output_text=text)
    snippet = snippet_of(turn, "incident")
    assert snippet is not None
    said = "".join(snippet.pieces)
    assert said.startswith("…happened in the incident of Monday. unabridged")
    assert said.endswith(" unabridged…")


def test_a_word_that_is_longer_than_a_snippet_shows_is_cut():
    snippet = snippet_of(Turn(input_text=f"{'a' * 40}\nWhy?", output_text=""), "why")
    assert snippet is not None
    assert "".join(snippet.pieces) == f"…{'a' * 19} Why?"


def test_a_search_in_a_script_without_spaces_says_that_only_whole_words_are_found(browser: Client):
    make_turn(input_text="模型为什么停止", output_text="Because.")
    make_turn(input_text="模型 stops", output_text="Because.")
    note = "In a text without spaces, such as Chinese, it finds no part of"
    html = page(browser, "/?q=模型")
    assert note in html
    assert ("停止" in html, "<mark>模型</mark> stops" in html) == (False, True)
    assert note not in page(browser, "/?q=mod%C3%A8le")
