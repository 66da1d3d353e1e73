"""A sweep knows what the turn's page says: its rows, its range and its recommendation name the same number."""

import json
import re
from dataclasses import replace
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.test import Client

from agentcore.replay import Certainty
from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.agents.models import PolicyVersion
from dashboard.policies.suggestions import sweep_suggestions
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for
from dashboard.policies.suggestions.suggestion_text import sentence
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.suggested_value import SuggestedValue
from dashboard.replay.sweep_chart import charts_of
from dashboard.replay.sweep_result import Sweep
from dashboard.runtime.management.commands import replay
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import page
from tests.dashboard.policies.suggestions.test_same_number_everywhere import text_of
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)

NOT_KNOWN = "is not known to complete"


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def proven(turn: Turn, overrides: dict[str, object]) -> int:
    assert drive(turn_rerun(turn=turn, overrides=overrides)).status == "completed"
    said = suggestion_for(turn)
    assert said is not None
    return int(said.value)


def test_a_sweep_without_an_answer_shows_the_key_of_its_limit_as_code(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}/replay/sweep")
    assert NOT_KNOWN in html
    assert "with any value of Max tokens per call (<code>max_tokens</code>)" in html


def test_the_value_proven_by_a_live_re_run_ranks_first_on_page_api_and_terminal(browser: Client, cut: Turn):
    lengths(cut, [320 - END_AT_MOST] * 4 * LEAST)
    value = proven(cut, {"max_tokens": 900})
    less = cut.children.get().output_tokens + 2  # as its tokens were reported
    html = text_of(page(browser, f"/turns/{cut.id}/replay/sweep"))
    assert f"With Max tokens per call at {value}, the turn finished." in html
    assert f"{value} proven" in html
    assert f"{less} likely" in html
    assert "320 likely" in html
    assert "60 recorded" in html
    assert NOT_KNOWN not in html
    assert "Re-run live with" not in html
    asked = {"mode": "sweep", "limit": "max_tokens", "begin": 10, "end": 300, "step": 10}
    answer = browser.post(f"/api/v1/turns/{cut.id}/replay", json.dumps(asked), content_type="application/json").json()
    told = [(each["value"], each["certainty"]) for each in answer["suggested"]]
    assert told == [(value, "proven"), (less, "likely"), (320, "likely")]
    assert value in [point["value"] for point in answer["points"]]
    assert answer["words"].startswith(f"With Max tokens per call at {value}, the turn finished.")
    written = StringIO()
    call_command("replay", str(cut.id), "--sweep", "max_tokens=10:300:10", stdout=written)
    assert f"Recommended: Max tokens per call (max_tokens) {value} (1 call, proven)" in written.getvalue()
    assert f"{value:>11}  " in written.getvalue()


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (SuggestedValue(150, "proven", Certainty.CERTAIN, "", rerun=UUID(int=1)), ["150 (proven)"]),
        (SuggestedValue(150, "likely", Certainty.ESTIMATED, ""), ["150 (2 calls, recorded)"]),
        (SuggestedValue(151, "likely", Certainty.ESTIMATED, ""), ["151 (likely)", "150 (2 calls, recorded)"]),
    ],
)
def test_a_value_is_recommended_once_on_a_terminal_by_what_is_surest_of_it(
    monkeypatch: pytest.MonkeyPatch, play: Play, value: SuggestedValue, lines: list[str]
):
    turn = play("sim-essay", max_tokens=150)
    found = sweep_suggestions.suggested_sweep(turn=turn, name="max_tokens", values=range(150, 151), overrides={})
    here = [point for point in found.recommended if point.value == 150]  # others are outside the range
    assert len(here) == 1
    told = replace(found, suggested=(value,), recommended=here)
    monkeypatch.setattr(replay, "suggested_sweep", lambda **asked: told)
    written = StringIO()
    call_command("replay", str(turn.id), "--sweep", "max_tokens=150:150", stdout=written)
    advised = [line for line in written.getvalue().splitlines() if line.startswith("Recommended: ")]
    calls = f"{turn.attempts} calls"
    assert advised == [
        f"Recommended: Max tokens per call (max_tokens) {line.replace('2 calls', calls)}" for line in lines
    ]


