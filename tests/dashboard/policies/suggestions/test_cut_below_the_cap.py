"""An answer that was cut below the cap that its call asked for: panel, row, API and sweep name one limit, or none."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dashboard.exports.formats import file_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_verify
from dashboard.simulator.scripts import SCRIPTS, Answer
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.ingest.logs.writing import chat_answer, chat_request, imported, lines
from tests.dashboard.pages import HTMX, compact, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)

PARTS = [Answer(" ".join(f"part{n}word{i}" for i in range(60)), cut_after=40) for n in range(4)]


@pytest.fixture
def below(play: Play) -> Iterator[Any]:
    """Makes a turn whose answers are cut after 40 tokens, of the 4,096 that each call may use."""
    SCRIPTS.put("below", PARTS)
    yield lambda **limits: play("script-below", max_tokens=4_096, overrides={"limits": limits})
    SCRIPTS.delete("below")


def words(html: str) -> str:
    return " ".join(text_of(html).split())


def surfaces(browser: Client, turn: Turn) -> tuple[Any, str, str, str]:
    """What API, panel, row and sweep say."""
    panel = words(compact(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()))
    row = words(compact(browser.get(f"/turns/limits?turn={turn.id}", headers=HTMX).content.decode()))
    said = browser.get(f"/api/v1/turns/{turn.id}").json()["suggestion"]
    return said, panel, row, page(browser, f"/turns/{turn.id}/replay/sweep")


def test_where_continuations_added_text_every_surface_names_max_continuations(below: Any, browser: Client):
    turn = below(max_continuations=2)
    assert (turn.status, turn.terminal_reason) == ("partial", "retry_limit")
    assert "With 3 continuations it would have continued." in turn.verdict
    said, panel, row, sweep = surfaces(browser, turn)
    assert (said["limit"], said["certainty_word"]) == ("max_continuations", "not known")
    assert said["words"] in panel
    assert "Find the limit" in panel
    assert row.startswith("not known")
    assert "Max continuations" in row
    assert '<option value="max_continuations" selected>' in sweep, "the sweep opens on it"
    assert "suggests another limit" not in sweep


def test_a_re_run_with_more_continuations_shows_how_many_are_enough(play: Play, browser: Client):
    SCRIPTS.put("below", [*PARTS[:3], *PARTS, Answer("And this is the end of it all.")])
    turn = play("script-below", max_tokens=4_096, overrides={"limits": {"max_continuations": 2}})
    said = suggestion_for(turn)
    assert said is not None
    again = drive(turn_rerun(turn=turn, overrides=said.overrides))
    SCRIPTS.delete("below")
    assert (again.status, again.continuations) == ("completed", 4)
    shown, panel, row, sweep = surfaces(browser, turn)
    assert (shown["limit"], shown["value"]) == ("max_continuations", 4)
    assert shown["words"] in panel
    assert row.startswith("4")
    assert '<option value="max_continuations" selected>' in sweep


#: What a turn was allowed, and the number of continuations that a try begins with; None: no limit is named.
ALLOWED = {"none": (0, 5), "one": (1, 6), "two": (2, 7)}


@pytest.mark.parametrize(("allowed", "first"), ALLOWED.values(), ids=ALLOWED)
def test_however_many_continuations_were_allowed_the_same_way_on_is_offered_everywhere(
    below: Any, browser: Client, allowed: int, first: int
):
    turn = below(max_continuations=allowed)
    said, panel, row, sweep = surfaces(browser, turn)
    assert (said["limit"], said["value"], said["certainty_word"]) == ("max_continuations", first, "not known")
    assert said["words"] in panel
    assert "Find the limit" in panel
    assert f"One live re-run with Max continuations {first}" in panel
    assert row.startswith("not known")
    assert "Max continuations" in row
    assert '<option value="max_continuations" selected>' in sweep
    assert f"Re-run live with Max continuations {first}" in words(sweep)
    assert "The recording does not show what would have helped" not in words(sweep)


def no_way_on(browser: Client, turn: Turn) -> None:
    """No surface names a limit or offers a re-run, and panel and sweep say why."""
    said, panel, row, sweep = surfaces(browser, turn)
    assert (said, row) == (None, "– no limit to change")
    why = "The context window was full, or the server has a limit of its own."
    assert why in panel
    assert why in words(sweep)
    assert "Re-run live" not in words(sweep)
    assert "Find the limit" not in panel


def test_a_continuation_that_added_nothing_is_not_tried_again(play: Play, browser: Client):
    SCRIPTS.put("below", [PARTS[0], PARTS[0]])
    turn = play("script-below", max_tokens=4_096, overrides={"limits": {"max_continuations": 1}})
    SCRIPTS.delete("below")
    assert (turn.status, turn.continuations) == ("partial", 1)
    no_way_on(browser, turn)


ONE_FIELD = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
STRUCTURED = '{"city":"Bern of the many names and of the long winters and summers"}'


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_structured_answer_that_was_cut_below_its_raised_caps_is_tried_with_no_larger_one(
    play: Play, browser: Client, rounds: int
):
    SCRIPTS.put("below", [Answer(STRUCTURED, cut_after=6)])
    limits = {"limits": {"schema_rounds": rounds}}
    turn = play("script-below", max_tokens=6, envelope_schema=ONE_FIELD, overrides=limits)
    SCRIPTS.delete("below")
    assert (turn.status, turn.envelope_retries) == ("failed", rounds)
    no_way_on(browser, turn)


@pytest.fixture
def unset() -> Turn:
    """Imported from a log that has the whole request, which sets no max_tokens."""
    request = {name: value for name, value in chat_request().items() if name != "max_tokens"}
    imported(lines({"request": request, "response": chat_answer(tokens=64)}))
    return Turn.objects.get()


def test_an_imported_request_without_a_cap_is_not_said_to_be_cut_by_what_it_used(unset: Turn, browser: Client):
    assert unset.max_tokens is None
    assert unset.verdict.startswith("Cut off at 64 tokens, with Max tokens per call (max_tokens) not set.")
    assert "Setting Max tokens per call may help: without it, many servers apply a low default limit." in unset.verdict
    said, panel, row, sweep = surfaces(browser, unset)
    assert (said["limit"], said["recorded"], said["value"]) == ("max_tokens", None, 256)
    assert "Max tokens per call was not set. Without it, many servers apply a low default limit." in panel
    assert "Change the setting in that program: begin with Max tokens per call 256, and record another turn." in panel
    assert "was not set" in row
    assert "Recorded value" not in words(sweep)


def test_a_trace_that_lacks_the_request_does_not_take_what_was_used_for_the_limit(browser: Client):
    imported(lines({"response": chat_answer(tokens=64), "messages": chat_request()["messages"]}))
    turn = Turn.objects.get()
    said, panel, row, sweep = surfaces(browser, turn)
    assert said["limit"] == "max_tokens"
    assert "Max tokens per call was not recorded." in panel
    assert "was not recorded" in row
    assert "Recorded value" not in words(sweep)


def test_nothing_says_to_re_run_a_turn_that_nobody_here_can_re_run(unset: Turn, browser: Client):
    for body in (
        {"mode": "what_if", "overrides": {"max_tokens": 256}},
        {"mode": "sweep", "limit": "max_tokens", "begin": 100, "end": 300, "step": 100},
    ):
        answer = browser.post(f"/api/v1/turns/{unset.id}/replay", body, content_type="application/json")
        assert answer.status_code == 200, answer.content
        assert "Re-run live" not in answer.content.decode()
        assert "re-run this turn: repeat the request in the program that made these calls." in answer.content.decode()
    for address in ("", "/replay?max_tokens=256", "/replay/sweep"):
        assert "Re-run live" not in page(browser, f"/turns/{unset.id}{address}")


def test_an_import_without_times_shows_no_duration_anywhere(unset: Turn, browser: Client):
    assert browser.get(f"/api/v1/turns/{unset.id}").json()["duration_ms"] is None
    exported = b"".join(file_of(project=unset.project, filters=TimelineFilters(), named="jsonl"))
    assert json.loads(exported)["duration_ms"] is None
    assert {call["duration_ms"] for call in json.loads(exported)["attempt_list"]} == {None}
    assert "duration not recorded" in words(page(browser, f"/turns/{unset.id}"))
    assert 'title="Not recorded: the log gives no times."' in page(browser, "/")
    for address in ("/", f"/turns/{unset.id}/replay", f"/turns/{unset.id}/replay/sweep"):
        assert not re.search(r"\b0\.00.s\b", text_of(page(browser, address))), address
    assert not re.search(r"\b0\.00.{1,7}s\b", page(browser, f"/turns/{unset.id}")), "nor in the deck, nor in its steps"
    assert turn_verify(turn=unset).verified
