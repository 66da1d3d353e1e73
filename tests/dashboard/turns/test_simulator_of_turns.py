"""The simulator is called simulator by the connection, also where the model's name is none of its own."""

import pytest
from django.test import Client

from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play
from tests.dashboard.pages import page, text_of

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
    Turn.objects.filter(pk=turn.pk).update(output_tokens=7)
    assert "openai gpt-4o" in text_of(page(browser, f"/turns/{turn.id}"))