def test_a_likely_value_ranks_first_where_none_is_proven_and_can_be_proven_there(browser: Client, cut: Turn):
    lengths(cut, [340 - END_AT_MOST] * (LEAST + 10))
    html = page(browser, f"/turns/{cut.id}/replay/sweep")
    assert "With Max tokens per call at 340, the turn would likely have finished." in text_of(html)
    assert f'action="/turns/{cut.id}/limit/find"' in html
    assert NOT_KNOWN not in html


def test_without_evidence_the_sweep_offers_the_re_run_of_the_turn_page(browser: Client, cut: Turn):
    said = suggestion_for(cut)
    assert said is not None
    html = page(browser, f"/turns/{cut.id}/replay/sweep")
    assert f"Re-run live with Max tokens per call {said.value}" in text_of(html)
    assert NOT_KNOWN in html


@pytest.mark.parametrize(
    ("limit", "model", "given", "larger"),
    [
        ("max_steps", "sim-tools", {"tools": ["calculator"], "overrides": {"limits": {"max_steps": 1}}}, 6),
        (
            "max_total_tokens",
            "sim-tools",
            {"tools": ["calculator"], "overrides": {"limits": {"max_total_tokens": 20}}},
            900,
        ),
    ],
)
def test_without_a_limit_in_the_url_the_one_that_stopped_the_turn_is_swept(
    browser: Client, play: Play, limit: str, model: str, given: dict[str, object], larger: int
):
    turn = play(model, **given)
    said = suggestion_for(turn)
    assert said is not None
    assert said.limit == limit
    proven(turn, {"limits": {limit: larger}})
    html = page(browser, f"/turns/{turn.id}/replay/sweep")
    assert f'<option value="{limit}" selected>' in html
    said = suggestion_for(turn)
    assert said is not None
    assert sentence(said) in text_of(html)
    assert NOT_KNOWN not in html


def test_a_sweep_of_another_limit_names_the_one_that_stopped_the_turn(browser: Client, play: Play):
    turn = play("sim-flaky")
    said = suggestion_for(turn)
    assert said is not None
    assert sentence(said) in text_of(page(browser, f"/turns/{turn.id}/replay/sweep"))


def test_proven_values_do_not_count_under_other_changed_limits(browser: Client, cut: Turn):
    value = proven(cut, {"max_tokens": 2_000})
    html = text_of(page(browser, f"/turns/{cut.id}/replay/sweep?max_steps=5"))
    assert f"{value} proven" not in html


def test_an_unknown_price_is_not_an_upper_bound(browser: Client, cut: Turn):
    Turn.objects.update(model="own-model")
    cut.refresh_from_db()
    lengths(cut, [340 - END_AT_MOST] * (LEAST + 10))
    html = text_of(page(browser, f"/turns/{cut.id}/replay/sweep"))
    assert "340 likely" in html
    assert "≤ price not known" not in html


def test_the_limit_that_stopped_a_turn_is_not_called_another_one(browser: Client, play: Play):
    """A larger call is suggested for it, which needs no second one."""
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 1}})
    assert turn.resource == "max_continuations"
    html = text_of(page(browser, f"/turns/{turn.id}/replay/sweep?limit=max_continuations"))
    assert "The page of this turn suggests another limit. How large Max tokens per call (max_tokens) must be" in html


def test_held_time_of_a_re_run_is_not_part_of_its_duration(cut: Turn):
    proven(cut, {"max_tokens": 900})
    Turn.objects.filter(pk=cut.children.get().pk).update(duration_ms=95_000, held_ms=90_000)
    swept = sweep_suggestions.suggested_sweep(turn=cut, name="max_tokens", values=range(10, 300, 10), overrides={})
    assert [each.seconds for each in swept.suggested if each.seconds is not None] == [5]


