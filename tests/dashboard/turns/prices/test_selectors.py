"""What turns cost that really ran."""

from decimal import Decimal
from html import unescape

import pytest
from django.test import Client

from dashboard.live.services import turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_what_if
from dashboard.simulator.model_table import MODELS
from dashboard.turns.history import recording_of
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.prices.selectors import attempt_price, price_of, recording_price, turn_rate
from dashboard.turns.turn_view import recording_view
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sold(monkeypatch: pytest.MonkeyPatch) -> str:
    """A model with a list price, which the simulator plays."""
    monkeypatch.setitem(MODELS, "gpt-4o", MODELS["sim-essay"])
    return "gpt-4o"


@pytest.fixture
def bought(sold: str, agent_of: AgentOf) -> Turn:
    return drive(turn_start(agent=agent_of(sold, max_tokens=150), input_text="Why do agents stop?"))


def test_a_turn_costs_what_its_attempts_cost(bought: Turn):
    price = price_of(bought)
    attempts = [attempt_price(row) for row in Attempt.objects.filter(turn_id=bought.id)]
    assert price is not None
    assert not price.estimated
    assert price.dollars == sum((each.dollars for each in attempts if each), Decimal(0))
    assert price.dollars == (bought.input_tokens * Decimal("2.5") + bought.output_tokens * 10) / 1_000_000


def test_a_recording_costs_what_its_turn_costs(bought: Turn):
    recording = recording_of(bought)
    price = recording_price(recording, recording_view(recording).snapshot, turn_rate(bought), derived=False)
    assert price == price_of(bought)


def test_one_call_instead_of_three_costs_less_and_is_an_estimate(bought: Turn):
    imagined = turn_what_if(turn=bought, overrides={"max_tokens": 400}).recording
    assert imagined.final is not None
    price, was = recording_price(imagined, imagined.final, turn_rate(bought), derived=True), price_of(bought)
    assert price is not None
    assert was is not None
    assert price.estimated
    assert 0 < price.dollars < was.dollars


def test_a_fork_costs_only_its_own_calls(bought: Turn):
    child = drive(turn_rerun(turn=bought, overrides={}, from_record=3))
    price = price_of(child)
    own = list(Attempt.objects.filter(turn_id=child.id))
    assert price is not None
    assert not price.estimated
    assert price.dollars == sum((each.dollars for row in own if (each := attempt_price(row))), Decimal(0))


def test_unreported_tokens_are_priced_as_an_estimate(bought: Turn):
    bought.output_tokens += 1_000
    bought.tokens_estimated = True
    price = price_of(bought)
    assert price is not None
    assert price.estimated


def test_a_model_without_a_list_price_has_an_unknown_cost(play: Play, browser: Client):
    turn = play("sim-essay")
    assert price_of(turn) is None
    Turn.objects.filter(pk=turn.pk).update(model="house-model")
    assert "price not known" in page(browser, f"/turns/{turn.id}")


def test_the_simulator_is_free_and_marked_so(play: Play, browser: Client):
    html = page(browser, f"/turns/{play('sim-essay').id}")
    assert "simulator, free" in html
    assert "price not known" not in html


def test_the_turn_page_shows_the_cost_and_the_price_list(bought: Turn, browser: Client):
    html = unescape(page(browser, f"/turns/{bought.id}"))
    assert "OpenAI's list price, in US dollars per million tokens" in html
