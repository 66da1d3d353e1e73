"""The simulator is called simulator by the connection, also where the model's name is none of its own."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from dashboard.agents.selectors import project_default
from dashboard.board.selectors import Scope, board_of, totals_of, values_of
from dashboard.board.sum_updates import sum_all
from dashboard.policies.backtests.selectors import words_of_turns
from dashboard.timeline.facets import facets
from dashboard.timeline.rollups import fold_all
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.selectors import timeline, turns_matching, turns_on_simulator
from dashboard.turns.sort_order import _values
from tests.dashboard.driving import AgentOf, Play
from tests.dashboard.pages import page, text_of
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("gpt-4o", "m" * 200)


@pytest.mark.parametrize("model", NAMES)
def test_a_turn_on_the_simulator_is_free_whatever_its_model_is_called(browser: Client, play: Play, model: str):
    turn = play(model, name="a")
    html = text_of(page(browser, f"/turns/{turn.id}"))
    assert f"simulator {model}" in html
    assert "simulator, free" in html
    assert f"{model}<small>simulator</small>" in page(browser, "/")
    for words in ("$0.00", "price not known", f"openai {model}"):
        assert words not in html
    assert browser.get(f"/api/v1/turns/{turn.id}").json()["simulated"] is True


@pytest.mark.parametrize("model", NAMES)
def test_an_agent_on_the_simulator_is_never_called_openai(browser: Client, agent_of: AgentOf, model: str):
    agent_of(model, name="a")
    assert f"{model} on simulator" in text_of(page(browser, "/agents/a/live"))
    assert f"simulator {model}" in " ".join(text_of(page(browser, "/live/")).split())


def test_an_answer_of_another_model_stays_its_providers(browser: Client, play: Play):
    """The agent may have been moved to the simulator since."""
    turn = play("gpt-4o", name="a")
    Turn.objects.filter(pk=turn.pk).update(output_tokens=7, model_stop_reason="end_turn")
    assert "openai gpt-4o" in text_of(page(browser, f"/turns/{turn.id}"))


@pytest.mark.parametrize("model", NAMES)
def test_facet_filter_and_metrics_call_a_refused_model_as_its_row_does(play: Play, model: str):
    turn, project = play(model, name="a"), project_default()
    fold_all()
    counted = facets(project=project, filters=TimelineFilters())
    provider = next(facet for facet in counted if facet.name == "provider")
    assert [(value.value, value.count) for value in provider.values] == [("simulator", 1)]
    assert words_of_turns(project=project)["provider"] == ["simulator"]
    found = {
        word: [
            len(timeline(project=project, filters=TimelineFilters(provider=(word,), q=q)).items) for q in ("", "stop")
        ]
        for word in ("simulator", "openai", "stored:openai")
    }
    assert found == {"simulator": [1, 1], "openai": [0, 0], "stored:openai": [1, 1]}
    assert turns_matching(project=project, filters=TimelineFilters(not_provider=("simulator",))).count() == 0
    assert turns_on_simulator([str(turn.id)]) == {str(turn.id)}


def test_the_metrics_page_calls_a_refused_model_as_its_row_does(agent_of: AgentOf):
    agent_of("gpt-4o", name="a")
    make_turn(agent_name="a", provider="openai", model="gpt-4o", status="failed", stop_reason="error")
    fold_all()
    sum_all()
    project, since, until = project_default(), datetime(2020, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC)
    board = board_of(project=project, scope=Scope(), since=since, until=until, seconds=86_400, by="provider")
    assert [name for name, _ in board.groups] == ["simulator"]
    assert values_of(project=project)["provider"] == ["simulator"]
    turns = {
        word: totals_of(project=project, scope=Scope(provider=word), since=since, until=until).get("turns", 0)
        for word in ("simulator", "openai", "stored:openai")
    }
    assert turns == {"simulator": 1, "openai": 0, "stored:openai": 1}


@pytest.mark.parametrize("model", NAMES)
def test_lists_of_turns_call_a_refused_model_free_as_its_page_does(browser: Client, play: Play, model: str):
    turn = play(model, name="a")
    for address in ("/policies/ledger", f"/runs/{turn.id}"):
        shown = text_of(page(browser, address))
        assert ("simulator, free" in shown, "price not known" in shown, "$0.00" in shown) == (True, False, False), (
            address
        )


@pytest.mark.parametrize("model", NAMES)
def test_a_refused_model_is_sorted_as_free(play: Play, model: str):
    turn = play(model, name="a")
    assert _values([turn.id], "cost") == {turn.id: (0, 0)}