def test_a_row_that_was_run_live_shows_what_the_re_run_took(browser: Client, play: Play):
    turn = play("sim-essay", max_tokens=150)
    asked: dict[str, object] = {"mode": "sweep", "limit": "max_tokens", "begin": 100, "end": 400, "step": 20}
    before = swept(browser, turn, asked)
    assert before["measured"] == []
    point = next(point for point in before["recommended"] if point["certainty"] == "estimated")
    least, most = point["output_tokens_range"]
    again = drive(turn_rerun(turn=turn, overrides={"max_tokens": point["value"]}))
    assert (again.status, again.attempts) == ("completed", point["attempts"])
    assert least - END_AT_MOST <= again.output_tokens <= most + END_AT_MOST, "as tokens are counted at an end"
    (measured,) = swept(browser, turn, asked)["measured"]
    assert (measured["rerun"], measured["certainty"], measured["ends"]) == (str(again.id), "proven", "completed")
    assert (measured["attempts"], measured["output_tokens"]) == (again.attempts, again.output_tokens)
    html = page(browser, f"/turns/{turn.id}/replay/sweep?limit=max_tokens&begin=100&end=400&step=20")
    row = text_of(html).partition(f"{point['value']} tokens")[2][:200]
    assert f"{again.output_tokens}" in row
    assert "proven" in row


def test_a_re_run_under_another_setting_as_well_measures_no_row(browser: Client, play: Play):
    turn = play("sim-essay", max_tokens=150)
    drive(turn_rerun(turn=turn, overrides={"max_tokens": 200, "limits": {"max_steps": 5}}))
    asked = {"mode": "sweep", "limit": "max_tokens", "begin": 200, "end": 200}
    assert swept(browser, turn, asked)["measured"] == []
    assert len(swept(browser, turn, asked | {"overrides": {"limits": {"max_steps": 5}}})["measured"]) == 1


def test_a_value_whose_re_run_did_not_complete_is_not_recommended(browser: Client, play: Play):
    turn = play("sim-essay", max_tokens=150)
    asked: dict[str, object] = {"mode": "sweep", "limit": "max_tokens", "begin": 160, "end": 400, "step": 20}
    advised = [point["value"] for point in swept(browser, turn, asked)["recommended"]]
    value = next(value for value in advised if value != turn.max_tokens)
    again = drive(turn_rerun(turn=turn, overrides={"max_tokens": value}))
    Turn.objects.filter(pk=again.pk).update(status="partial", terminal_reason="retry_limit")
    found = swept(browser, turn, asked)
    assert value not in [point["value"] for point in found["recommended"]]
    assert [(each["certainty"], each["completed"]) for each in found["measured"]] == [("measured", False)]


def swept(browser: Client, turn: Turn, asked: dict[str, object]) -> dict[str, Any]:
    address = f"/api/v1/turns/{turn.id}/replay"
    found: dict[str, Any] = browser.post(address, json.dumps(asked), content_type="application/json").json()
    return found


def test_the_api_has_the_words_of_the_page_for_how_a_value_ends(browser: Client, cut: Turn):
    asked = {"mode": "sweep", "limit": "max_tokens", "begin": 20, "end": 620, "step": 300}
    points = swept(browser, cut, asked)["points"]
    told = {(point["ends"], point["ends_in_words"]) for point in points}
    assert ("retry_limit", "Max continuations reached") in told, "as the list of turns says it"
    assert {words for ends, words in told if ends == "undecidable"} == {"not known"}
    html = text_of(page(browser, f"/turns/{cut.id}/replay/sweep?limit=max_tokens&begin=20&end=620&step=300"))
    table = html.partition("All values in the chart")[2]
    assert html.count("Max continuations reached") >= 3, "in the table, in the chart and in its legend"
    assert "retry limit" not in html.replace('title="continuation or retry limit"', "").lower()
    assert "Max continuations reached" in terminal(cut)
    assert "not known" in table
    assert "undecidable" not in table.lower()


