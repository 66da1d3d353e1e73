"""A structured answer that its cap truncated: one larger call comes before more envelope retries."""

import pytest
from django.test import Client

from dashboard.agents.samples import REPORT_SCHEMA
from dashboard.policies.suggestions.limit_trials import limit_trials
from dashboard.policies.suggestions.panel import last_of
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for, suggestions_for
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.policies.suggestions.suggestion_text import because, certainty_word, sentence
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, compact, text_of
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = {"limits": {"schema_rounds": 4}}


@pytest.fixture
def cut(play: Play) -> Turn:
    """Truncated at 10, 20, 40 and 80 tokens."""
    return play("sim-json", max_tokens=10, envelope_schema=REPORT_SCHEMA)


def told(turn: Turn) -> Suggestion:
    said = suggestion_for(turn)
    assert said is not None
    return said


def test_other_answers_tell_the_max_tokens_that_one_call_needs(cut: Turn, browser: Client):
    lengths(cut, [142] * (LEAST + 10))
    said = told(cut)
    assert (said.limit, said.basis, said.certainty.value) == ("max_tokens", Basis.AGENT, "estimated")
    assert said.value == 147, "as the page of limits says"
    assert because(said) == (
        "All 20 answers of agent sim-json longer than 80 tokens fit in 147 tokens. The "
        "estimate for the next one is 95 %, "
        "because there are only 20."
    )
    assert said.longer_than == 80, "the longest call, and not all calls together"
    assert sentence(said) == (f"With Max tokens per call at {said.value}, the turn would likely have finished.")
    api = browser.get(f"/api/v1/turns/{cut.id}").json()["suggestion"]
    assert (api["limit"], api["value"], api["certainty_word"]) == ("max_tokens", said.value, "likely")
    again = drive(turn_rerun(turn=cut, overrides=said.overrides))
    assert (again.status, again.attempts) == ("completed", 1)
    assert again.lint == [], "it did not use up the value"
    proven = told(cut)
    assert (proven.limit, proven.value, certainty_word(proven)) == ("max_tokens", said.value, "proven")


@pytest.mark.parametrize("rounds", [0, 1])
def test_so_they_do_for_a_turn_with_few_envelope_retries(play: Play, rounds: int):
    cut = play(
        "sim-json",
        max_tokens=30,
        envelope_schema=REPORT_SCHEMA,
        overrides={"limits": {"schema_rounds": rounds}},
    )
    lengths(cut, [142] * (LEAST + 10))
    said = told(cut)
    assert (said.limit, said.basis, said.longer_than) == ("max_tokens", Basis.AGENT, 30 * (rounds + 1))


def test_without_other_answers_a_larger_call_is_tried_first(cut: Turn):
    said = told(cut)
    assert (said.limit, said.value, certainty_word(said)) == ("max_tokens", 320, "not known")
    again = drive(turn_rerun(turn=cut, overrides=said.overrides))
    assert (again.status, again.attempts) == ("completed", 1)
    assert told(cut).rerun == again.id


def test_more_envelope_retries_that_a_re_run_has_proven_come_first(cut: Turn):
    lengths(cut, [142] * (LEAST + 10))
    again = drive(turn_rerun(turn=cut, overrides=ROUNDS))
    assert (again.status, again.attempts) == ("completed", 5)
    first, *others = suggestions_for(cut)
    assert (first.limit, first.value, first.rerun) == ("schema_rounds", 4, again.id)
    assert [said.limit for said in others] == ["max_tokens"]


def test_the_proven_number_comes_first_and_the_likely_one_stands_below_it(cut: Turn, browser: Client):
    lengths(cut, [142] * (LEAST + 10))
    drive(turn_rerun(turn=cut, overrides=ROUNDS))
    panel = text_of(compact(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()))
    proven = panel.index("proven With Envelope retries at 4, the turn finished.")
    likely = panel.index("likely With Max tokens per call at 147, the turn would likely have finished.")
    assert proven < likely < panel.index("Create draft: Envelope retries 4")
    assert "All values of Max tokens per call" in panel


def test_a_turn_that_one_limit_stopped_names_no_other(cut: Turn, browser: Client):
    lengths(cut, [142] * (LEAST + 10))
    panel = browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()
    assert "All values of" not in panel


def test_a_ceiling_that_leaves_no_larger_call_leads_to_envelope_retries(cut: Turn):
    connection = cut.agent.connection
    connection.max_output_tokens = 10
    connection.save()
    turn = Turn.objects.get(pk=cut.pk)
    last = last_of(turn)
    assert last is not None
    assert [tried.case.limit for tried in limit_trials(turn, last)] == ["schema_rounds"]
