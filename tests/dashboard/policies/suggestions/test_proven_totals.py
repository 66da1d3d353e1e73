"""A proven total takes about ten what-ifs to find, and lists ask for it again and again."""

import pytest
from django.test import Client

from dashboard.agents.selectors import project_default
from dashboard.policies.suggestions import proven_totals
from dashboard.policies.suggestions.list_suggestions import suggestions_now
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion import Basis
from dashboard.replay import sweep_service
from dashboard.replay.rerun_service import turn_rerun
from dashboard.simulator.scripts import SCRIPTS, Answer
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_a_finished_re_run_shows_is_searched_once(play: Play, monkeypatch: pytest.MonkeyPatch):
    total = {"limits": {"max_total_completion_tokens": 100, "max_continuations": 40}}
    turn = play("sim-essay", max_tokens=60, overrides=total)
    drive(turn_rerun(turn=turn, overrides={"limits": {"max_total_completion_tokens": 2_000}}))
    evaluated, what_if = list[object](), sweep_service.what_if
    monkeypatch.setattr(
        sweep_service, "what_if", lambda *asked, **given: evaluated.append(1) or what_if(*asked, **given)
    )
    monkeypatch.setattr(proven_totals, "_found", {})
    first, searched = suggestions_now([turn.id], project_default())[0][1], len(evaluated)
    again = suggestions_now([turn.id], project_default())[0][1]
    assert first == again
    assert first is not None
    assert first.basis is Basis.RERUN
    assert searched > 5
    assert len(evaluated) - searched <= 2, "what the recording itself tells"


def test_a_re_run_with_another_answer_within_the_recorded_total_shows_nothing_of_the_total(play: Play, browser: Client):
    SCRIPTS.put("moods", [Answer("A long story goes on. " * 200)])
    total = {"limits": {"max_total_completion_tokens": 220, "max_continuations": 40}}
    cut = play("script-moods", max_tokens=60, overrides=total)
    assert cut.terminal_reason == "budget_exhausted"
    SCRIPTS.put("moods", [Answer("No story today.")])
    again = drive(turn_rerun(turn=cut, overrides={"limits": {"max_total_completion_tokens": 880}}))
    assert (again.status, again.output_tokens < 220) == ("completed", True)
    said = suggestion_for(cut)
    assert said is None or said.basis is not Basis.RERUN
    panel = text_of(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode())
    assert "221" not in panel
    assert "880 completed with another answer, which used no more of" in panel
    SCRIPTS.delete("moods")