def test_a_value_that_was_run_live_has_one_certainty_and_token_count_everywhere(browser: Client, play: Play):
    turn = play("sim-essay", max_tokens=100)
    said = suggestion_for(turn)
    assert said is not None
    first = drive(turn_rerun(turn=turn, overrides={"max_tokens": said.value}))
    second = drive(turn_rerun(turn=turn, overrides={"max_tokens": first.output_tokens + 2}))
    asked: dict[str, object] = {"mode": "sweep", "limit": "max_tokens", "begin": 50, "end": 500, "step": 50}
    found = swept(browser, turn, asked)
    for again in (first, second):
        shown = ("certain", again.attempts, again.output_tokens, [again.output_tokens] * 2, "completed", None)
        of_value = [point for point in found["points"] if point["value"] == again.max_tokens]
        of_value += [point for point in found["recommended"] if point["value"] == again.max_tokens]
        assert of_value
        fields = ("certainty", "attempts", "output_tokens", "output_tokens_range", "ends", "why")
        assert {tuple(map(str, (point[field] for field in fields))) for point in of_value} == {tuple(map(str, shown))}
        row = next(line for line in terminal(turn).splitlines() if line.split()[:1] == [f"{again.max_tokens}"])
        assert row.split()[1:5] == ["completed", "proven", f"{again.attempts}", f"{again.output_tokens}"]
    assert found["recommended"][0]["value"] == second.max_tokens
    assert f"Recommended: Max tokens per call (max_tokens) {second.max_tokens} (1 call, proven)" in terminal(turn)


def test_what_re_runs_show_is_told_beside_what_the_recording_shows(browser: Client, cut: Turn):
    """Nothing of the recording tells of a larger cap; a re-run completed with one."""
    asked: dict[str, object] = {"mode": "sweep", "limit": "max_tokens", "begin": 50, "end": 950, "step": 50}
    before = swept(browser, cut, asked)
    assert (
        before["with_reruns"]
        == {"certain": None, "likely": None}
        == {key: before[key] for key in ("certain", "likely")}
    )
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    after = swept(browser, cut, asked)
    assert (after["certain"], after["likely"]) == (None, None), "by the recording alone, as ever"
    assert after["with_reruns"]["certain"]["first"] == 900
    told = suggested_sweep_of(cut)
    marks = [mark.x for mark in charts_of(told)[0].marks]
    assert len(marks) == len(set(marks)), "what is proven has one mark"
    assert "No value that was tried is certain" not in page(browser, f"/turns/{cut.id}/replay/sweep?begin=50&end=950")


def suggested_sweep_of(turn: Turn) -> Sweep:
    return sweep_suggestions.suggested_sweep(turn=turn, name="max_tokens", values=range(50, 1_000, 50), overrides={})


def test_a_total_that_follows_from_a_re_run_shows_what_that_took(browser: Client, play: Play):
    turn = play("sim-essay", max_tokens=100, overrides={"limits": {"max_total_completion_tokens": 200}})
    value = proven(turn, {"limits": {"max_total_completion_tokens": 800}})
    again = turn.children.get()
    assert value < 800
    limit = "max_total_completion_tokens"
    found = swept(browser, turn, {"mode": "sweep", "limit": limit, "begin": 200, "end": 500, "step": 100})
    (point,) = [point for point in found["points"] if point["value"] == value]
    assert (point["certainty"], point["attempts"], point["output_tokens"]) == (
        "certain", again.attempts, again.output_tokens,
    )  # fmt: skip
    row = next(line for line in terminal(turn, f"{limit}=200:500:100").splitlines() if line.split()[:1] == [f"{value}"])
    assert row.split()[1:5] == ["completed", "proven", f"{again.attempts}", f"{again.output_tokens}"]


def test_a_likely_value_is_called_so_in_its_row_on_a_terminal(cut: Turn):
    lengths(cut, [340 - END_AT_MOST] * (LEAST + 10))
    row = next(line for line in terminal(cut).splitlines() if line.split()[:1] == ["340"])
    assert row.split()[1:4] == ["likely", "completed", "likely"]


def terminal(turn: Turn, asked: str = "max_tokens=50:500:50") -> str:
    written = StringIO()
    call_command("replay", str(turn.id), "--sweep", asked, stdout=written)
    return written.getvalue()


