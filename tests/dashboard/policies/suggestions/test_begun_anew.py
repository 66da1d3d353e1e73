"""A turn whose model begins anew after each cut: no continuation helps, and a larger cap may."""

from collections.abc import Iterator

import pytest
from django.test import Client

from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.policies.suggestions.exhausted_limits import LEAST_TRY, ExhaustedLimit
from dashboard.policies.suggestions.panel import last_of, panel_of
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.replay.rerun_service import turn_rerun
from dashboard.simulator.scripts import SCRIPTS, Answer
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, compact, page, text_of
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)

ANSWER = " ".join(f"word{place}" for place in range(60))
ENDLESS = " ".join(f"word{place}" for place in range(4_000))


@pytest.fixture
def anew(play: Play) -> Iterator[Turn]:
    yield from ended(play, "anew", ANSWER)


@pytest.fixture
def endless(play: Play) -> Iterator[Turn]:
    yield from ended(play, "endless", ENDLESS)


def ended(play: Play, name: str, text: str) -> Iterator[Turn]:
    SCRIPTS.put(name, [Answer(text)])
    turn = play(f"script-{name}", max_tokens=40)
    assert (turn.status, turn.terminal_reason) == ("partial", "repetition")
    yield turn
    SCRIPTS.delete(name)


def told(turn: Turn) -> Suggestion:
    said = suggestion_for(turn)
    assert said is not None
    return said


def test_a_larger_cap_is_looked_for_where_nothing_tells_of_it(anew: Turn, browser: Client):
    said = told(anew)
    assert (said.limit, said.basis, said.value) == ("max_tokens", Basis.NONE, LEAST_TRY)
    panel = text_of(compact(browser.get(f"/turns/{anew.id}/limit", headers=HTMX).content.decode()))
    assert "How large Max tokens per call (max_tokens) must be for this turn is not known yet." in panel
    assert "Find the limit" in panel
    assert f"with Max tokens per call {LEAST_TRY}" in panel, "what it runs is said before"
    assert browser.get(f"/api/v1/turns/{anew.id}").json()["suggestion"]["limit"] == "max_tokens"


def test_the_agents_other_answers_tell_of_a_likely_cap(anew: Turn):
    lengths(anew, [340 - END_AT_MOST] * (LEAST + 10))
    said = told(anew)
    assert (said.basis, said.value) == (Basis.AGENT, 340)


def test_a_re_run_that_completed_shows_on_page_row_and_api(anew: Turn, browser: Client):
    again = drive(turn_rerun(turn=anew, overrides={"max_tokens": 900}))
    assert (again.status, again.attempts) == ("completed", 1)
    said = told(anew)
    assert (said.basis, said.rerun) == (Basis.RERUN, again.id)
    panel = browser.get(f"/turns/{anew.id}/limit", headers=HTMX).content.decode()
    row = browser.get(f"/turns/limits?turn={anew.id}", headers=HTMX).content.decode()
    shown = browser.get(f"/api/v1/turns/{anew.id}").json()["suggestion"]
    assert "proven" in text_of(compact(panel))
    assert f"{said.value}" in text_of(compact(row))
    assert (shown["value"], shown["certainty_word"]) == (said.value, "proven")
    assert f"{said.value} proven" in text_of(page(browser, f"/turns/{anew.id}/replay/sweep"))


def test_nothing_is_promised_after_a_re_run_that_was_cut_again(endless: Turn, browser: Client):
    first = told(endless)
    again = drive(turn_rerun(turn=endless, overrides=first.overrides))
    assert again.status == "partial"
    said = told(endless)
    assert (said.basis, said.value > first.value) == (Basis.NONE, True)
    panel = text_of(compact(browser.get(f"/turns/{endless.id}/limit", headers=HTMX).content.decode()))
    assert f"not enough A re-run with Max tokens per call {first.value} was cut off, too." in panel
    assert "would likely" not in panel


def test_more_continuations_are_not_suggested_where_no_larger_cap_is_allowed(anew: Turn):
    lowest = {"max_output_tokens": 40}
    connection = anew.agent.connection if anew.agent else None
    assert connection is not None
    type(connection).objects.filter(pk=connection.pk).update(**lowest)
    anew = Turn.objects.get(pk=anew.pk)
    last = last_of(anew)
    assert last is not None
    assert ExhaustedLimit(anew, last, "max_tokens", allowed=40).is_full
    assert panel_of(anew) is None