def told_of(browser: Client, turn: Turn, limit: str, begin: int, end: int) -> tuple[dict[str, Any], str, list[str]]:
    """The same sweep in the API, on its page and on a terminal."""
    asked: dict[str, object] = {"mode": "sweep", "limit": limit, "begin": begin, "end": end, "step": 1}
    html = page(browser, f"/turns/{turn.id}/replay/sweep?limit={limit}&begin={begin}&end={end}&step=1")
    written = StringIO()
    call_command("replay", str(turn.id), "--sweep", f"{limit}={begin}:{end}", stdout=written)
    return swept(browser, turn, asked), html, written.getvalue().splitlines()


def rows_of(table: str) -> list[str]:
    return [text_of(row) for row in table.split("<tr")[2:]]


def test_a_value_that_is_enough_only_with_another_setting_does_not_complete_alone_anywhere(browser: Client, play: Play):
    limits = {"max_total_completion_tokens": 240, "max_continuations": 5}
    turn = play("sim-essay", max_tokens=40, overrides={"limits": limits})
    drive(turn_rerun(turn=turn, overrides={"limits": {"max_total_completion_tokens": 2_000, "max_continuations": 50}}))
    said = suggestion_for(turn)
    assert said is not None
    assert (said.limit, list((said.together or {})["limits"])) == ("max_continuations", ["max_total_completion_tokens"])
    answer, html, lines = told_of(browser, turn, "max_continuations", 0, said.value)
    point = next(point for point in answer["points"] if point["value"] == said.value)
    words = ("Max completion tokens per turn reached", "recorded")
    assert (point["ends_in_words"], point["certainty_in_words"], point["completed"]) == (*words, False)
    beside = f"{(said.together or {})['limits']['max_total_completion_tokens']} completion tokens"
    advised, every = rows_of(html.split("<table")[1])[0], rows_of(html.split("<table")[2])[-1]
    assert f"proven with {beside} {' '.join(words)}" in every.replace("\xa0", " ")
    assert "proven with" in advised
    assert "completed" in advised
    assert f"{words[0]} at {said.value}" not in html, "it is one of a band"
    assert f"{words[0]} 6 to {said.value} recorded 0 to {said.value}" in text_of(html)
    line = next(line for line in lines if line.split()[:1] == [f"{said.value}"])
    assert (line[13:51], line[52:60]) == words
    (recommendation,) = answer["recommendations"]
    assert (recommendation["value"], recommendation["certainty_in_words"]) == (said.value, "proven")
    assert recommendation["beside"].replace("\xa0", " ") == beside
    form = html.split('<form class="row found keep"')[1].split("</form>")[0]
    address = re.findall(r'action="([^"]+)"', form)[0]
    sent = dict(re.findall(r'name="(\w+)"[^>]*? value="(\w*)"', form)) | {"name": "found"}
    assert browser.post(address, sent).status_code == 302
    kept = PolicyVersion.objects.get(policy__name="found").limits
    limits = (kept["max_continuations"], kept["max_total_completion_tokens"])
    assert limits == (said.value, int(beside.split(maxsplit=1)[0])), "the draft has both"


@pytest.mark.parametrize("model", ["sim-essay", "sim-cut-tool"])
def test_page_terminal_and_api_recommend_the_same_values_in_the_same_order(browser: Client, play: Play, model: str):
    turn = play(model, max_tokens=40, **({"tools": ["calculator"]} if model == "sim-cut-tool" else {}))
    if model == "sim-essay":
        lengths(turn, [340] * 4 * LEAST)
    answer, html, lines = told_of(browser, turn, "max_tokens", 36, 60)
    told = [(each["value"], each["certainty_in_words"], each["attempts"]) for each in answer["recommendations"]]
    assert told
    starts = (f"{value} ({f'{calls} calls, ' if calls else ''}{word})" for value, word, calls in told)
    advised = [line for line in lines if line.startswith("Recommended: ")]
    assert advised == [f"Recommended: Max tokens per call (max_tokens) {start}" for start in starts]
    rows = rows_of(html.split("<table")[1])[: len(told)]
    for (value, word, _), row in zip(told, rows, strict=True):
        assert f"{value} tokens" in row
        assert f" {word} " in row


def test_every_value_reads_alike_on_page_terminal_and_api(browser: Client, play: Play):
    turn = play("sim-cut-tool", tools=["calculator"], max_tokens=40)
    said = suggestion_for(turn)
    assert said is not None
    answer, html, lines = told_of(browser, turn, "max_tokens", 36, 60)
    rows = rows_of(html.split("<table")[2])
    for point, row, line in zip(answer["points"], rows, lines[2:], strict=False):
        assert row.startswith(f"{point['value']} ") or f"> {point['value']} " in row
        assert point["ends_in_words"] in row
        assert point["certainty_in_words"] in row
        assert line.split()[0] == f"{point['value']}"
        assert point["certainty_in_words"] in line
    likely = next(point for point in answer["points"] if point["value"] == said.value)
    assert (likely["ends_in_words"], likely["certainty_in_words"]) == ("likely completed", "likely")
    assert likely["output_tokens_at_most"]
    assert f"likely completed at {said.value}" in text_of(html), "and so does the chart"


def test_a_larger_value_that_is_not_known_says_why_beside_a_smaller_one_that_is_likely(browser: Client, play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 0}})
    lengths(turn, [340] * 4 * LEAST)
    said = suggestion_for(turn)
    assert said is not None
    assert said.certainty is Certainty.ESTIMATED
    html = page(
        browser, f"/turns/{turn.id}/replay/sweep?limit=max_tokens&begin={said.value - 1}&end={said.value + 3}&step=1"
    )
    *_, before, _likely, after, _more, _last = rows_of(html.split("<table")[2])
    assert f"judged by this recording alone; {said.value} is likely by the estimate above" in after
    assert "by the estimate above" not in before
    lead = html.split('class="verdict"')[1].split("</p>")[0]
    assert text_of(lead).count("Max tokens per call") == 1


def test_a_call_that_is_only_tried_again_is_not_said_to_complete(browser: Client, play: Play):
    turn = play("sim-flaky", overrides={"error_policy": {"max_retries": 0}})
    said = suggestion_for(turn)
    assert said is not None
    assert (said.limit, said.only_tries_again) == ("max_retries", True)
    answer, html, lines = told_of(browser, turn, "max_retries", 0, 4)
    (recommendation,) = answer["recommendations"]
    words = ("tried again, end not known", "not known")
    assert (recommendation["ends_in_words"], recommendation["certainty_in_words"]) == words
    assert "likely completed" not in html + " ".join(lines)
    assert f"tried again {said.value}" in text_of(html), "in the chart"
    assert words[0] in rows_of(html.split("<table")[1])[0]


def test_a_likely_value_that_a_re_run_completed_under_is_told_by_that_re_run_everywhere(browser: Client, cut: Turn):
    lengths(cut, [340 - END_AT_MOST] * 4 * LEAST)
    likely = suggestion_for(cut)
    assert likely is not None
    for value in (likely.value, cut_length(cut) + 2):
        drive(turn_rerun(turn=cut, overrides={"max_tokens": value}))
    for begin, end in ((int(likely.value) - 2, int(likely.value) + 2), (50, 60)):
        answer, html, lines = told_of(browser, cut, "max_tokens", begin, end)
        measured = {each["value"]: each["certainty"] for each in answer["measured"]}
        assert measured[likely.value] == "proven", "also where it is no value of the range"
        told = [*answer["recommendations"], *answer["suggested"]]
        assert likely.value not in [each["value"] for each in told if each["attempts"] is None]
        assert f"{likely.value} likely completed" not in text_of(html)
        assert not [line for line in lines if f" {likely.value} (likely)" in line]


def cut_length(turn: Turn) -> int:
    """Tokens of the whole answer, by a re-run."""
    again = drive(turn_rerun(turn=turn, overrides={"max_tokens": 900}))
    return again.output_tokens
